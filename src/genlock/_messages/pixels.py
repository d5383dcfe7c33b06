"""Raw images → arrays, by the encodings of `sensor_msgs/image_encodings.hpp` (ROS) and Foxglove's
RawImage, which uses the same names.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from genlock._messages.codec import Message, octets
from genlock.errors import DecodeError


class PixelFormat(NamedTuple):
    """How an encoding stores pixels.

    dtype: NumPy's, without byte order. stored: values of a pixel in a row of the message. lines:
    rows of the message for two rows of the picture. swap: whether the order is B, G, R. convert:
    OpenCV's code that makes RGB of it, or None. channels: of the array.
    """

    dtype: str
    stored: int
    lines: int = 2
    swap: bool = False
    convert: int | None = None
    channels: int = 0


def _named() -> dict[str, PixelFormat]:
    formats = {
        f"{name}{8 * size}": PixelFormat(f"u{size}", len(name), swap=name[0] == "b")
        for name in ("rgb", "bgr", "rgba", "bgra")
        for size in (1, 2)
    }
    formats |= {f"mono{8 * size}": PixelFormat(f"u{size}", 1) for size in (1, 2)}
    for pattern in ("rggb", "bggr", "gbrg", "grbg"):
        code = getattr(cv2, f"COLOR_Bayer{pattern.upper()}2RGB")
        for size in (1, 2):
            name = f"bayer_{pattern}{8 * size}"
            formats[name] = PixelFormat(f"u{size}", 1, convert=code, channels=3)
    for names, stored, lines, code in (
        (("yuv422", "uyvy"), 2, 2, cv2.COLOR_YUV2RGB_UYVY),
        (("yuv422_yuy2", "yuyv"), 2, 2, cv2.COLOR_YUV2RGB_YUY2),
        (("nv12",), 1, 3, cv2.COLOR_YUV2RGB_NV12),
        (("nv21",), 1, 3, cv2.COLOR_YUV2RGB_NV21),
    ):
        formats |= dict.fromkeys(names, PixelFormat("u1", stored, lines, convert=code, channels=3))
    return formats


_NAMED = MappingProxyType(_named())
_MATRIX = re.compile(r"(8|16|32|64)([USF])C([1-4])?")


def pixel_format(encoding: str) -> PixelFormat:
    """Look up an encoding. Raises DecodeError naming it if it is unknown.

    "8UC3" and the like are taken as OpenCV has them: B, G, R.
    """
    if encoding.lower() in _NAMED:
        return _NAMED[encoding.lower()]
    found = _MATRIX.fullmatch(encoding)
    if found is None:
        raise DecodeError(f"raw images encoded as {encoding!r} are not known")
    bits, kind, channels = found.groups(default="1")
    dtype = {"U": "u", "S": "i", "F": "f"}[kind] + str(int(bits) // 8)
    return PixelFormat(dtype, int(channels), swap=int(channels) > 2)


def picture_shape(message: Message) -> tuple[int, int]:
    """(height, width) of a raw image."""
    return int(message["height"]), int(message["width"])


def to_array(message: Message) -> NDArray[Any]:
    """The pixels of a raw image: [H, W], or [H, W, C] in the order R, G, B, A.

    A view of the message where nothing has to be converted. Bayer patterns are interpolated
    linearly; YUV is taken as BT.601 of limited range. Raises DecodeError for a message that is
    too short or an unknown encoding.
    """
    form = pixel_format(message["encoding"])
    values = _stored(message, form)
    if form.convert is not None:
        return np.asarray(cv2.cvtColor(np.ascontiguousarray(values), form.convert))
    if form.swap:
        values = values[..., [2, 1, 0, 3][: form.stored]]
    return values.astype(np.float32) if values.dtype == np.float64 else values


def _stored(message: Message, form: PixelFormat) -> NDArray[Any]:
    """Pixels as they are stored, rows without their padding."""
    height, width = picture_shape(message)
    rows = height * form.lines // 2
    order = ">" if message.get("is_bigendian") else "<"
    dtype = np.dtype(order + form.dtype)
    length = width * form.stored * dtype.itemsize
    step = int(message["step"]) or length
    data = octets(message["data"])
    if step < length or len(data) < step * rows:
        raise DecodeError(
            f"a raw image of {height}x{width} {message['encoding']} needs {rows} rows of {length} "
            f"bytes, the message has {len(data)} bytes in rows of {step}"
        )
    # rows may be padded, so that only the last axis is contiguous
    packed = data[: step * rows].reshape(rows, step)[:, :length]
    values = np.ascontiguousarray(packed).view(dtype)
    values = values.reshape((rows, width) if form.stored == 1 else (rows, width, form.stored))
    return values.astype(dtype.newbyteorder("="), copy=False)
