"""JPEG (ITU-T T.81), with the orientation of EXIF 2.32."""

from __future__ import annotations

import os
from typing import BinaryIO

from genlock._pictures.header import PictureHeader, take
from genlock._pictures.orientation import UPRIGHT
from genlock._pictures.tiff import exif_orientation

SUFFIXES: tuple[str, ...] = (".jpg", ".jpeg", ".jpe")
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
_APP1, _START_OF_SCAN = 0xE1, 0xDA
_MOST_SEGMENTS = 1 << 16


def claims(head: bytes) -> bool:
    return head.startswith(b"\xff\xd8\xff")


def read(file: BinaryIO) -> PictureHeader:
    """Visits the segments up to the first scan."""
    orientation, frame, marker, segment = UPRIGHT, None, 0, 0
    file.seek(2)
    for _ in range(_MOST_SEGMENTS):
        prefix, marker = take(file, "BB")
        if prefix != 0xFF:
            raise ValueError("no marker where one must be")
        if marker == 0xFF:  # padding
            file.seek(-1, os.SEEK_CUR)
            continue
        if marker in _WITHOUT_LENGTH:
            continue
        segment = file.tell()
        (length,) = take(file, ">H")
        if marker == _START_OF_SCAN:
            break
        if marker in _FRAMES:
            frame = take(file, ">BHHB")
        elif marker == _APP1 and file.read(6) == b"Exif\0\0":
            orientation = exif_orientation(file)
        file.seek(segment + length)
    if frame is None or marker != _START_OF_SCAN:
        raise ValueError("no frame header, or no scan")
    bits, height, width, channels = frame
    dtype = "uint8" if bits <= 8 else "uint16"
    white = 2**bits - 1
    return PictureHeader("jpeg", height, width, channels, dtype, white, orientation, begin=segment)
