"""GIF89a; of an animation, the logical screen."""

from __future__ import annotations

from typing import BinaryIO

from genlock._pictures.header import PictureHeader, take

SUFFIXES: tuple[str, ...] = (".gif",)


def claims(head: bytes) -> bool:
    return head.startswith((b"GIF87a", b"GIF89a"))


def read(file: BinaryIO) -> PictureHeader:
    width, height = take(file, "<6xHH")
    return PictureHeader("gif", height, width, 4)
