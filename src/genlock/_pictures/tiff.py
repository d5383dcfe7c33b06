"""TIFF 6.0 and BigTIFF: the first directory; and EXIF blocks, which are TIFF inside."""

from __future__ import annotations

import struct
from typing import BinaryIO

import numpy as np

from genlock._pictures.header import PictureHeader, take
from genlock._pictures.orientation import UPRIGHT, Orientation

SUFFIXES: tuple[str, ...] = (".tif", ".tiff")
_WIDTH, _LENGTH, _BITS, _PHOTOMETRIC, _ORIENTATION, _SAMPLES, _KIND = (
    256, 257, 258, 262, 274, 277, 339,
)  # fmt: skip
_PALETTE = 3
_DTYPES = {1: "uint", 2: "int", 3: "float"}
_NUMBERS = {1: "B", 3: "H", 4: "I", 16: "Q"}
_MAX_TAGS = 4096


def claims(head: bytes) -> bool:
    return head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"))


def read(file: BinaryIO) -> PictureHeader:
    tags = _tags(file)
    kind = _DTYPES.get(tags.get(_KIND, 1), "uint")
    bits = max(8, 1 << (tags.get(_BITS, 1) - 1).bit_length())  # 1 is read as 8, 12 as 16
    dtype = np.dtype(f"{kind}{bits}")
    white = 1 if kind == "float" else 2 ** (8 * dtype.itemsize) - 1
    channels = 3 if tags.get(_PHOTOMETRIC) == _PALETTE else tags.get(_SAMPLES, 1)
    orientation = Orientation.from_exif(tags.get(_ORIENTATION, 1))
    height, width = tags[_LENGTH], tags[_WIDTH]
    return PictureHeader("tiff", height, width, channels, dtype.name, white, orientation)


def exif_orientation(file: BinaryIO) -> Orientation:
    """The orientation in the EXIF block that starts here; upright if the block is damaged."""
    try:
        return Orientation.from_exif(_tags(file).get(_ORIENTATION, 1))
    except (struct.error, ValueError):
        return UPRIGHT


def _tags(file: BinaryIO) -> dict[int, int]:
    """First value of each whole-number tag of the directory of the TIFF that starts here."""
    base = file.tell()
    order = {b"II": "<", b"MM": ">"}.get(file.read(2))
    if order is None:
        raise ValueError("no byte order mark")
    big = take(file, order + "H") == (43,)
    offset, entry = ("Q", "HHQ8s") if big else ("I", "HHI4s")
    (directory,) = take(file, order + ("4x" if big else "") + offset)
    file.seek(base + directory)
    (count,) = take(file, order + ("Q" if big else "H"))
    entries = [take(file, order + entry) for _ in range(min(count, _MAX_TAGS))]
    tags: dict[int, int] = {}
    for tag, kind, number, field in entries:
        code = _NUMBERS.get(kind)
        if code is None:
            continue
        if number * struct.calcsize(code) > len(field):
            file.seek(base + struct.unpack(order + offset, field)[0])
            field = file.read(8)
        tags[tag] = struct.unpack_from(order + code, field)[0]
    return tags
