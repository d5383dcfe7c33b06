"""From a decoded frame to an array: cropped, scaled and converted in one libswscale call, then
turned upright while it is copied to where it is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from av.video.format import VideoFormat
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from numpy.typing import NDArray

from genlock.decoders._libswscale import plane_for_blocks, takes_blocks
from genlock.decoders._scaler import Scaler, rows_of
from genlock.errors import DecodeError
from genlock.interfaces import FrameFormat
from genlock.stream import StreamInfo

Rectangle = tuple[int, int, int, int]
"""top, left, height, width in pixels."""

PLANES = MappingProxyType(
    {"gray": (0,), "rgb": (2, 0, 1), "rgba": (2, 0, 1, 3), "yuv420p": (0, 1, 2)}
)
"""Which plane of a converted frame holds each channel: those of `gbrp` are G, B, R."""


class PictureWriter:
    """Writes the frames of one stream in one format. One thread at a time.

    info: its shape is that of upright frames; rotation and flipped make frames upright.
    """

    def __init__(self, format: FrameFormat, info: StreamInfo) -> None:
        self._format = format
        self._info = info
        self._turned = info.rotation % 180 != 0
        self._as_coded = not info.rotation and not info.flipped
        self._to_crop, self._to_size = Scaler(), Scaler()
        self._scratch: tuple[str, Sequence[NDArray[Any]]] = "", ()

    def write(self, frame: VideoFrame, out: NDArray[Any]) -> None:
        """Write one frame into out, which has the shape and dtype that the format says.

        Raises DecodeError if the frame has another size than the stream and the format asks for
        the stream's own size or for a crop.
        """
        crop, size = self._format.crop, self._format.size
        upright = self._swapped(frame.height, frame.width)
        if upright != self._info.shape[:2] and (crop is not None or size is None):
            raise DecodeError(
                f"a picture of {upright[0]}x{upright[1]} in a stream of {self._info.shape[0]}x"
                f"{self._info.shape[1]} (height x width): ask for a size, without a crop"
            )
        pixels = _target(self._format.color, self._format.dtype, frame.format.name)
        if crop is not None:
            rectangle = self._on_frame(crop)
            if not _can_cut(frame, rectangle):
                frame = self._to_crop.scaled(frame, pixels, frame.height, frame.width)
            frame = _cut(frame, rectangle)
        channels = _channels(out, self._format)
        as_stored = self._as_coded and out.dtype == _pixel_dtype(pixels)
        if as_stored and all(map(takes_blocks, channels)):
            self._to_size.write(frame, pixels, self._planes(channels))
        else:
            sources = self._scratch_for(channels, pixels)
            self._to_size.write(frame, pixels, self._planes(sources))
            for source, channel in zip(sources, channels, strict=True):
                self._copy(source, channel, pixels)

    def _planes(self, channels: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Channels in the order of the planes of a converted frame."""
        order = PLANES[self._format.color]
        return [channels[order.index(plane)] for plane in range(len(channels))]

    def _scratch_for(self, channels: Sequence[NDArray[Any]], pixels: str) -> Sequence[NDArray[Any]]:
        """Memory for channels as they are coded, which is kept for the next frame."""
        if self._scratch[0] != pixels:
            dtype = _pixel_dtype(pixels)
            shapes = [self._swapped(*channel.shape) for channel in channels]
            self._scratch = pixels, [plane_for_blocks(*shape, dtype) for shape in shapes]
        return self._scratch[1]

    def _copy(self, source: NDArray[Any], channel: NDArray[Any], pixels: str) -> None:
        if self._info.flipped:
            source = source[:, ::-1]
        if self._info.rotation:
            source = np.rot90(source, -(self._info.rotation // 90))
        if self._format.dtype == "float32":
            np.divide(source, np.float32(2 ** _bits(pixels) - 1), out=channel)
        else:
            channel[...] = source

    def _swapped(self, height: int, width: int) -> tuple[int, int]:
        """From upright to coded size, or back."""
        return (width, height) if self._turned else (height, width)

    def _on_frame(self, crop: Rectangle) -> Rectangle:
        """An upright rectangle on the frame as it is coded."""
        top, left, height, width = crop
        rows, columns = self._info.shape[:2]
        for _ in range(self._info.rotation // 90):  # one turn back, counterclockwise
            top, left, height, width = columns - left - width, top, width, height
            rows, columns = columns, rows
        if self._info.flipped:
            left = columns - left - width
        return top, left, height, width


@cache
def _bits(pixels: str) -> int:
    """Bits of a component of a pixel format, between 8 and 16."""
    components = VideoFormat(pixels).components
    return min(max(8, *(component.bits for component in components)), 16)


@cache
def _pixel_dtype(pixels: str) -> np.dtype[Any]:
    return np.dtype("<u2" if _bits(pixels) > 8 else np.uint8)


@cache
def _target(color: str, dtype: str, source: str) -> str:
    """FFmpeg's pixel format to convert frames to: planar, and of as many bits as values need.

    color, dtype: as in `FrameFormat`; source: the frames' own pixel format.
    """
    bits = _bits(source)
    deep = dtype == "uint16" or (dtype == "float32" and bits > 8)
    if color == "yuv420p":
        return "yuv420p"
    if color == "gray":
        return f"gray{bits}le" if deep and bits > 8 else "gray"
    return {"rgb": "gbrp", "rgba": "gbrap"}[color] + ("16le" if deep else "")


def _channels(out: NDArray[Any], format: FrameFormat) -> Sequence[NDArray[Any]]:
    """Where the channels of one picture go: views of out, [H, W] each (chroma half of both)."""
    if format.color != "yuv420p":
        return list(out if format.layout == "CHW" else np.moveaxis(out, -1, 0))
    height, width = out.shape[0] * 2 // 3, out.shape[1]
    pixels, half = height * width, (height // 2, width // 2)
    luma, u, v = np.split(out.reshape(-1), [pixels, pixels * 5 // 4])  # one after another
    return luma.reshape(height, width), u.reshape(half), v.reshape(half)


def _pixel_bytes(frame: VideoFrame, plane: int) -> int:
    """Bytes from one pixel to the next; 0 if pixels do not fill bytes."""
    pixels = frame.format
    if pixels.has_palette or pixels.is_bit_stream or pixels.is_bayer:
        return 0
    components = [c for c in pixels.components if c.plane == plane]
    if len(frame.planes) > 1:
        return len(components) * ((components[0].bits + 7) // 8)
    return pixels.padded_bits_per_pixel // 8


def _grid(frame: VideoFrame, plane: VideoPlane) -> tuple[int, int]:
    """Rows and columns of the frame that share one row and column of a plane."""
    return -(-frame.height // plane.height), -(-frame.width // plane.width)


def _can_cut(frame: VideoFrame, rectangle: Rectangle) -> bool:
    """Whether a rectangle's corner lies on the grid of each plane."""
    top, left, _, _ = rectangle
    grids = [_grid(frame, plane) for plane in frame.planes]
    on_grid = all(top % rows == 0 and left % columns == 0 for rows, columns in grids)
    return on_grid and all(_pixel_bytes(frame, index) for index in range(len(grids)))


def _cut(frame: VideoFrame, rectangle: Rectangle) -> VideoFrame:
    """A new frame of a rectangle's pixels, in the same pixel format."""
    top, left, height, width = rectangle
    piece = VideoFrame(width, height, frame.format.name)
    piece.colorspace, piece.color_range = frame.colorspace, frame.color_range
    for index, (source, target) in enumerate(zip(frame.planes, piece.planes, strict=True)):
        rows, columns = _grid(frame, source)
        size = _pixel_bytes(frame, index)
        first = left // columns * size
        lines = rows_of(source, size)[top // rows :, first : first + target.width * size]
        rows_of(target, size)[...] = lines[: target.height]
    return piece
