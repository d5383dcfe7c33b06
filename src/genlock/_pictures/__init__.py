"""What a picture file says of itself before any pixel is decoded: one file per format.

`read_header` looks at the content, never at the name, reads headers only, and takes no memory by
what a header claims. Each module offers `claims(head)`, whether a file that starts with these
bytes is of its format, and `read(file)`, the `PictureHeader` of a file at its start.
"""

from __future__ import annotations

import struct
from typing import BinaryIO, Protocol

from genlock._pictures import bmp, exr, gif, heif, jpeg, netpbm, npy, png, tiff, webp
from genlock._pictures.header import PictureHeader
from genlock.errors import DecodeError

__all__ = ["SUFFIXES", "PictureHeader", "is_picture", "read_header"]


class PictureFormat(Protocol):
    """What each module here offers."""

    SUFFIXES: tuple[str, ...]

    def claims(self, head: bytes) -> bool: ...

    def read(self, file: BinaryIO) -> PictureHeader: ...


FORMATS: tuple[PictureFormat, ...] = (
    jpeg, png, webp, tiff, heif, exr, npy, gif, netpbm, bmp,
)  # fmt: skip

SUFFIXES = frozenset(suffix for form in FORMATS for suffix in form.SUFFIXES)
"""Suffixes of picture files. `.npy` is not among them, since it may be any array."""


def is_picture(head: bytes) -> bool:
    """Whether a file that starts with these bytes (32 or more) is a picture."""
    return any(form.claims(head) for form in FORMATS)


def read_header(file: BinaryIO) -> PictureHeader:
    """Read the header of a picture in a seekable binary file.

    Raises DecodeError if it is of none of the known formats or if the header is damaged.
    """
    file.seek(0)
    head = file.read(32)
    if not head:
        raise DecodeError("the file is empty")
    form = next((form for form in FORMATS if form.claims(head)), None)
    if form is None:
        raise DecodeError(f"this is not a picture of a known format: it starts with {head[:16]!r}")
    file.seek(0)
    try:
        header = form.read(file)
    except (struct.error, ValueError, LookupError, OverflowError, TypeError) as error:
        raise DecodeError(f"the picture's header is damaged or cut short ({error})") from error
    if header.height < 1 or header.width < 1:
        raise DecodeError(f"the picture's header says {header.height} x {header.width} pixels")
    return header
