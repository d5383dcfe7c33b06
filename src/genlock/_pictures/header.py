"""`PictureHeader`: what every format's header is reduced to, and the checks made on it."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from genlock._pictures.orientation import UPRIGHT, Orientation
from genlock.errors import DecodeError, LimitError

MAX_PIXELS = 2**28


@dataclass(frozen=True)
class PictureHeader:
    """The header of one picture.

    height, width: as stored; `shape` is upright. channels: 1 grey, 2 grey and alpha, 3, 4 with
    alpha. dtype: of the stored values, a NumPy name. white: the code of full intensity (255,
    65535, 1023, …; 1 for floating point). area: pixels that the file stores, where that is not
    height * width. begin: offset of the pixel data, where known. end: bytes that the file must
    hold at least, as far as its structure says. ycc: whether a JPEG stores luma and two planes of
    colour, or luma alone, as all decoders understand it.
    """

    codec: str
    height: int
    width: int
    channels: int = 3
    dtype: str = "uint8"
    white: int = 255
    orientation: Orientation = UPRIGHT
    area: int = 0
    begin: int = 0
    end: int = 0
    ycc: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """(height, width), upright."""
        return self.orientation.upright_shape(self.height, self.width)

    @property
    def bits(self) -> int:
        """Bits of one component."""
        return self.white.bit_length() if self.white > 1 else np.dtype(self.dtype).itemsize * 8

    def check_limit(self, max_pixels: int | None = None) -> None:
        """Raise LimitError if the picture has more pixels than `pixel_limit(max_pixels)`."""
        limit = pixel_limit(max_pixels)
        # channels beyond four count as pixels, since that is the memory they take
        pixels = max(self.height * self.width, self.area) * -(-self.channels // 4)
        if pixels > limit:
            raise LimitError(
                f"this {self.codec} claims {self.height} x {self.width} pixels of {self.channels} "
                f"channels, above the limit of {limit} pixels: if that is right, raise max_pixels "
                "or the environment variable GENLOCK_MAX_PIXELS"
            )

    def check_whole(self, data: bytes) -> None:
        """Raise DecodeError if the file was cut short, as far as its structure shows.

        JPEG states no length, but it must have an end marker behind its pixel data (anything may
        follow); without it decoders paint the rest grey and say nothing.
        """
        if self.codec == "jpeg" and data.rfind(b"\xff\xd9", self.begin) < 0:
            raise DecodeError(f"this jpeg is cut short: {len(data)} bytes without an end marker")
        if len(data) < self.end:
            raise DecodeError(
                f"this {self.codec} is cut short: {len(data)} bytes where {self.end} are needed"
            )


def pixel_limit(max_pixels: int | None = None) -> int:
    """The largest picture in pixels: the argument, else GENLOCK_MAX_PIXELS, else 2**28."""
    return max_pixels or int(os.environ.get("GENLOCK_MAX_PIXELS") or MAX_PIXELS)


def take(file: BinaryIO, layout: str) -> tuple[Any, ...]:
    """The next values of a struct layout. Raises struct.error at the end of the file."""
    return struct.unpack(layout, file.read(struct.calcsize(layout)))
