"""Messages that hold a picture: what it is, and the unit that a decoder takes.

Raw images become arrays, compressed ones stay encoded; depth of 32 bits that ROS compressed
becomes an array of metres.
"""

from __future__ import annotations

import io
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._messages import compressed_depth, pixels
from genlock._messages.codec import Message, octets
from genlock._pictures import read_header

DEPTH_ENCODINGS = {"16UC1": "mm", "32FC1": "metres"}
"""What REP 118 makes depth images of, and how they count."""


class Look(NamedTuple):
    """What a picture is. shape: (height, width) upright. depth: its encoding if it is depth."""

    codec: str
    shape: tuple[int, int]
    dtype: str
    bits: int
    depth: str | None = None


def look_at(message: Message, name: str) -> Look:
    """Say what the picture of a message is, from its header.

    name: of the topic; one that has a word starting with "depth" makes 16-bit grey depth. Raises
    DecodeError.
    """
    if "encoding" in message:
        return _raw(message, name)
    encoding, packed = _compression(message)
    data = octets(message["data"]).tobytes()
    if packed:
        dtype = "float32" if encoding == "32FC1" else "uint16"
        depth = DEPTH_ENCODINGS.get(encoding, "mm")
        return Look("compressedDepth", compressed_depth.size_of(data), dtype, 16, depth)
    header = read_header(io.BytesIO(data))
    deep = header.channels == 1 and header.dtype == "uint16"
    depth_like = deep and (encoding == "16UC1" or is_called_depth(name))
    return Look(header.codec, header.shape, header.dtype, header.bits, "mm" if depth_like else None)


def _raw(message: Message, name: str) -> Look:
    encoding = message["encoding"]
    dtype = np.dtype(pixels.pixel_format(encoding).dtype)
    depth = DEPTH_ENCODINGS.get(encoding)
    if encoding == "mono16" and is_called_depth(name):
        depth = "mm"
    bits = 8 * dtype.itemsize if dtype.kind == "u" else 32
    dtype_name = "float32" if dtype == np.float64 else dtype.name
    return Look(encoding, pixels.picture_shape(message), dtype_name, bits, depth)


def to_unit(message: Message) -> bytes | NDArray[Any]:
    """The picture of a message as a decoder takes it. Raises DecodeError."""
    if "encoding" in message:
        return pixels.to_array(message)
    encoding, packed = _compression(message)
    data = octets(message["data"]).tobytes()
    return compressed_depth.unpack(data, encoding) if packed else data


def _compression(message: Message) -> tuple[str, bool]:
    """The encoding of the image that was compressed, and whether by compressed_depth_transport.

    The format is "jpeg", or such as "rgb8; jpeg compressed bgr8", "16UC1; compressedDepth png".
    """
    encoding, _, rest = str(message.get("format", "")).partition(";")
    return encoding.strip(), "compressedDepth" in rest


def is_called_depth(name: str) -> bool:
    """Whether a name has a word that starts with "depth"."""
    return re.search(r"(?:^|[^a-z])depth", name.lower()) is not None
