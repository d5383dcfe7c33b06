"""Frames scaled and converted by libswscale in one call, into memory that waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from av.video.format import VideoFormat
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from genlock._yuv import HD_HEIGHT
from genlock.decoders._libswscale import DirectScaler, Tags, library

BT601, BT709 = 5, 1
CONVERTIBLE_MATRICES = frozenset({0, 1, 4, 5, 6, 7, 9})
"""Those that libswscale knows, as numbers of ITU-T H.273; 2 is unspecified."""
LIMITED_RANGE, FULL_RANGE = 1, 2
AREA, ACCURATE_ROUNDING = 0x20, 0x40000
"""Flags of libswscale; PyAV 17 has no name for the latter."""


class Scaler:
    """Scales frames to full-range pixels by their own matrix and range. One thread at a time."""

    def __init__(self) -> None:
        self._reformatter = VideoReformatter()
        self._direct = DirectScaler(found) if (found := library()) else None

    def write(self, frame: VideoFrame, pixels: str, planes: Sequence[NDArray[Any]]) -> None:
        """Write a frame into the planes of a picture in a pixel format, [H, W] each, of which
        each is one that `takes_blocks` or was made by `plane_for_blocks`.

        Raises FFmpegError for a frame that libswscale refuses.
        """
        height, width = planes[0].shape
        if self._direct is not None and not frame.interlaced_frame:  # whose fields lie apart
            way = _way(_kind(frame), height, width, pixels)
            if self._direct.write(frame, pixels, way.flags, way.read, way.written, planes):
                return
        scaled = self.scaled(frame, pixels, height, width)
        for source, plane in zip(scaled.planes, planes, strict=True):
            plane[...] = rows_of(source, plane.itemsize).view(plane.dtype)

    def scaled(self, frame: VideoFrame, pixels: str, height: int, width: int) -> VideoFrame:
        """A frame of that size in a pixel format: a new one, or the same if it is that already.

        Raises FFmpegError for a frame that libswscale refuses.
        """
        way = _way(_kind(frame), height, width, pixels)
        return self._reformatter.reformat(
            frame,
            width,
            height,
            pixels,
            interpolation=way.flags,
            threads=1,
            src_colorspace=way.read.colorspace,
            src_color_range=way.read.color_range,
            dst_colorspace=way.written.colorspace,
            dst_color_range=way.written.color_range,
        )


def rows_of(plane: VideoPlane, pixel_bytes: int) -> NDArray[np.uint8]:
    """A plane's bytes without padding, uint8 [height, width * pixel_bytes], top row first."""
    lines = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, abs(plane.line_size))
    return lines[:: 1 if plane.line_size > 0 else -1, : plane.width * pixel_bytes]


class _Kind(NamedTuple):
    """What of a frame decides how it is converted; matrix and range as numbers of H.273."""

    height: int
    width: int
    pixels: str
    matrix: int
    range: int


class _Way(NamedTuple):
    """How libswscale is to convert: its flags, and how what it reads and writes is tagged."""

    flags: int
    read: Tags
    written: Tags


def _kind(frame: VideoFrame) -> _Kind:
    return _Kind(frame.height, frame.width, frame.format.name, frame.colorspace, frame.color_range)


@lru_cache
def _way(kind: _Kind, height: int, width: int, pixels: str) -> _Way:
    """How libswscale is to convert frames of one kind.

    Untagged frames are BT.709 from 720 lines on, else BT.601, and limited. Luma keeps its codes:
    libswscale takes gray to be BT.601 of full range, so it is told the same of the frame.
    """
    # the converter that is fast without scaling leaves columns beyond a multiple of 16 unwritten
    fast = (height, width) == (kind.height, kind.width) and width % 16 == 0
    own = VideoFormat(kind.pixels)
    in_rgb = own.is_rgb or own.has_palette
    read, written = Tags(kind.matrix, kind.range), Tags(kind.matrix, FULL_RANGE)
    if pixels.startswith("gray") and not in_rgb:
        read, written = Tags(BT601, FULL_RANGE), Tags(BT601, FULL_RANGE)
    elif kind.matrix not in CONVERTIBLE_MATRICES:
        read = read._replace(colorspace=BT709 if kind.height >= HD_HEIGHT else BT601)
    if pixels == "yuv420p" and not in_rgb:  # the codes stay what they are
        range_ = FULL_RANGE if kind.range == FULL_RANGE else LIMITED_RANGE
        written = Tags(read.colorspace, range_)
    return _Way(AREA if fast else AREA | ACCURATE_ROUNDING, read, written)
