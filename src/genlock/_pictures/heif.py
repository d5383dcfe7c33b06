"""HEIF and AVIF (ISO/IEC 23008-12): the properties of the primary item."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import BinaryIO

from genlock._pictures.header import PictureHeader, take
from genlock._pictures.orientation import Orientation

SUFFIXES: tuple[str, ...] = (".avif", ".heic", ".heif")
_BRANDS = frozenset(b"avif avis heic heix heim heis hevc hevx mif1 msf1 miaf".split())
_MAX_META = 1 << 24


def claims(head: bytes) -> bool:
    return head[4:8] == b"ftyp" and head[8:12] in _BRANDS


def read(file: BinaryIO) -> PictureHeader:
    meta = next((file.read(size) for kind, size in _boxes(file) if kind == b"meta"), b"")
    found = _primary_properties(meta[4:])
    width, height = struct.unpack_from(">4xII", found[b"ispe"])
    depths = found.get(b"pixi", b"\0\0\0\0\3\x08\x08\x08")[5:]
    turns = found.get(b"irot", b"\0")[0] & 3
    mirror = found[b"imir"][0] & 1 if b"imir" in found else None
    return PictureHeader(
        "avif" if b"av1C" in found else "heic",
        height,
        width,
        len(depths),
        "uint16" if depths[0] > 8 else "uint8",
        2 ** depths[0] - 1,
        Orientation.from_heif(turns, mirror),
    )


def _boxes(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """(type, bytes of content) of each box from here on, the cursor being at its content."""
    while len(head := file.read(8)) == 8:
        size, kind = struct.unpack(">I4s", head)
        used = 8
        if size == 1:
            (size,) = take(file, ">Q")
            used = 16
        elif size == 0:  # up to the end of the file
            size = _MAX_META
        size -= used
        if size < 0:
            raise ValueError(f"a box {kind!r} that ends before it starts")
        content = file.tell()
        yield kind, min(size, _MAX_META)
        file.seek(content + size)


def _contents(data: bytes) -> list[tuple[bytes, bytes]]:
    file = io.BytesIO(data)
    return [(kind, file.read(size)) for kind, size in _boxes(file)]


def _primary_properties(meta: bytes) -> dict[bytes, bytes]:
    boxes = dict(_contents(meta))
    wide = boxes[b"pitm"][0] > 0
    primary = int.from_bytes(boxes[b"pitm"][4 : 8 if wide else 6], "big")
    inside = dict(_contents(boxes[b"iprp"]))
    properties = _contents(inside[b"ipco"])
    return dict(properties[i - 1] for i in _associated(inside[b"ipma"], primary) if i)


def _associated(ipma: bytes, item: int) -> list[int]:
    """Which properties, from 1, belong to an item."""
    file = io.BytesIO(ipma)
    version, flags, count = take(file, ">B2xBI")
    for _ in range(count):
        (found,) = take(file, ">I" if version else ">H")
        (number,) = take(file, ">B")
        indices = take(file, f">{number}{'H' if flags & 1 else 'B'}")
        if found == item:
            return [index & (0x7FFF if flags & 1 else 0x7F) for index in indices]
    raise ValueError("the primary item has no properties")
