"""Raw pictures: the bytes of a VRS pixel format as an array.

Grey and Bayer formats give [H, W], colour [H, W, 3 or 4] in RGB order; 10 and 12 bits are uint16
with the code in the low bits. A Bayer mosaic stays one: it is not interpolated. YUV is converted
with BT.601 at limited range, which is what VRS's own tools assume (PixelFrame.cpp).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._vrs.content import ImageSpec
from genlock.errors import DecodeError

Pixels = NDArray[Any]


@dataclass(frozen=True)
class PixelFormat:
    """dtype, bits: of one component. channels: components of a pixel, in stored order `order`."""

    dtype: str
    bits: int
    channels: int = 1
    order: slice | None = None


PLAIN = {
    "grey8": PixelFormat("u1", 8),
    "bayer8_rggb": PixelFormat("u1", 8),
    "rgb_ir_4x4": PixelFormat("u1", 8),
    "rgb8": PixelFormat("u1", 8, 3),
    "bgr8": PixelFormat("u1", 8, 3, slice(None, None, -1)),
    "rgba8": PixelFormat("u1", 8, 4),
    "grey10": PixelFormat("<u2", 10),
    "grey12": PixelFormat("<u2", 12),
    "grey16": PixelFormat("<u2", 16),
    "rgb10": PixelFormat("<u2", 10, 3),
    "rgb12": PixelFormat("<u2", 12, 3),
    "depth32f": PixelFormat("<f4", 32),
    "rgb32F": PixelFormat("<f4", 32, 3),
    "rgba32F": PixelFormat("<f4", 32, 4),
    "scalar64F": PixelFormat("<f8", 64),
}
PACKED10 = ("raw10", "raw10_bayer_rggb", "raw10_bayer_bggr", "grey10packed")
YUV = ("yuv_i420_split", "yuv_420_nv12", "yuv_420_nv21", "yuy2")


def pixel_bits(pixels: str) -> int:
    """Bits of a component of a pixel format."""
    if pixels in PLAIN:
        return PLAIN[pixels].bits
    return 10 if pixels in PACKED10 else 8


def known(pixels: str) -> bool:
    """Whether `to_array` reads a pixel format."""
    return pixels in PLAIN or pixels in PACKED10 or pixels in YUV


def to_array(data: bytes, spec: ImageSpec) -> Pixels:
    """Read one raw picture. Raises DecodeError if the bytes are too few for it."""
    try:
        if spec.pixels in PLAIN:
            return _plain(data, spec, PLAIN[spec.pixels])
        if spec.pixels in PACKED10:
            return _packed10(data, spec)
        return _YUV_READERS[spec.pixels](data, spec)
    except KeyError:
        raise DecodeError(f"pixels of format {spec.pixels!r} cannot be read") from None
    except ValueError as error:
        height, width = spec.size
        raise DecodeError(
            f"{len(data)} bytes are too few for {width} x {height} pixels of {spec.pixels}"
        ) from error


def _lines(data: bytes, height: int, line: int, stride: int, offset: int = 0) -> Pixels:
    """uint8 [height, line] of lines that start `stride` bytes apart; the last may lack its gap."""
    stride = max(stride, line)
    needed = stride * (height - 1) + line
    flat = np.frombuffer(data, np.uint8, needed, offset)
    return np.lib.stride_tricks.as_strided(flat, (height, line), (stride, 1), writeable=False)


def _plain(data: bytes, spec: ImageSpec, form: PixelFormat) -> Pixels:
    height, width = spec.size
    dtype = np.dtype(form.dtype)
    line = width * form.channels * dtype.itemsize
    values = np.ascontiguousarray(_lines(data, height, line, spec.stride)).view(dtype)
    if form.channels == 1:
        return values
    pixels = values.reshape(height, width, form.channels)
    return pixels if form.order is None else np.ascontiguousarray(pixels[..., form.order])


def _packed10(data: bytes, spec: ImageSpec) -> Pixels:
    """Four pixels in five bytes: the high 8 bits of each, then the low 2 of all (RAW10)."""
    height, width = spec.size
    groups = -(-width // 4)
    five = _lines(data, height, groups * 5, spec.stride).reshape(height, groups, 5)
    low = five[..., 4:] >> np.arange(0, 8, 2, dtype=np.uint8) & 3
    values = five[..., :4].astype(np.uint16) << 2 | low
    return np.ascontiguousarray(values.reshape(height, groups * 4)[:, :width])


def _planar(data: bytes, spec: ImageSpec) -> Pixels:
    height, width = spec.size
    half = -(-height // 2), -(-width // 2)
    stride, stride_2 = max(spec.stride, width), max(spec.stride_2, half[1])
    luma = _lines(data, height, width, stride)
    planes = [
        _lines(data, *half, stride_2, stride * height + plane * stride_2 * half[0])
        for plane in (0, 1)
    ]
    return _rgb(luma, *(_doubled(plane, spec.size) for plane in planes))


def _interleaved(data: bytes, spec: ImageSpec) -> Pixels:
    height, width = spec.size
    half = -(-height // 2), -(-width // 2)
    stride = max(spec.stride, width)
    luma = _lines(data, height, width, stride)
    chroma = _lines(data, half[0], 2 * half[1], spec.stride_2, stride * height)
    first, second = (_doubled(chroma[:, part::2], spec.size) for part in (0, 1))
    u, v = (first, second) if spec.pixels == "yuv_420_nv12" else (second, first)
    return _rgb(luma, u, v)


def _yuy2(data: bytes, spec: ImageSpec) -> Pixels:
    height, width = spec.size
    four = _lines(data, height, -(-width // 2) * 4, spec.stride)
    u, v = (np.repeat(four[:, part::4], 2, axis=1)[:, :width] for part in (1, 3))
    return _rgb(four[:, ::2][:, :width], u, v)


_YUV_READERS: dict[str, Callable[[bytes, ImageSpec], Pixels]] = {
    "yuv_i420_split": _planar,
    "yuv_420_nv12": _interleaved,
    "yuv_420_nv21": _interleaved,
    "yuy2": _yuy2,
}


def _doubled(plane: Pixels, size: tuple[int, int]) -> Pixels:
    doubled: Pixels = plane.repeat(2, axis=0).repeat(2, axis=1)[: size[0], : size[1]]
    return doubled


def _rgb(luma: Pixels, u: Pixels, v: Pixels) -> Pixels:
    """ITU-R BT.601, 8 bits at limited range."""
    y = (luma.astype(np.float32) - 16) * np.float32(255 / 219)
    cb, cr = ((c.astype(np.float32) - 128) * np.float32(255 / 224) for c in (u, v))
    red, blue = y + np.float32(1.402) * cr, y + np.float32(1.772) * cb
    green = y - np.float32(0.344136) * cb - np.float32(0.714136) * cr
    rgb: Pixels = np.clip(np.rint(np.stack([red, green, blue], axis=-1)), 0, 255).astype(np.uint8)
    return rgb
