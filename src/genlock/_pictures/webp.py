"""WebP (RFC 9649); of an animation, the canvas."""

from __future__ import annotations

import os
from typing import BinaryIO

from genlock._pictures.header import PictureHeader, take
from genlock._pictures.orientation import UPRIGHT
from genlock._pictures.tiff import exif_orientation

SUFFIXES: tuple[str, ...] = (".webp",)
_HAS_EXIF, _HAS_ALPHA = 0x08, 0x10


def claims(head: bytes) -> bool:
    return head[:4] == b"RIFF" and head[8:12] == b"WEBP"


def read(file: BinaryIO) -> PictureHeader:
    (kind,) = take(file, "<12x4s4x")
    if kind == b"VP8 ":
        width, height = take(file, "<6xHH")
        return PictureHeader("webp", height & 0x3FFF, width & 0x3FFF)
    if kind == b"VP8L":
        (packed,) = take(file, "<xI")
        height, width = (packed >> 14 & 0x3FFF) + 1, (packed & 0x3FFF) + 1
        return PictureHeader("webp", height, width, 4 if packed >> 28 & 1 else 3)
    if kind == b"VP8X":
        return _extended(file)
    raise ValueError(f"unknown chunk {kind!r}")


def _extended(file: BinaryIO) -> PictureHeader:
    flags, canvas = take(file, "<B3x6s")
    orientation = UPRIGHT
    while flags & _HAS_EXIF:  # behind the pixels, so it ends with a chunk or with struct.error
        kind, length = take(file, "<4sI")
        if kind == b"EXIF":
            orientation = exif_orientation(file)
            break
        file.seek(length + length % 2, os.SEEK_CUR)
    width, height = (int.from_bytes(canvas[i : i + 3], "little") + 1 for i in (0, 3))
    channels = 4 if flags & _HAS_ALPHA else 3
    return PictureHeader("webp", height, width, channels, orientation=orientation)
