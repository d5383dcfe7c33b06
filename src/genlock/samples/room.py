"""The shape of the sample recording's room: boxes and a globe, met by one ray per pixel.

Depths are distances along the optical axis (z), not along the ray.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlock.samples import trajectory
from genlock.samples.rig import CAMERAS, Camera
from genlock.samples.textures import PANE

Vector = tuple[float, float, float]
Array = NDArray[np.floating[Any]]

MAX_DEPTH = 4.0
"""Metres beyond which the depth camera gives nothing."""


@dataclass(frozen=True)
class Box:
    """An axis-aligned box between two corners, metres in the world."""

    low: Vector
    high: Vector

    def slabs(self, origin: Array, rays: Array) -> tuple[Array, Array]:
        """Where rays `[3, N]` cross the box's planes: nearer and farther one per axis, `[3, N]`."""
        with np.errstate(divide="ignore"):
            inverse = 1 / rays
        low = (column(self.low, rays) - origin) * inverse
        high = (column(self.high, rays) - origin) * inverse
        return np.minimum(low, high), np.maximum(low, high)


ROOM = Box((-3.0, -2.5, 0.0), (3.0, 2.5, 2.8))
FURNITURE = (
    Box((1.55, 0.75, 0.0), (2.35, 1.55, 0.7)),  # a crate, on which the globe rests
    Box((1.2, -1.9, 0.0), (1.55, -1.55, 2.8)),  # a pillar
    Box((-2.4, 1.0, 0.0), (-1.5, 1.7, 0.95)),  # another crate
)
GLOBE_CENTER: Vector = (1.95, 1.15, 1.1)
GLOBE_RADIUS = 0.4
GLASS = Box(
    (ROOM.high[0], ROOM.low[1] + PANE[0], ROOM.high[2] - PANE[3]),
    (ROOM.high[0], ROOM.low[1] + PANE[2], ROOM.high[2] - PANE[1]),
)
"""The window's pane, from which the depth camera gets nothing."""

# Surfaces are numbered box * 6 + axis * 2 + (0 low, 1 high side), the room being box 0.
GLOBE = 6 * (1 + len(FURNITURE))
_WALLS = ("the bookcase", "the window", "the paintings", "the door")
_STRIPS = 8


class Hits(NamedTuple):
    """What rays meet: depth `[N]`, surface `[N]` and point `[3, N]` in the world."""

    depth: Array
    surface: NDArray[np.intp]
    point: Array


def cast(origin: Array, rays: Array) -> Hits:
    """The first surface that rays `[3, N]` from a point `[3, 1]` in the room meet.

    Depth is the multiple of a ray, so metres along the optical axis for `Camera.rays`.
    """
    _, far = ROOM.slabs(origin, rays)
    axis = far.argmin(0)
    depth = far.min(0)
    surface = 2 * axis + (np.take_along_axis(rays, axis[None], 0)[0] > 0)
    for number, box in enumerate(FURNITURE, 1):
        near, far = box.slabs(origin, rays)
        entry = near.max(0)
        hit = np.flatnonzero((entry > 0) & (entry <= far.min(0)) & (entry < depth))
        axis = near[:, hit].argmax(0)
        depth[hit] = entry[hit]
        surface[hit] = 6 * number + 2 * axis + (rays[axis, hit] < 0)
    _cast_globe(origin, rays, depth, surface)
    return Hits(depth, surface, origin + depth * rays)


def _cast_globe(origin: Array, rays: Array, depth: Array, surface: NDArray[np.intp]) -> None:
    """Puts the globe in front of what `depth` and `surface` already hold."""
    offset = origin - column(GLOBE_CENTER, rays)
    square = (rays * rays).sum(0)
    along = (offset * rays).sum(0)
    inside = along * along - square * ((offset * offset).sum(0) - GLOBE_RADIUS**2)
    seen = np.flatnonzero((inside > 0) & (along < 0))
    globe = (-along[seen] - np.sqrt(inside[seen])) / square[seen]
    closer = globe < depth[seen]
    depth[seen[closer]] = globe[closer]
    surface[seen[closer]] = GLOBE


def depth(t: float, camera: Camera = CAMERAS["depth"]) -> NDArray[np.float64]:
    """Depth image `[H, W]` at `t`, metres along the optical axis, 0 where invalid.

    Nothing comes back from the window's pane nor from beyond `MAX_DEPTH`. No index is drawn.
    """
    origin, rays = camera.rays(t)
    parts = [_returned_depth(cast(origin, strip)) for strip in strips(rays, camera)]
    return np.concatenate(parts).reshape(camera.size)


def _returned_depth(hits: Hits) -> NDArray[np.float64]:
    y, z = hits.point[1:]
    pane = (y > GLASS.low[1]) & (y < GLASS.high[1]) & (z > GLASS.low[2]) & (z < GLASS.high[2])
    window = (hits.surface == _WALLS.index("the window")) & pane
    return np.where(window | (hits.depth > MAX_DEPTH), 0.0, hits.depth)


def strips(rays: Array, camera: Camera) -> list[Array]:
    """Rays `[3, H * W]` in strips `[3, n]` of whole rows.

    Strips whose arrays stay in the CPU's cache take half the time of the whole.
    """
    strips = np.array_split(rays.reshape(3, *camera.size), _STRIPS, axis=1)
    return [strip.reshape(3, -1) for strip in strips]


def facing(t: ArrayLike) -> list[str]:
    """What the head faces at each of the times `t` `[N]`, in words."""
    forward = trajectory.rotation_matrix(trajectory.quaternion(t))[..., 0].T
    _, far = ROOM.slabs(trajectory.position(t).T, forward)
    axis = far[:2].argmin(0)
    side = np.take_along_axis(forward, axis[None], 0)[0] > 0
    return [_WALLS[wall] for wall in (2 * axis + side).tolist()]


def column(vector: Vector, like: Array) -> Array:
    """A vector as `[3, 1]` of another array's dtype."""
    return np.array(vector, like.dtype)[:, None]
