"""Camera calibration, and what cropping, scaling and turning a picture does to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Size = tuple[int, int]
TANGENTIAL_MODELS = ("pinhole",)
RADIAL_MODELS = ("kannala-brandt",)


@dataclass(frozen=True)
class Intrinsics:
    """A camera model: how points of the camera frame (x right, y down, z ahead) meet pixels.

    model: "pinhole" (distortion k1 k2 p1 p2 k3 …, as OpenCV orders them), "kannala-brandt"
    (k1 k2 k3 k4), or as the source names it. size: (height, width) in pixels that the numbers
    hold for. focal: (fx, fy) px. center: (cx, cy) px, the centre of the top-left pixel being
    (0, 0). distortion: coefficients in the model's own order, on normalised coordinates.
    """

    model: str
    size: Size
    focal: tuple[float, float]
    center: tuple[float, float]
    distortion: tuple[float, ...] = ()

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The 3x3 camera matrix."""
        (fx, fy), (cx, cy) = self.focal, self.center
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])

    def scaled(self, size: Size) -> Intrinsics:
        """The same camera with its picture resized to (height, width)."""
        down, across = size[0] / self.size[0], size[1] / self.size[1]
        (fx, fy), (cx, cy) = self.focal, self.center
        center = ((cx + 0.5) * across - 0.5, (cy + 0.5) * down - 0.5)
        return replace(self, size=size, focal=(fx * across, fy * down), center=center)

    def cropped(self, crop: tuple[int, int, int, int]) -> Intrinsics:
        """The same camera seen through (top, left, height, width) of its picture."""
        top, left, *size = crop
        center = (self.center[0] - left, self.center[1] - top)
        return replace(self, size=(size[0], size[1]), center=center)

    def flipped(self) -> Intrinsics:
        """The same camera with its picture mirrored horizontally."""
        center = (self.size[1] - 1 - self.center[0], self.center[1])
        return replace(self, center=center, distortion=self._turned_distortion(-1, 0, 0, 1))

    def turned(self) -> Intrinsics:
        """The same camera with its picture turned by 90 degrees clockwise."""
        (height, width), (fx, fy), (cx, cy) = self.size, self.focal, self.center
        distortion = self._turned_distortion(0, -1, 1, 0)
        return Intrinsics(self.model, (width, height), (fy, fx), (height - 1 - cy, cx), distortion)

    def _turned_distortion(self, xx: int, xy: int, yx: int, yy: int) -> tuple[float, ...]:
        """Radial terms stay; the tangential pair (p2, p1) turns like a vector of the image."""
        if self.model not in TANGENTIAL_MODELS or len(self.distortion) < 4:
            return self.distortion
        k1, k2, p1, p2, *rest = self.distortion
        return (k1, k2, yx * p2 + yy * p1, xx * p2 + xy * p1, *rest)

    def upright(self, shape: tuple[int, ...], rotation: int, flipped: bool) -> Intrinsics | None:
        """The camera of upright frames, from that of frames as they are coded.

        shape: (height, width) of upright frames. A calibration whose size has the upright shape,
        where turning changes it, holds for upright frames already. None where the model's
        distortion is not known to turn.
        """
        coded = shape[1::-1] if rotation % 180 else shape[:2]
        if (rotation == 0 and not flipped) or (self.size != coded and self.size == shape[:2]):
            return self.scaled((shape[0], shape[1]))
        if any(self.distortion) and self.model not in TANGENTIAL_MODELS + RADIAL_MODELS:
            return None
        camera = self.scaled((coded[0], coded[1]))
        camera = camera.flipped() if flipped else camera
        for _ in range(rotation // 90 % 4):
            camera = camera.turned()
        return camera


@dataclass(frozen=True)
class Extrinsics:
    """A pose T_parent_stream: takes points of the stream's frame to the parent's.

    position: metres. quaternion: x, y, z, w.
    """

    parent: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)


class Calibration(NamedTuple):
    """What a recording states of one stream's geometry."""

    intrinsics: Intrinsics | None
    extrinsics: Extrinsics | None
