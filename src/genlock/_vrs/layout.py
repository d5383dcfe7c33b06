"""DataLayout: the typed fields that a record starts with, described in JSON in the stream's tags.

Fields of fixed size come first, at stated offsets. Then one (offset, length) pair of uint32 for
each field of variable size, then their bytes. (DataLayout.cpp, DataPieces.h)
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TYPE = re.compile(r"DataPiece(?P<piece>\w+?)(?:<(?P<element>\w+)>)?")
_POINT = re.compile(r"Point(?P<n>[234])D(?P<of>[dfi])")
_MATRIX = re.compile(r"Matrix(?P<n>[34])D(?P<of>[dfi])")
_SCALARS = {"Bool": "u1", "char": "i1", "double": "<f8", "float": "<f4"} | {
    f"{prefix}int{bits}_t": f"<{letter}{bits // 8}"
    for prefix, letter in (("", "i"), ("u", "u"))
    for bits in (8, 16, 32, 64)
}
_OF = {"d": "<f8", "f": "<f4", "i": "<i4"}
PLACE = np.dtype([("offset", "<u4"), ("length", "<u4")])


@dataclass(frozen=True)
class Variable:
    """A field of variable size: its place among them, and what it holds, None for text."""

    place: int
    element: np.dtype[Any] | None


@dataclass(frozen=True)
class DataLayout:
    """The fields of one kind of record.

    fixed: structured dtype; its names are the fields'. booleans: which of them are. variable: the
    fields of variable size by name.
    """

    fixed: np.dtype[Any]
    booleans: frozenset[str]
    variable: Mapping[str, Variable]

    @classmethod
    def parse(cls, text: str) -> DataLayout:
        """Read a layout's JSON. Raises ValueError for what it cannot be."""
        pieces = json.loads(text)["data_layout"]
        fixed: dict[str, tuple[Any, int]] = {}
        variable: dict[str, Variable] = {}
        booleans = set()
        end = 0
        for piece in pieces:
            match = _TYPE.fullmatch(piece["type"])
            kind, element = (match["piece"], match["element"]) if match else ("", "")
            if kind in ("Value", "Array"):
                base = _element(element)
                counted = (base, (int(piece["size"]),)) if kind == "Array" else base
                field = np.dtype(counted)
                offset = int(piece.get("offset", end))
                end = offset + field.itemsize
                fixed[piece["name"]] = (field, offset)
                booleans |= {piece["name"]} if element == "Bool" else set()
            elif kind in ("Vector", "String", "StringMap"):
                vector = kind == "Vector" and element != "string"
                held = _element(element) if vector else None
                variable[piece["name"]] = Variable(int(piece.get("index", len(variable))), held)
            else:
                raise ValueError(f"a field is a {piece['type']}, which is not known")
        formats = [field for field, _ in fixed.values()]
        offsets = [offset for _, offset in fixed.values()]
        dtype = np.dtype({"names": list(fixed), "formats": formats, "offsets": offsets})
        return cls(dtype, frozenset(booleans), variable)

    @property
    def head_size(self) -> int:
        """Bytes of the fixed fields and the places of the others."""
        return self.fixed.itemsize + PLACE.itemsize * len(self.variable)

    def size(self, payload: bytes) -> int:
        """Bytes of the whole block at the start of a payload."""
        places = self._places(payload)
        ends = places["offset"].astype(np.int64) + places["length"]
        return self.head_size + int(ends.max(initial=0))

    def sizes(self, heads: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The same for many payloads, of which the first `head_size` bytes are given: [N]."""
        raw = np.ascontiguousarray(heads[:, self.fixed.itemsize : self.head_size])
        places = raw.view(PLACE) if raw.size else np.zeros((len(heads), 1), PLACE)
        ends = places["offset"].astype(np.int64) + places["length"]
        sizes: NDArray[np.int64] = self.head_size + ends.max(axis=1)
        return sizes

    def rows(self, heads: NDArray[np.uint8]) -> NDArray[np.void]:
        """The fixed fields of many payloads [N, at least fixed.itemsize]: structured [N]."""
        head = np.ascontiguousarray(heads[:, : self.fixed.itemsize])
        if not self.fixed.itemsize:
            return np.zeros(len(heads), self.fixed)
        rows: NDArray[np.void] = head.view(self.fixed)[:, 0]
        return rows

    def values(self, payload: bytes) -> dict[str, Any]:
        """All fields of one payload: numbers, arrays and texts."""
        fixed = np.frombuffer(payload, self.fixed, 1)[0] if self.fixed.itemsize else None
        values = {} if fixed is None else {n: fixed[n] for n in self.fixed.names or ()}
        return values | {name: self.value(payload, name) for name in self.variable}

    def value(self, payload: bytes, name: str) -> Any:
        """A field of variable size: text, or an array [n, …]."""
        field = self.variable[name]
        place = self._places(payload)[field.place]
        start = self.head_size + int(place["offset"])
        data = payload[start : start + int(place["length"])]
        if field.element is None:
            return data.decode("utf-8", "replace")
        whole = len(data) // field.element.itemsize * field.element.itemsize
        return np.frombuffer(data[:whole], field.element)

    def _places(self, payload: bytes) -> NDArray[np.void]:
        return np.frombuffer(payload, PLACE, len(self.variable), self.fixed.itemsize)


def _element(name: str) -> np.dtype[Any]:
    if name in _SCALARS:
        return np.dtype(_SCALARS[name])
    point, matrix = _POINT.fullmatch(name), _MATRIX.fullmatch(name)
    if point:
        return np.dtype((_OF[point["of"]], (int(point["n"]),)))
    if matrix:
        return np.dtype((_OF[matrix["of"]], (int(matrix["n"]),) * 2))
    raise ValueError(f"a field holds {name}, which is not known")
