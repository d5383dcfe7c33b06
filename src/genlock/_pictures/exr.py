"""OpenEXR: the first part's header. A frame has the size of the display window."""

from __future__ import annotations

import struct
from typing import BinaryIO

from genlock._pictures.header import PictureHeader, take

SUFFIXES: tuple[str, ...] = (".exr",)
_DTYPES = {0: "uint32", 1: "float16", 2: "float32"}
_MAX_VALUE = 1 << 20


def claims(head: bytes) -> bool:
    return head.startswith(b"\x76\x2f\x31\x01")


def read(file: BinaryIO) -> PictureHeader:
    file.seek(8)
    said: dict[bytes, bytes] = {}
    while name := _text(file):
        _text(file)
        (size,) = take(file, "<i")
        if not 0 <= size <= _MAX_VALUE:
            raise ValueError(f"an attribute {name!r} of {size} bytes")
        said[name] = file.read(size)
    height, width = _size(said[b"displayWindow"])
    stored = _size(said[b"dataWindow"])
    kinds = _channel_types(said[b"channels"])
    dtype = _DTYPES[max(kinds)]
    area = stored[0] * stored[1]
    return PictureHeader("exr", height, width, len(kinds), dtype, 1, area=area)


def _size(window: bytes) -> tuple[int, int]:
    left, top, right, bottom = struct.unpack("<4i", window)
    return bottom - top + 1, right - left + 1


def _channel_types(value: bytes) -> list[int]:
    kinds: list[int] = []
    offset = 0
    while value[offset]:
        offset = value.index(b"\0", offset) + 1
        kinds += struct.unpack_from("<i", value, offset)
        offset += 16
    return kinds


def _text(file: BinaryIO) -> bytes:
    """The next zero-terminated text of at most 255 bytes."""
    start = file.tell()
    text, end, _ = file.read(256).partition(b"\0")
    if not end:
        raise ValueError("a text without an end")
    file.seek(start + len(text) + 1)
    return text
