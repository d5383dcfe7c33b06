"""The factory calibration of Aria glasses: JSON in the tag `calib_json` or in configurations.

Camera models: "fisheye624" (FisheyeRadTanThinPrism: f, cx, cy, k0 … k5, p0, p1, s0 … s3),
"kannala-brandt" (fx, fy, cx, cy, k0 … k3), "fisheye62" (as fisheye624 without s). The device frame
is that of the sensor named in `OriginSpecification`. Pixel centres are at whole numbers.
Source: core/calibration of github.com/facebookresearch/projectaria_tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from genlock.stream import Extrinsics, Intrinsics

DEVICE = "device"


class Rescale(NamedTuple):
    """How a recorded picture comes from the sensor's: cut off left and top, then scaled."""

    cut: tuple[float, float]
    scale: float


# (camera, recorded height and width) → size that the calibration is for, and how to get there
SENSORS: Mapping[tuple[str, tuple[int, int]], tuple[tuple[int, int], Rescale]] = {
    ("camera-rgb", (1408, 1408)): ((2880, 2880), Rescale((32, 32), 0.5)),
    ("camera-rgb", (704, 704)): ((2880, 2880), Rescale((32, 32), 0.25)),
    ("camera-rgb", (1512, 2016)): ((3024, 4032), Rescale((0, 0), 0.5)),
    ("camera-rgb", (3024, 2560)): ((3024, 4032), Rescale((640, 0), 1.0)),
    ("camera-rgb", (1920, 2560)): ((3024, 4032), Rescale((0, 0), 0.635)),
    ("camera-et-left", (200, 200)): ((400, 400), Rescale((0, 0), 0.5)),
    ("camera-et-right", (200, 200)): ((400, 400), Rescale((0, 0), 0.5)),
}


class AriaCalibration:
    """What the JSON says of each sensor, by its label. Immutable and thread-safe."""

    def __init__(self, stated: Mapping[str, Any]) -> None:
        self._cameras = _labelled(stated.get("CameraCalibrations"))
        self._imus = _labelled(stated.get("ImuCalibrations"))

    def camera(
        self, label: str, shape: tuple[int, ...]
    ) -> tuple[Intrinsics | None, Extrinsics | None]:
        """Calibration of a camera for pictures of shape (height, width)."""
        stated = self._cameras.get(label)
        if stated is None or len(shape) != 2:
            return None, None
        size = (shape[0], shape[1])
        return _intrinsics(label, size, stated["Projection"]), _pose(stated["T_Device_Camera"])

    def imu(self, label: str) -> Extrinsics | None:
        """Where an inertial sensor is."""
        stated = self._imus.get(label)
        return None if stated is None else _pose(stated["T_Device_Imu"])


def _labelled(entries: Any) -> dict[str, Mapping[str, Any]]:
    return {str(entry["Label"]): entry for entry in entries or ()}


def _intrinsics(
    label: str, size: tuple[int, int], projection: Mapping[str, Any]
) -> Intrinsics | None:
    params = tuple(float(p) for p in projection["Params"])
    model = _MODELS.get(projection["Name"])
    if model is None:
        return None
    name, focal_lengths = model
    fx, fy = params[0], params[focal_lengths - 1]
    cx, cy = params[focal_lengths : focal_lengths + 2]
    _, (cut, scale) = SENSORS.get((label, size), (size, Rescale((0, 0), 1.0)))
    center = (scale * (cx - cut[0] + 0.5) - 0.5, scale * (cy - cut[1] + 0.5) - 0.5)
    focal = (fx * scale, fy * scale)
    return Intrinsics(name, size, focal, center, params[focal_lengths + 2 :])


_MODELS = {
    "FisheyeRadTanThinPrism": ("fisheye624", 1),
    "Fisheye62": ("fisheye62", 1),
    "KannalaBrandtK3": ("kannala-brandt", 2),
}
"""Names of camera models, and how many focal lengths lead their parameters."""


def _pose(stated: Mapping[str, Any]) -> Extrinsics:
    real, (x, y, z) = stated["UnitQuaternion"]
    tx, ty, tz = map(float, stated["Translation"])
    return Extrinsics(DEVICE, (tx, ty, tz), (float(x), float(y), float(z), float(real)))
