"""Open a file that holds one table: delimited text, JSON lines, Parquet, or a NumPy array."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from genlock.errors import GenlockError, LayoutError, OpenError
from genlock.location import Location
from genlock.tables.arrays import dtype_name, is_list, to_array
from genlock.tables.json_lines import JsonTable
from genlock.tables.names import interval_columns, read_columns, time_column
from genlock.tables.text import DelimitedText, Dialect

PARQUET, NUMPY = b"PAR1", b"\x93NUMPY"
TEXT_SUFFIXES = (".csv", ".tsv")
JSON_SUFFIXES = (".jsonl", ".ndjson")


class Table(Protocol):
    """A table in a file. Thread-safe.

    format: "csv", "jsonl", "parquet" or "npy". headers: the columns' names as written. rows: how
    many.
    """

    format: str
    headers: tuple[str, ...]
    rows: int

    def stamps(self, column: int) -> pa.ChunkedArray:
        """A column of times as the file holds it: text stays text."""

    def values(self, columns: Sequence[int]) -> list[NDArray[Any]]:
        """Columns as [N] or [N, k]; see `arrays.to_array`. Raises ValueError naming the column."""

    def holds(self, column: int) -> tuple[str, int]:
        """Dtype of a column's values ("str", or "" for what it cannot give) and how many a row."""


def looks_like_table(location: Location, head: bytes) -> bool:
    """Whether `open_table` reads such a file: by its first bytes, then by its suffix."""
    if head.startswith((PARQUET, NUMPY)) or location.suffix in (
        *TEXT_SUFFIXES,
        *JSON_SUFFIXES,
    ):
        return True
    return location.suffix in (".txt", "") and b"\0" not in head and _is_tabular(head)


def _is_tabular(head: bytes) -> bool:
    dialect = Dialect.of(head)
    if dialect is None or dialect.header is None:
        return dialect is not None and dialect.width > 1
    columns = read_columns(dialect.header)
    return bool(time_column(columns) or interval_columns(columns))


def open_table(location: Location, names: Sequence[str] = ()) -> Table:
    """Open a table.

    names: the columns of a file that does not name them itself. Raises OpenError for a damaged
    file, LayoutError if it needs names and does not get as many as it has columns.
    """
    head = location.head(len(NUMPY))
    kind: Callable[[Location, Sequence[str]], Table] = TextTable
    if head.startswith(PARQUET):
        kind = ParquetTable
    elif head.startswith(NUMPY):
        kind = NumpyTable
    elif location.suffix in JSON_SUFFIXES or head.startswith(b"{"):
        kind = JsonTable
    try:
        return kind(location, names)
    except (GenlockError, MemoryError):
        raise
    except Exception as error:  # NumPy's header parser alone raises half a dozen kinds
        raise OpenError(f"cannot read {location.uri}: {error}", recording=location.uri) from error


def _named(location: Location, width: int, names: Sequence[str]) -> tuple[str, ...]:
    if len(names) == width:
        return tuple(names)
    given = f", and columns names {len(names)}" if names else ""
    raise LayoutError(
        f"{location.uri} has {width} columns without names{given}: name every one of them in "
        'order, the times too, such as columns = ["t", "x", "y"]',
        recording=location.uri,
    )


class TextTable:
    """A delimited text file, parsed once and held as text."""

    format = "csv"

    def __init__(self, location: Location, names: Sequence[str] = ()) -> None:
        self._text = DelimitedText(location.read())
        self.headers = self._text.header or _named(location, self._text.width, names)
        self.rows = self._text.rows
        self._typed: dict[int, pa.ChunkedArray] = {}

    def stamps(self, column: int) -> pa.ChunkedArray:
        return self._text.text(column)

    def values(self, columns: Sequence[int]) -> list[NDArray[Any]]:
        return [to_array(self._column(column)) for column in columns]

    def holds(self, column: int) -> tuple[str, int]:
        return dtype_name(self._column(column).type), 1

    def _column(self, column: int) -> pa.ChunkedArray:
        if column not in self._typed:
            self._typed[column] = self._text.typed(column)
        return self._typed[column]


class ParquetTable:
    """A Parquet file: its schema at once, its columns when asked for."""

    format = "parquet"

    def __init__(self, location: Location, names: Sequence[str] = ()) -> None:
        self._location = location
        with location.open() as file:
            self._metadata = pq.read_metadata(file)
        self._schema = self._metadata.schema.to_arrow_schema()
        self.headers = tuple(self._schema.names)
        self.rows: int = self._metadata.num_rows

    def stamps(self, column: int) -> pa.ChunkedArray:
        return self._read([column]).column(0)

    def values(self, columns: Sequence[int]) -> list[NDArray[Any]]:
        table = self._read(columns)
        return [_to_array(name, table[name]) for name in table.column_names]

    def holds(self, column: int) -> tuple[str, int]:
        kind = self._schema.types[column]
        return dtype_name(kind), self._width(column) if is_list(kind) else 1

    def _width(self, column: int) -> int:
        """Length of the first list; `values` finds out whether the others are as long."""
        with self._location.open() as file:
            batches = self._opened(file).iter_batches(1, columns=[self.headers[column]])
            first = next((batch.column(0)[0].as_py() for batch in batches), None)
            return len(first or ())

    def _read(self, columns: Sequence[int]) -> pa.Table:
        names = [self.headers[column] for column in columns]
        with self._location.open() as file:
            return self._opened(file).read(names, use_threads=False).select(names)

    def _opened(self, file: BinaryIO) -> pq.ParquetFile:
        return pq.ParquetFile(file, metadata=self._metadata)


class NumpyTable:
    """A .npy file: a structured array, [N, D] or [N], memory-mapped where it is a local file."""

    format = "npy"

    def __init__(self, location: Location, names: Sequence[str] = ()) -> None:
        array = _map_array(location)
        if array.dtype.hasobject or array.ndim not in (1, 2 - bool(array.dtype.names)):
            raise ValueError(f"an array of {array.dtype} with shape {array.shape} is no table")
        self._array = array if array.ndim == 2 or array.dtype.names else array[:, None]
        self.rows = len(array)
        self.headers = array.dtype.names or _named(location, self._array.shape[1], names)

    @cached_property
    def _columns(self) -> list[NDArray[Any]]:
        names = self._array.dtype.names
        return [self._array[name] for name in names] if names else list(self._array.T)

    def stamps(self, column: int) -> pa.ChunkedArray:
        return pa.chunked_array([pa.array(_native(self._columns[column]))])

    def values(self, columns: Sequence[int]) -> list[NDArray[Any]]:
        return [_native(self._columns[column]) for column in columns]

    def holds(self, column: int) -> tuple[str, int]:
        values = _native(self._columns[column][:0])
        names = {"O": "str"} | dict.fromkeys("MmVc", "")
        return names.get(values.dtype.kind, str(values.dtype)), math.prod(values.shape[1:])


def _native(values: NDArray[Any]) -> NDArray[Any]:
    """The same values as this machine and the other tables hold them; a view if they are."""
    if values.dtype.kind in "US":
        return values.astype(str).astype(object)
    if values.dtype.kind == "i" or (values.dtype.kind == "u" and values.dtype.itemsize < 8):
        values = values.astype(np.int64, copy=False)
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    return values if values.ndim == 1 else values.reshape(len(values), math.prod(values.shape[1:]))


def _map_array(location: Location) -> NDArray[Any]:
    if location.path is not None:
        mapped: NDArray[Any] = np.load(location.path, mmap_mode="r", allow_pickle=False)
        return mapped
    data = location.read()
    file = io.BytesIO(data)
    older = np.lib.format.read_magic(file) == (1, 0)
    numpy_format = np.lib.format
    read = numpy_format.read_array_header_1_0 if older else numpy_format.read_array_header_2_0
    shape, by_column, dtype = read(file)
    # the header is not trusted with an allocation: frombuffer refuses what the bytes cannot hold
    flat: NDArray[Any] = np.frombuffer(data, dtype, math.prod(shape), file.tell())
    return flat.reshape(shape, order="F" if by_column else "C")


def _to_array(name: str, column: pa.ChunkedArray) -> NDArray[Any]:
    try:
        return to_array(column)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from error
