"""Netpbm's PBM, PGM, PPM and PAM, and PFM: a header of words, then the pixels."""

from __future__ import annotations

import re
from typing import BinaryIO

from genlock._pictures.header import PictureHeader

SUFFIXES: tuple[str, ...] = (".pgm", ".ppm", ".pbm", ".pnm", ".pam", ".pfm")
_HEADER_BYTES = 4096
_CODECS = {b"1": "pbm", b"4": "pbm", b"2": "pgm", b"5": "pgm", b"3": "ppm", b"6": "ppm"}


def claims(head: bytes) -> bool:
    return re.match(rb"P[1-7fF][ \t\r\n#]", head) is not None


def read(file: BinaryIO) -> PictureHeader:
    text = re.sub(rb"#[^\n]*", b"", file.read(_HEADER_BYTES))
    magic, *words = text.split(maxsplit=16)
    if magic == b"P7":
        return _pam(words)
    width, height = int(words[0]), int(words[1])
    channels = 3 if magic in (b"P3", b"P6", b"PF") else 1
    if magic in (b"Pf", b"PF"):
        return PictureHeader("pfm", height, width, channels, "float32", 1)
    codec = _CODECS[magic[1:]]
    white = 255 if codec == "pbm" else int(words[2])
    return PictureHeader(codec, height, width, channels, _dtype(white), white)


def _pam(words: list[bytes]) -> PictureHeader:
    said = {name: words[i + 1] for i, name in enumerate(words[:-1]) if name.isupper()}
    height, width, channels, white = (
        int(said[name]) for name in (b"HEIGHT", b"WIDTH", b"DEPTH", b"MAXVAL")
    )
    return PictureHeader("pam", height, width, channels, _dtype(white), white)


def _dtype(white: int) -> str:
    if not 0 < white <= 65535:
        raise ValueError(f"a largest value of {white}")
    return "uint16" if white > 255 else "uint8"
