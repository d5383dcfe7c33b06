"""JPEG (ITU-T T.81), with the orientation of EXIF 2.32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from genlock._pictures.header import PictureHeader, take
from genlock._pictures.orientation import UPRIGHT
from genlock._pictures.tiff import exif_orientation

SUFFIXES: tuple[str, ...] = (".jpg", ".jpeg", ".jpe")
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})
_APP1, _APP14, _COMMENT, _QUANTIZATION, _START_OF_SCAN = 0xE1, 0xEE, 0xFE, 0xDB, 0xDA
_OTHERWISE = {_APP14: (b"Adobe",), _COMMENT: (b"CS=ITU601", b"Metasoft MJPEG")}
"""Segments that make decoders take the planes for other colours, a narrower range or flipped."""
_MOST_SEGMENTS = 1 << 16


def claims(head: bytes) -> bool:
    return head.startswith(b"\xff\xd8\xff")


def read(file: BinaryIO) -> PictureHeader:
    """Visits the segments up to the first scan."""
    orientation, frame, marker, segment, usual = UPRIGHT, None, 0, 2, True
    tables: set[int] = set()
    for _ in range(_MOST_SEGMENTS):
        file.seek(segment)
        prefix, marker, *length_bytes = file.read(4)
        if prefix != 0xFF:
            raise ValueError("no marker where one must be")
        if marker == 0xFF:  # padding
            segment += 1
            continue
        segment += 2
        if marker in _WITHOUT_LENGTH:
            continue
        length = int.from_bytes(length_bytes, "big")
        if marker == _START_OF_SCAN:
            break
        if marker in _FRAMES:
            frame = take(file, ">BHHB")
            components = file.read(3 * frame[3])
        elif marker == _QUANTIZATION:
            tables.update(_numbers(file.read(length - 2)))
        elif marker == _APP1 and file.read(6) == b"Exif\0\0":
            orientation = exif_orientation(file)
        elif marker in _OTHERWISE:
            usual &= not file.read(16).startswith(_OTHERWISE[marker])
        segment += length
    if frame is None or marker != _START_OF_SCAN:
        raise ValueError("no frame header, or no scan")
    bits, height, width, channels = frame
    dtype = "uint8" if bits <= 8 else "uint16"
    white = 2**bits - 1
    ycc = usual and bits == 8 and channels in (1, 3)
    ycc = ycc and components[::3] != b"RGB" and tables.issuperset(components[2::3])
    return PictureHeader(
        "jpeg", height, width, channels, dtype, white, orientation, begin=segment, ycc=ycc
    )


def _numbers(tables: bytes) -> Iterator[int]:
    """Of the quantization tables in a segment, each of 64 numbers of 8 or 16 bits."""
    at = 0
    while at < len(tables):
        yield tables[at] & 15
        at += 129 if tables[at] >> 4 else 65
