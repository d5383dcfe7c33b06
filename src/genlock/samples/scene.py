"""The room as the colour camera sees it: painted surfaces looked up where rays meet them.

The seed decides how the surfaces are painted, not their shape.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from genlock.samples import textures
from genlock.samples.rig import CAMERAS, Camera
from genlock.samples.room import (
    FURNITURE,
    GLOBE,
    GLOBE_CENTER,
    GLOBE_RADIUS,
    ROOM,
    Box,
    Hits,
    Vector,
    cast,
    column,
    strips,
)
from genlock.samples.textures import PIXELS_PER_METRE, Painter, Picture

# In the order of `room.Hits.surface`: per box the low and the high side of each axis.
_PAINTERS: tuple[tuple[Painter, ...], ...] = (
    (
        textures.book_wall,
        textures.window_wall,
        textures.picture_wall,
        textures.door_wall,
        textures.planks,
        textures.ceiling,
    ),
    (textures.crate,) * 6,
    (textures.marble,) * 6,
    (textures.crate,) * 6,
)
_GLOBE_MAP = 1.5  # metres of texture around half the globe, and from pole to pole
_LAMP: Vector = (-0.5, -0.3, 0.8)
_LIGHT = (0.86, 0.96, 0.80, 0.92, 0.90, 1.0)  # of each surface of a room; a box turns its back


class Scene:
    """The painted room. Immutable once made; `image` may be called from several threads."""

    def __init__(self, seed: int = 0) -> None:
        """Paints every surface; `seed` decides its noise and colours."""
        rng = np.random.default_rng(seed)
        tiles = [
            _tile(painter, rng, box, side)
            for box, painters in zip((ROOM, *FURNITURE), _PAINTERS, strict=True)
            for side, painter in enumerate(painters)
        ]
        tiles.append(_Tile(textures.globe(rng, _GLOBE_MAP, _GLOBE_MAP), 0.0, 0.0))
        self._sheet, self._corners = _pack(tiles)

    def image(self, t: float, camera: Camera = CAMERAS["camera-rgb"]) -> NDArray[np.uint8]:
        """Picture `[H, W, 3]` RGB that a camera takes at `t`. No index is drawn."""
        origin, rays = (part.astype(np.float32) for part in camera.rays(t))
        hits = [cast(origin, strip) for strip in strips(rays, camera)]
        colours = [self._colours(part, camera.size[1]) for part in hits]
        return np.concatenate(colours).reshape(*camera.size, 3)

    def _colours(self, hits: Hits, width: int) -> NDArray[np.uint8]:
        """Colour `[N, 3]` of what was hit by whole rows of `width` rays."""
        x, y, z = hits.point
        axis = hits.surface // 2 % 3
        across, up = np.where(axis == 0, y, x), np.where(axis == 2, y, z)
        on_globe = np.flatnonzero(hits.surface == GLOBE)
        normal = (hits.point[:, on_globe] - column(GLOBE_CENTER, hits.point)) / GLOBE_RADIUS
        across[on_globe] = np.abs(np.arctan2(normal[1], normal[0])) * (_GLOBE_MAP / np.pi)
        up[on_globe] = (np.arcsin(np.clip(normal[2], -1, 1)) / np.pi + 0.5) * _GLOBE_MAP
        left, bottom = self._corners[:, hits.surface]
        place = (across * PIXELS_PER_METRE + left, up * PIXELS_PER_METRE + bottom)
        columns, rows = (part.reshape(-1, width) for part in place)
        picture = cv2.remap(self._sheet, columns, rows, cv2.INTER_LINEAR)
        pixels = np.asarray(picture, np.uint8).reshape(-1, 3)
        light = 0.62 + 0.38 * (column(_LAMP, normal) * normal).sum(0)
        pixels[on_globe] = (pixels[on_globe] * light[:, None]).astype(np.uint8)
        return pixels


class _Tile(NamedTuple):
    """A painted surface, row 0 at its low end, and where in the world (metres) its corner is."""

    picture: Picture
    left: float
    bottom: float


def _tile(painter: Painter, rng: np.random.Generator, box: Box, side: int) -> _Tile:
    """Paints one side of a box in the room's light, darker towards its edges."""
    across, up = ((1, 2), (0, 2), (0, 1))[side // 2]
    left, bottom = box.low[across], box.low[up]
    picture = painter(rng, box.high[up] - bottom, box.high[across] - left)[::-1] * _LIGHT[side]
    for axis in (0, 1):
        place = np.arange(picture.shape[axis])
        fade = 1 - 0.3 * np.exp(-np.minimum(place, place[::-1]) / (0.12 * PIXELS_PER_METRE))
        picture *= np.expand_dims(fade, (1 - axis, 2))
    if box is ROOM and side == 4:
        for thing in FURNITURE:
            picture *= _shadow(thing, picture.shape)
    return _Tile(picture.astype(np.float32), left, bottom)


def _shadow(thing: Box, floor: tuple[int, ...]) -> NDArray[np.float64]:
    """Factors `[H, W, 1]` that darken the floor about the foot of a thing."""
    metres = [np.arange(count) / PIXELS_PER_METRE for count in floor[:2]]
    y, x = (
        np.maximum(0, np.maximum(thing.low[axis] - place, place - thing.high[axis]))
        for axis, place in ((1, metres[0] + ROOM.low[1]), (0, metres[1] + ROOM.low[0]))
    )
    return 1 - 0.5 * np.exp(-np.hypot(y[:, None], x) / 0.15)[..., None]


def _pack(tiles: list[_Tile]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """One sheet `[H, W, 3]` of all tiles, and per tile what to add to pixels of the world `[2, K]`.

    Every tile has a rim of one pixel, so that interpolation at its edge sees no other tile.
    """
    width = max(tile.picture.shape[1] for tile in tiles) + 2
    shelves: list[NDArray[np.uint8]] = []
    corners = np.empty((2, len(tiles)), np.float32)
    top = 0
    for number, tile in enumerate(tiles):
        rim = np.pad(np.clip(tile.picture, 0, 255), ((1, 1), (1, 1), (0, 0)), mode="edge")
        corners[:, number] = 0.5 - PIXELS_PER_METRE * np.array([tile.left, tile.bottom])
        corners[1, number] += top
        shelves.append(np.pad(rim, ((0, 0), (0, width - rim.shape[1]), (0, 0))).astype(np.uint8))
        top += len(rim)
    return np.concatenate(shelves), corners
