"""Delimited text: find the dialect, keep every cell as text, and type a column when asked.

Known dialects: comma, semicolon, tab and runs of spaces; decimal commas where the comma does not
separate; LF, CRLF and CR; UTF-8 with or without a byte order mark, UTF-16, Windows-1252; blank
lines and `#` comments above the data, the last of which may be the header (EuRoC, TUM); quoted
cells (RFC 4180). Cells stay text until asked for, so that no time passes through a float.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

MISSING = pa.array(["", "nan", "-nan", "+nan", "null", "none", "na", "n/a", "#n/a"])
"""What stands for no value, in lower case."""

_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEAD_BYTES = 1 << 16
_NUMBER = r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?"
_VALUE = re.compile(rf"{_NUMBER}|[+-]?(?:nan|inf)|true|false|\d{{4}}-\d\d-\d\d.*", re.I)
_DECIMAL_COMMA = re.compile(rb"(?:^|[;\t\s])[+-]?\d+,\d+(?:$|[;\t\s])", re.M)
_SPACES_ONLY = re.compile(rb"(?:^|(?<=[\r\n]))[ \t]+(?=[\r\n]|\Z)")


@dataclass(frozen=True)
class Dialect:
    """How a delimited text is written.

    delimiter: one character; " " stands for runs of blanks. header: the names, None where the
    text has none. start: byte at which the rows begin. width: cells of a row.
    """

    delimiter: str
    header: tuple[str, ...] | None
    start: int
    width: int

    @classmethod
    def of(cls, data: bytes) -> Dialect | None:
        """Read the dialect off the first lines of UTF-8 text; None if there is no line."""
        comment, comment_end, position = None, 0, 0
        for raw in data[:_HEAD_BYTES].splitlines(keepends=True):
            line = raw.decode(errors="replace").lstrip("\ufeff").strip()
            start, position = position, position + len(raw)
            if line.startswith("#"):
                comment, comment_end = line.lstrip("#").strip(), position
            elif line:
                return cls._of_first_line(line, comment, start, position)
        if not comment:
            return None
        delimiter = _delimiter(comment)
        names = _cells(comment, delimiter)
        return cls(delimiter, tuple(names), comment_end, len(names))

    @classmethod
    def _of_first_line(cls, line: str, comment: str | None, start: int, end: int) -> Dialect:
        delimiter = _delimiter(line)
        cells = _cells(line, delimiter)
        if not any(_VALUE.fullmatch(cell) for cell in cells):
            return cls(delimiter, tuple(cells), end, len(cells))
        names = _cells(comment, delimiter) if comment else []
        header = tuple(names) if len(names) == len(cells) else None
        return cls(delimiter, header, start, len(cells))


def _delimiter(line: str) -> str:
    bare = re.sub(r'"[^"]*"', "", line)
    return next((mark for mark in "\t;, " if mark in bare), ",")


def _cells(line: str, delimiter: str) -> list[str]:
    cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    return [cell.strip() for cell in cells if cell or delimiter != " "]


class DelimitedText:
    """The rows of a delimited text, every cell as text until it is asked for.

    header: names as written, None if the text has none. width: cells of a row. rows: how many.
    Raises ValueError for text without a line, and for rows of another length, naming the line.
    """

    def __init__(self, data: bytes) -> None:
        data = _as_utf8(data)
        dialect = Dialect.of(data)
        if dialect is None:
            raise ValueError("it is empty")
        self.header, self.width = dialect.header, dialect.width
        body = data[dialect.start :]
        self._decimal_comma = dialect.delimiter != "," and bool(_DECIMAL_COMMA.search(body))
        self._table = _parse(data, body, dialect)
        self.rows: int = self._table.num_rows

    def text(self, column: int) -> pa.ChunkedArray:
        """One column as trimmed text, decimal points as points, null where nothing stands."""
        cells = pc.utf8_trim_whitespace(self._table.column(column))
        missing = pc.is_in(pc.utf8_lower(cells), value_set=MISSING)
        cells = pc.if_else(missing, pa.scalar(None, pa.string()), cells)
        return pc.replace_substring(cells, ",", ".") if self._is_number_with_comma(cells) else cells

    def typed(self, column: int) -> pa.ChunkedArray:
        """One column as int64, uint64, float64 or bool, whichever holds every cell, else text."""
        cells = self.text(column)
        if cells.null_count == len(cells):
            return pc.cast(cells, pa.float64())
        for kind in (pa.int64(), pa.uint64(), pa.float64(), pa.bool_()):
            try:
                return pc.cast(pc.utf8_ltrim(cells, "+"), kind)
            except pa.ArrowInvalid:
                continue
        return cells

    def _is_number_with_comma(self, cells: pa.ChunkedArray) -> bool:
        if not self._decimal_comma:
            return False
        return pc.all(pc.match_substring_regex(cells, f"^{_NUMBER}$")).as_py() is True


def _as_utf8(data: bytes) -> bytes:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            data = data[len(mark) :]
            return data if encoding == "utf-8" else data.decode(encoding, "replace").encode()
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace").encode()
    return data


def _parse(data: bytes, body: bytes, dialect: Dialect) -> pa.Table:
    if dialect.delimiter == " ":
        body = re.sub(rb"(?m)[ \t]+(?=\r|$)|^[ \t]+", b"", re.sub(rb"[ \t]+", b" ", body))
    names = [str(index) for index in range(dialect.width)]
    if not body.strip():
        return pa.table({name: pa.array([], pa.string()) for name in names})
    attempts: Sequence[Callable[[], bytes]] = (
        lambda: body,
        lambda: _SPACES_ONLY.sub(b"", body),
    )
    for attempt in attempts:
        try:
            return _read_cells(attempt(), dialect.delimiter, names)
        except pa.ArrowInvalid as error:
            problem = error
    raise ValueError(_ragged_line(data, dialect) or str(problem)) from problem


def _read_cells(body: bytes, delimiter: str, names: list[str]) -> pa.Table:
    return pacsv.read_csv(
        pa.BufferReader(body),
        pacsv.ReadOptions(column_names=names, use_threads=False),
        pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in body),
        pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )


def _ragged_line(data: bytes, dialect: Dialect) -> str | None:
    """Say which line of the file has another number of cells."""
    above = len(data[: dialect.start].splitlines())
    body = io.StringIO(data[dialect.start :].decode(errors="replace"), newline="")
    lines = csv.reader(body, delimiter=dialect.delimiter)
    try:
        for row in lines:
            cells = [cell for cell in row if cell or dialect.delimiter != " "]
            if any(cell.strip() for cell in cells) and len(cells) != dialect.width:
                line = above + lines.line_num
                return f"line {line} has {len(cells)} cells where {dialect.width} are expected"
    except csv.Error as error:
        return f"line {above + lines.line_num}: {error}"
    return None
