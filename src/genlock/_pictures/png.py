"""PNG (W3C Portable Network Graphics, third edition); of an animation, its default image."""

from __future__ import annotations

import struct
from typing import BinaryIO

from genlock._pictures.header import PictureHeader, take
from genlock._pictures.orientation import UPRIGHT
from genlock._pictures.tiff import exif_orientation

SUFFIXES: tuple[str, ...] = (".png", ".apng")
_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}


def claims(head: bytes) -> bool:
    return head.startswith(b"\x89PNG\r\n\x1a\n")


def read(file: BinaryIO) -> PictureHeader:
    """Visits every chunk, since the EXIF block may lie behind the data, as the end does."""
    orientation, image, offset, kind = UPRIGHT, None, 8, b""
    file.seek(offset)
    while kind != b"IEND":
        chunk = file.read(8)
        if len(chunk) < 8:
            offset += 12  # so that `end` lies beyond the file: it was cut
            break
        length, kind = struct.unpack(">I4s", chunk)
        if kind == b"IHDR":
            image = take(file, ">IIBB")
        elif kind == b"eXIf":
            orientation = exif_orientation(file)
        offset += 12 + length
        file.seek(offset)
    if image is None:
        raise ValueError("no IHDR chunk")
    width, height, depth, color = image
    dtype, white = ("uint16", 65535) if depth == 16 else ("uint8", 255)
    channels = _CHANNELS[color]
    return PictureHeader("png", height, width, channels, dtype, white, orientation, end=offset)
