"""Painted surfaces of the sample recording's room: wood, plaster, a door, a window, books.

A painter takes a generator and a surface's height and width in metres and gives an RGB picture
`[H, W, 3]`, float32 in 0 to 255, row 0 at the top, at `PIXELS_PER_METRE`.
"""

from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.float32]
Colour = tuple[float, float, float]
Painter = Callable[[np.random.Generator, float, float], Picture]

PIXELS_PER_METRE = 160

# The pane in the window's wall: left, top, right, bottom in metres from the wall's top left.
PANE = (1.5, 0.55, 3.5, 1.75)


def pixels(metres: float) -> int:
    """Metres as whole pixels of a texture."""
    return round(metres * PIXELS_PER_METRE)


def planks(rng: np.random.Generator, height: float, width: float) -> Picture:
    """A floor of boards along its width, each with its own tone and grain."""
    picture = _plain(height, width, (150, 106, 68))
    step = 0.2
    for row in range(int(np.ceil(height / step))):
        joint = rng.uniform(-1.5, 0)
        while joint < width:
            length = rng.uniform(1.1, 1.9)
            board = picture[_box(joint, row * step, joint + length, (row + 1) * step)]
            board *= rng.uniform(0.75, 1.2)
            board[:2] *= 0.55
            board[:, :2] *= 0.55
            joint += length
    return picture * _grain(rng, picture, (5, 70), 0.22)


def ceiling(rng: np.random.Generator, height: float, width: float) -> Picture:
    """White panels with bright lamps."""
    picture = _plain(height, width, (214, 212, 205)) * _grain(
        rng, _plain(height, width), (9, 9), 0.05
    )
    for left in np.arange(0.5, width - 0.5, 1.5):
        for top in np.arange(0.5, height - 0.5, 1.5):
            picture[_box(left, top, left + 0.9, top + 0.3)] = 250
    return _lines(picture, 1.0, 0.82)


def crate(rng: np.random.Generator, height: float, width: float) -> Picture:
    """Nailed boards inside a frame."""
    picture = planks(rng, height, width) * 1.15
    edge = 0.09
    for box in (
        (0, 0, width, edge),
        (0, height - edge, width, height),
        (0, 0, edge, height),
        (width - edge, 0, width, height),
    ):
        side = picture[_box(*box)]
        side[:] = (122, 84, 50)
        side *= _grain(rng, side, (6, 6), 0.2)
    return picture


def marble(rng: np.random.Generator, height: float, width: float) -> Picture:
    """Pale stone with dark veins."""
    picture = _plain(height, width, (196, 200, 204))
    veins = np.abs(_noise(rng, picture, (90, 60)) - 0.5)
    picture *= (0.7 + 0.3 * np.clip(veins / 0.04, 0, 1))[..., None]
    return picture * _grain(rng, picture, (30, 30), 0.12)


def globe(rng: np.random.Generator, height: float, width: float) -> Picture:
    """Seas and lands with a grid of meridians and parallels."""
    picture = _plain(height, width, (46, 104, 170))
    picture[_noise(rng, picture, (26, 26)) > 0.52] = (106, 150, 74)
    picture *= _grain(rng, picture, (7, 7), 0.25)
    return _lines(picture, height / 6, 1.4)


def door_wall(rng: np.random.Generator, height: float, width: float) -> Picture:
    """Green plaster with a door of four panels and a poster."""
    picture = _plaster(rng, height, width, (134, 158, 128))
    left, top = 0.62 * width, height - 2.1
    door = picture[_box(left, top, left + 0.95, height)]
    door[:] = (128, 58, 40)
    door *= _grain(rng, door, (80, 4), 0.3)
    for x in (0.12, 0.53):
        for y in (0.15, 1.1):
            _bevel(picture, left + x, top + y, left + x + 0.3, top + y + 0.8)
    picture[_box(left + 0.84, top + 1.05, left + 0.9, top + 1.15)] = (222, 190, 90)
    _frame(picture, left - 0.08, top - 0.08, left, height, (232, 226, 210))
    _frame(picture, left + 0.95, top - 0.08, left + 1.03, height, (232, 226, 210))
    _frame(picture, left, top - 0.08, left + 0.95, top, (232, 226, 210))
    _painting(rng, picture, 0.9, 0.6, 2.3, 1.5)
    return picture


def window_wall(rng: np.random.Generator, height: float, width: float) -> Picture:
    """Blue plaster with a window over hills; `PANE` is its glass."""
    picture = _plaster(rng, height, width, (120, 144, 172))
    left, top, right, bottom = PANE
    _frame(picture, left - 0.1, top - 0.1, right + 0.1, bottom + 0.1, (236, 234, 228))
    view = picture[_box(*PANE)]
    rows = np.linspace(0, 1, view.shape[0], dtype=np.float32)[:, None, None]
    sky, horizon = np.array([[96, 158, 232], [220, 234, 244]], np.float32)
    view[:] = (1 - rows) * sky + rows * horizon
    for base, tone in ((0.55, (110, 150, 130)), (0.72, (72, 118, 66)), (0.86, (52, 92, 44))):
        hills = base - 0.22 * _noise(rng, view[:1], (1, 60))
        view[rows[..., 0] > hills] = tone
    view *= _grain(rng, view, (6, 6), 0.1)
    for x in (left + (right - left) / 3, left + (right - left) * 2 / 3):
        _frame(picture, x - 0.03, top, x + 0.03, bottom, (236, 234, 228))
    return picture


def book_wall(rng: np.random.Generator, height: float, width: float) -> Picture:
    """Ochre plaster behind shelves full of books."""
    picture = _plaster(rng, height, width, (186, 158, 108))
    left, right, top = 0.5, width - 0.5, 0.35
    _frame(picture, left - 0.05, top - 0.05, right + 0.05, height, (84, 56, 36))
    shelf = 0.4
    for row in range(int((height - top) / shelf)):
        bottom = top + (row + 1) * shelf - 0.04
        picture[_box(left, bottom - shelf + 0.04, right, bottom)] = (40, 28, 20)
        x = left
        while x < right - 0.07:
            thick = rng.uniform(0.03, 0.07)
            book = picture[_box(x, bottom - rng.uniform(0.22, 0.34), x + thick, bottom)]
            book[:] = 0.5 * rng.uniform(30, 215, 3) + 0.5 * rng.uniform(60, 190)
            book[:, :1] *= 0.5
            book[len(book) // 5 : len(book) // 4] = (230, 214, 150)
            x += thick if rng.random() < 0.93 else 0.2
    return picture


def picture_wall(rng: np.random.Generator, height: float, width: float) -> Picture:
    """Red plaster with framed paintings."""
    picture = _plaster(rng, height, width, (172, 104, 92))
    for left, top, right, bottom in (
        (0.5, 0.7, 1.6, 1.5),
        (1.9, 0.45, 2.6, 1.6),
        (3.0, 0.6, 4.5, 1.6),
        (4.8, 0.8, 5.5, 1.5),
    ):
        _painting(rng, picture, left, top, right, bottom)
    return picture


def _plain(height: float, width: float, colour: Colour = (1, 1, 1)) -> Picture:
    return np.full((pixels(height), pixels(width), 3), colour, np.float32)


def _box(left: float, top: float, right: float, bottom: float) -> tuple[slice, slice]:
    """Index of a rectangle given in metres from the top left; what lies outside is cut off."""
    x, y = (slice(max(0, pixels(a)), max(0, pixels(b))) for a, b in ((left, right), (top, bottom)))
    return y, x


def _noise(rng: np.random.Generator, like: Picture, cell: tuple[int, int]) -> Picture:
    """Smooth noise `[H, W]` in about 0 to 1: three octaves, the coarsest of `cell` pixels."""
    height, width = like.shape[:2]
    total = np.zeros((height, width), np.float32)
    for octave in range(3):
        rows, columns = (max(1, size >> octave) for size in cell)
        grid = rng.random((height // rows + 2, width // columns + 2), np.float32)
        total += np.asarray(cv2.resize(grid, (width, height), interpolation=cv2.INTER_CUBIC)) / (
            2 << octave
        )
    return total / np.float32(0.875)


def _grain(rng: np.random.Generator, like: Picture, cell: tuple[int, int], depth: float) -> Picture:
    """Factors `[H, W, 1]` about 1 that give a surface its grain."""
    return (1 + depth * 2 * (_noise(rng, like, cell) - 0.5))[..., None]


def _lines(picture: Picture, step: float, factor: float) -> Picture:
    """Rules thin lines `step` metres apart, both ways."""
    for axis in (0, 1):
        places = np.arange(0, picture.shape[axis], step * PIXELS_PER_METRE).astype(int)
        for place in places:
            line = np.moveaxis(picture, axis, 0)[place : place + 2]
            line *= factor
    return picture


def _plaster(rng: np.random.Generator, height: float, width: float, colour: Colour) -> Picture:
    """A wall with a wainscot of vertical boards up to 0.9 m and a skirting board."""
    picture = _plain(height, width, colour)
    picture *= _grain(rng, picture, (24, 24), 0.16)
    low = picture[pixels(height - 0.9) :]
    low *= 0.72
    for x in np.arange(0, width, 0.25):
        low[:, pixels(x) : pixels(x) + 2] *= 0.7
    low[:6] = (228, 222, 208)
    picture[pixels(height - 0.12) :] = (216, 210, 196)
    return picture


def _frame(
    picture: Picture, left: float, top: float, right: float, bottom: float, colour: Colour
) -> None:
    """A plain rectangle with a dark edge, drawn in place."""
    face = picture[_box(left, top, right, bottom)]
    face[:] = colour
    face[2:-2, 2:-2] /= 0.6
    face *= 0.6


def _bevel(picture: Picture, left: float, top: float, right: float, bottom: float) -> None:
    """A sunk panel: dark at its top left, light at its bottom right."""
    face = picture[_box(left, top, right, bottom)]
    face[:4] *= 0.5
    face[:, :4] *= 0.6
    face[-4:] *= 1.4
    face[:, -4:] *= 1.3


def _painting(
    rng: np.random.Generator,
    picture: Picture,
    left: float,
    top: float,
    right: float,
    bottom: float,
) -> None:
    """Bands and discs of colour in a gilt frame."""
    _frame(picture, left, top, right, bottom, (190, 152, 72))
    edge = 0.06
    canvas = picture[_box(left + edge, top + edge, right - edge, bottom - edge)]
    height, width = canvas.shape[:2]
    bands = _noise(rng, canvas, (height // 2, width // 2))
    colours = rng.uniform(50, 235, (6, 3)).astype(np.float32)
    canvas[:] = colours[np.clip(bands * 9 - 2, 0, 5).astype(int)]
    y, x = np.mgrid[:height, :width]
    for _ in range(4):
        radius = rng.uniform(0.08, 0.2) * height
        inside = np.hypot(y - rng.uniform(0, height), x - rng.uniform(0, width)) < radius
        canvas[inside] = rng.uniform(30, 245, 3)
