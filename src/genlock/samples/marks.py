"""The index that every video and depth frame carries, drawn as a band of blocks at its top left.

Sixteen blocks in a row: a one, the index in 13 bits with the most significant first, a bit that
makes the number of ones even, a zero. A second row below holds the complement. So the reading
does not depend on brightness and contrast, and a frame that is mirrored, inverted or damaged
reads as None rather than as another frame. The band's place is a fraction of the frame, so that
it survives squeezing the whole frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlock.errors import GenlockError

_INDEX_BITS = 13
MAX_FRAMES = 1 << _INDEX_BITS
_BLOCKS = _INDEX_BITS + 3
_CHANNELS = (1, 3, 4)


@dataclass(frozen=True)
class Band:
    """A band's place and its two values.

    width, row: width of the band and height of each of its two rows, as fractions of the frame.
    zero, one: what a block of 0 and of 1 is painted with.
    """

    width: float
    row: float
    zero: float
    one: float

    def paint(self, image: NDArray[Any], index: int) -> None:
        """Draw `index` into `image`, `[H, W]` or `[H, W, C]`, in place."""
        for block, bit in enumerate(_bits(index)):
            for row, value in enumerate((bit, not bit)):
                place = self._block(image.shape[:2], row, block, margin=0.0)
                image[place] = self.one if value else self.zero

    def read(self, image: NDArray[Any]) -> int | None:
        """Index drawn into `image`, `[H, W]` or `[H, W, C]`; None where the band is damaged."""
        if image.ndim not in (2, 3) or min(image.shape[:2]) < 64:
            raise GenlockError(f"not one frame of at least 64x64 pixels: shape {image.shape}")
        means = np.array([[self._mean(image, row, n) for n in range(_BLOCKS)] for row in (0, 1)])
        contrast = means[0] - means[1]
        spread = float(np.ptp(means))
        if not spread > 0 or bool((np.abs(contrast) < 0.4 * spread).any()):
            return None
        bits = (contrast > 0).tolist()
        index = int("".join("01"[bit] for bit in bits[1 : 1 + _INDEX_BITS]), 2)
        return index if bits == _bits(index) else None

    def _mean(self, image: NDArray[Any], row: int, block: int) -> float:
        return float(image[self._block(image.shape[:2], row, block, margin=0.25)].mean())

    def _block(
        self, size: tuple[int, ...], row: int, block: int, margin: float
    ) -> tuple[slice, slice]:
        """Pixels of one block, without `margin` (a fraction of the block) at each of its sides."""
        height, width = size[0] * self.row, size[1] * self.width / _BLOCKS
        return _pixels(height, row, margin), _pixels(width, block, margin)


def _pixels(length: float, number: int, margin: float) -> slice:
    first = round((number + margin) * length)
    return slice(first, max(first + 1, round((number + 1 - margin) * length)))


def _bits(index: int) -> list[bool]:
    """The 16 bits of a band."""
    if not 0 <= index < MAX_FRAMES:
        raise GenlockError(f"index {index} does not fit a band of {_INDEX_BITS} bits")
    digits = [bool(index >> place & 1) for place in reversed(range(_INDEX_BITS))]
    return [True, *digits, sum(digits) % 2 == 0, False]


RGB_BAND = Band(width=1.0, row=1 / 15, zero=16, one=235)
DEPTH_BAND = Band(width=0.5, row=1 / 30, zero=400, one=800)  # millimetres


def frame_index(image: ArrayLike) -> int | None:
    """Index drawn into a frame of camera-rgb, or None where the band is damaged.

    image: `[H, W]`, `[H, W, C]` or `[C, H, W]` with C 1, 3 or 4, any dtype and value range; the
    whole frame at any size from 64x64, its aspect kept or not.
    Raises GenlockError for another shape or a smaller image.
    """
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[0] in _CHANNELS:
        pixels = np.moveaxis(pixels, 0, -1)
    return RGB_BAND.read(pixels)


def depth_index(depth: ArrayLike) -> int | None:
    """Index drawn into a depth frame, or None where the band is damaged.

    depth: `[H, W]`, metres or any other unit, the whole frame at any size from 64x64 that was
    made without blending.
    Raises GenlockError for another shape or a smaller image.
    """
    return DEPTH_BAND.read(np.asarray(depth))
