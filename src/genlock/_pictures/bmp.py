"""Windows bitmaps (BITMAPCOREHEADER, BITMAPINFOHEADER and later)."""

from __future__ import annotations

from typing import BinaryIO

from genlock._pictures.header import PictureHeader, take

SUFFIXES: tuple[str, ...] = (".bmp",)
_CORE, _LARGEST = 12, 124


def claims(head: bytes) -> bool:
    return head.startswith(b"BM") and _CORE <= int.from_bytes(head[14:18], "little") <= _LARGEST


def read(file: BinaryIO) -> PictureHeader:
    (size,) = take(file, "<14xI")
    width, height, _, bits = take(file, "<HHHH" if size == _CORE else "<iiHH")
    # a negative height says that the top row comes first
    return PictureHeader("bmp", abs(height), width, 4 if bits == 32 else 3)
