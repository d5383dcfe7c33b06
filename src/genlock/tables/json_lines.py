"""JSON lines (jsonlines.org): one object a row, flattened into columns.

    {"t_ns": 1, "position": {"x": 0.5}, "q_wxyz": [1, 0, 0, 0], "joints": [0.1, 0.2]}
    t_ns   position.x   q_w q_x q_y q_z   joints.0 joints.1

What lies inside is named by its path. Items of a list are named by their place, or by the axes that
the list's name ends in. A row without a key holds no value there. Real numbers stay text until they
are asked for, so that no time passes through a float.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from genlock.location import Location
from genlock.tables.arrays import dtype_name, to_array

_AXES = re.compile(r"(?P<stem>.+)[._](?P<axes>[xyzw]{2,4})")
_MOST_EMPTY = 64
"""How many empty cells there may be for each that holds something, beyond a million."""


class _Real(str):
    """A number that is no int64, as written: also NaN and infinities, which Python writes."""

    __slots__ = ()


class JsonTable:
    """A file of JSON lines, parsed once; of each column the cells that hold something are kept.

    Raises ValueError naming the line that is no JSON object, and for a table that is nearly empty:
    every row has keys of its own.
    """

    format = "jsonl"

    def __init__(self, location: Location, names: Sequence[str] = ()) -> None:
        cells: dict[str, dict[int, Any]] = {}
        row = 0
        for number, line in enumerate(location.read().splitlines(), 1):
            if not line.strip():
                continue
            for name, value in _flat(_object(number, line)):
                cells.setdefault(name, {})[row] = value
            row += 1
        held = sum(map(len, cells.values()))
        if row * len(cells) > _MOST_EMPTY * held + 10**6:
            raise ValueError(f"{row} rows hold {len(cells)} keys, nearly all of them once")
        self.rows = row
        self.headers = tuple(cells)
        self._cells = list(cells.values())

    def stamps(self, column: int) -> pa.ChunkedArray:
        cells = self._dense(column)
        if any(isinstance(cell, str) for cell in cells):
            cells = [None if cell is None else str(cell) for cell in cells]
        return pa.chunked_array([pa.array(cells)])

    def values(self, columns: Sequence[int]) -> list[NDArray[Any]]:
        return [to_array(self._typed(column)) for column in columns]

    def holds(self, column: int) -> tuple[str, int]:
        return dtype_name(self._typed(column).type), 1

    def _dense(self, column: int) -> list[Any]:
        cells = self._cells[column]
        return [cells.get(row) for row in range(self.rows)]

    def _typed(self, column: int) -> pa.ChunkedArray:
        cells, kinds = self._dense(column), {type(cell) for cell in self._cells[column].values()}
        if kinds <= {int, _Real} and _Real in kinds:
            cells = [None if cell is None else float(cell) for cell in cells]
        elif len(kinds) > 1:
            cells = [None if cell is None else str(cell) for cell in cells]
        return pa.chunked_array([pa.array(cells)])


def _object(number: int, line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line, parse_float=_Real, parse_int=_integer, parse_constant=_Real)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"line {number} holds no JSON object")
    return found


def _integer(text: str) -> int | _Real:
    number = _Real(text) if len(text) > 20 else int(text)
    return number if isinstance(number, str) or abs(number) < 2**63 else _Real(text)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number, text and truth value inside, and what it is called."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        axes = _AXES.fullmatch(path)
        if axes is not None and len(axes["axes"]) == len(value):
            names = [f"{axes['stem']}_{axis}" for axis in axes["axes"]]
        else:
            names = [f"{path}.{place}" for place in range(len(value))]
        for name, inner in zip(names, value, strict=True):
            yield from _flat(inner, name)
    elif value is not None:
        yield path, value
