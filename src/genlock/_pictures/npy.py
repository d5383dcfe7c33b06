"""NumPy's .npy format: an array [H, W] or [H, W, C], channels in the order R, G, B, A."""

from __future__ import annotations

import math
from dataclasses import replace
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from genlock._pictures.header import PictureHeader

SUFFIXES: tuple[str, ...] = ()  # an array of this suffix may be anything


def claims(head: bytes) -> bool:
    return head.startswith(npy_format.MAGIC_PREFIX)


def read(file: BinaryIO) -> PictureHeader:
    version = npy_format.read_magic(file)
    one = npy_format.read_array_header_1_0
    read_fields = one if version == (1, 0) else npy_format.read_array_header_2_0
    try:
        shape, _, dtype = read_fields(file)
    except (SyntaxError, TokenError) as error:  # the header is a Python literal
        raise ValueError(error) from error
    begin = file.tell()
    end = begin + math.prod(shape) * dtype.itemsize
    return replace(describe(shape, dtype), begin=begin, end=end)


def describe(shape: tuple[int, ...], dtype: np.dtype[Any]) -> PictureHeader:
    """The header of an array of this shape. Raises ValueError if it cannot be a picture."""
    channels = shape[2] if len(shape) == 3 else 1
    if dtype.kind not in "uif" or len(shape) not in (2, 3) or not 1 <= channels <= 4:
        raise ValueError(f"an array {dtype} {list(shape)} is not a picture")
    white = 1 if dtype.kind == "f" else 2 ** (8 * dtype.itemsize) - 1
    return PictureHeader("npy", shape[0], shape[1], channels, dtype.name, white)
