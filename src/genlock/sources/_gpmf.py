"""GPMF, the key-length-value format of GoPro's telemetry: entries, and their numbers.

Written from the format's public description (GPMF Introduction, github.com/gopro/gpmf-parser). An
entry is a key of four characters, a type of one, the size of a sample, how many there are, and the
samples, big-endian and padded to 4 bytes. Type 0 nests entries.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NESTED, COMPLEX = "\0", "?"
NUMBERS: Mapping[str, str] = MappingProxyType(
    {
        "b": "i1",
        "B": "u1",
        "s": "i2",
        "S": "u2",
        "l": "i4",
        "L": "u4",
        "j": "i8",
        "J": "u8",
        "f": "f4",
        "d": "f8",
        "q": "i4",
        "Q": "i8",
    }
)
"""Types that are numbers, with NumPy's names."""
FIXED_POINT: Mapping[str, float] = MappingProxyType({"q": 2.0**16, "Q": 2.0**32})
"""What a fixed-point number is to be divided by."""

_HEAD = struct.Struct(">4scBH")
_FIELD = re.compile(r"([^\[])(?:\[(\d{1,3})\])?")


class Entry(NamedTuple):
    """One entry: `repeat` samples of `size` bytes each."""

    key: str
    kind: str
    size: int
    repeat: int
    data: bytes

    @property
    def text(self) -> str:
        """Its characters, without what pads them."""
        return self.data.decode("latin-1").rstrip("\0 ")

    @property
    def texts(self) -> list[str]:
        """One text for each sample."""
        cells = [self.data[i * self.size : (i + 1) * self.size] for i in range(self.repeat)]
        return [cell.decode("latin-1").strip("\0 ") for cell in cells]


def entries(data: bytes) -> Iterator[Entry]:
    """The entries of a payload or of a nested entry, as far as they are whole."""
    start = 0
    while start + _HEAD.size <= len(data):
        key, kind, size, repeat = _HEAD.unpack_from(data, start)
        start += _HEAD.size
        end = start + size * repeat
        if not key.isalnum() or end > len(data):
            return
        yield Entry(key.decode(), kind.decode("latin-1"), size, repeat, data[start:end])
        start = end + -end % 4


def fields(entry: Entry, structure: str = "") -> str:
    """The types of the numbers in one sample, in order; "" if not all of it is numbers.

    structure: the text of the TYPE entry before, which is for complex types.
    """
    kinds = structure
    if entry.kind != COMPLEX:
        width = np.dtype(NUMBERS.get(entry.kind, "V0")).itemsize
        kinds = entry.kind * (entry.size // width if width else 0)
    found = "".join(kind * int(count or 1) for kind, count in _FIELD.findall(kinds)[: entry.size])
    sizes = [np.dtype(NUMBERS[kind]).itemsize for kind in found if kind in NUMBERS]
    return found if len(sizes) == len(found) and sum(sizes) == entry.size else ""


def numbers(entry: Entry, kinds: str, scale: Sequence[float] = ()) -> list[NDArray[Any]]:
    """The numbers of an entry, an array [repeat] for each field.

    kinds: as `fields` gives them. scale: divisors, one for all fields or one for each. What is
    divided becomes float64.
    """
    names = [str(position) for position in range(len(kinds))]
    layout = np.dtype([(n, f">{NUMBERS[kind]}") for n, kind in zip(names, kinds, strict=True)])
    table = np.frombuffer(entry.data, layout, entry.repeat)
    divisors = list(scale) * len(kinds) if len(scale) == 1 else list(scale)
    divisors += [1.0] * (len(kinds) - len(divisors))
    result = []
    for name, kind, divisor in zip(names, kinds, divisors, strict=False):
        values = table[name].astype(NUMBERS[kind])
        by = divisor * FIXED_POINT.get(kind, 1.0)
        result.append(values if by == 1 else values / by)
    return result
