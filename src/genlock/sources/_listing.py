"""A listing of files and their times: a small text table, one line per file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from genlock._pictures import SUFFIXES
from genlock.errors import LayoutError

Cells = list[str]


class Listing(NamedTuple):
    """numbers: the times as written. files: the file of each, or None if the table names none.

    unit: as in the name of the column of times, or None.
    """

    numbers: list[str]
    files: list[str] | None
    unit: str | None


def read_listing(text: str, names: Iterable[str], column: str | int | None = None) -> Listing:
    """Read a table of comma, semicolon, tab or blank separated cells.

    The column of files is the one with most cells that are one of `names`, by whole path or last
    part, else one of picture names. The column of times is `column`, by name or position, else
    the first other one. Column names come from a first line without numbers, or from the last
    comment (#). Files that are none of `names` stay as written.
    Raises LayoutError: a sentence without its subject.
    """
    header, lines = _table(text)
    known = {_base(name): name for name in names} | {name: name for name in names}
    file_column = _file_column(lines, known)
    others = (c for c in range(len(lines[0])) if c != file_column)
    time_column = _time_column(next(others, None) if column is None else column, header, lines)
    files = None
    if file_column is not None:
        cells = [line[file_column] for line in lines]
        files = [known.get(cell) or known.get(_base(cell), cell) for cell in cells]
    unit = unit_in(header[time_column]) if header else None
    return Listing([line[time_column] for line in lines], files, unit)


def unit_in(title: str) -> str | None:
    """The unit at the end of a column's name, as in `t_ns`, `timestamp [ns]` or `time(us)`."""
    found = re.search(r"(?:_|[\[(])(ns|us|ms|s)[\])]?$", title.strip())
    return found[1] if found else None


def _table(text: str) -> tuple[Cells, list[Cells]]:
    """The names of the columns, [] if there are none, and the cells of each line."""
    rows = [row.strip() for row in text.splitlines() if row.strip()]
    comments = [row.lstrip("# ") for row in rows if row.startswith("#")]
    rows = [row for row in rows if not row.startswith("#")]
    separator = next((mark for mark in ",;\t" if rows and mark in rows[0]), None)
    lines = [_cells(row, separator) for row in rows]
    header = _cells(comments[-1], separator) if comments else []
    if lines and not any(re.match(r"-?\d", cell) for cell in lines[0]):
        header = lines.pop(0)
    if not lines:
        raise LayoutError("holds no times")
    width = len(lines[0])
    for line in lines:
        if len(line) != width:
            raise LayoutError(f"has a line of {len(line)} cells where others have {width}: {line}")
    return (header if len(header) == width else []), lines


def _cells(row: str, separator: str | None) -> Cells:
    return [cell.strip() for cell in row.split(separator)]


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _file_column(lines: Sequence[Cells], known: Mapping[str, str]) -> int | None:
    def hits(column: int) -> int:
        cells = [line[column] for line in lines]
        return sum(cell in known or _base(cell) in known for cell in cells)

    columns = range(len(lines[0]))
    best = max(columns, key=hits)
    if hits(best):
        return best
    suffixes = [f".{cell.rpartition('.')[2].lower()}" for cell in lines[0]]
    return next((c for c in columns if suffixes[c] in SUFFIXES), None)


def _time_column(column: str | int | None, header: Cells, lines: Sequence[Cells]) -> int:
    if isinstance(column, str) and column in header:
        return header.index(column)
    if isinstance(column, int) and 0 <= column < len(lines[0]):
        return column
    raise LayoutError(f"has no column {column!r} of times: its columns are {header or lines[0]}")
