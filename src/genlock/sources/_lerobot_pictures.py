"""Pictures in the cells of a Parquet file, as LeRobot stores features of dtype "image"."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from genlock._nanoseconds import Nanoseconds
from genlock._pictures import read_header
from genlock.clock import ClockMap
from genlock.errors import DecodeError, OpenError
from genlock.interfaces import CodecSpec
from genlock.location import Location
from genlock.sources._picture_info import picture_info
from genlock.stream import Stream
from genlock.timeline import Timeline, settle


class CellPictures:
    """A source of one stream: the pictures of one column, in some rows of the file. Thread-safe.

    rows: int64 [N] of the file. raw_ns: int64 [N], settled here. Only the first picture's header is
    read.
    Raises OpenError for a file that cannot be read.
    """

    def __init__(
        self, location: Location, column: str, rows: NDArray[np.int64], raw_ns: Nanoseconds
    ) -> None:
        self.location = location
        self.clock = location.stem
        self.clocks: Mapping[str, ClockMap] = {self.clock: ClockMap()}
        self._column = column
        kept, report = settle(raw_ns)
        self._rows = rows[kept]
        units = self.units(column)
        try:
            header = read_header(io.BytesIO(units.unit(0)))
        except DecodeError as error:
            raise OpenError(f"{location.uri}: {column}: {error.message}") from error
        finally:
            units.close()
        info, notes = picture_info((column,), {}, header)
        info = replace(info, clock=self.clock, report=report.noting(*notes))
        stream = Stream(column, info, Timeline(raw_ns[kept]))
        self.streams: Mapping[str, Stream] = {column: stream}

    def units(self, stream: str) -> CellUnits:
        """The cells of the column."""
        return CellUnits(self.location, self._column, self._rows)

    def close(self) -> None:
        """Nothing is open."""


class CellUnits:
    """A cursor over the cells, which keeps one row group in memory. One thread at a time."""

    spec = CodecSpec("image")

    def __init__(self, location: Location, column: str, rows: NDArray[np.int64]) -> None:
        self._location = location
        self._column = column
        self._rows = rows
        self._group: tuple[int, pa.ChunkedArray | None] = (-1, None)
        self._opened = location.open()
        try:
            self._file = pq.ParquetFile(self._opened)
        except (pa.ArrowException, OSError) as error:
            self._opened.close()
            raise OpenError(f"cannot read {location.uri}: {error}") from error
        metadata = self._file.metadata
        sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        self._ends = np.cumsum(sizes)

    def unit(self, index: int) -> bytes:
        """One picture's file. Raises DecodeError for a cell without one."""
        row = int(self._rows[index])
        group = int(np.searchsorted(self._ends, row, "right"))
        if self._group[0] != group:
            self._group = (group, self._file.read_row_group(group, [self._column]).column(0))
        cells = self._group[1]
        assert cells is not None
        cell = cells[row - int(self._ends[group]) + len(cells)].as_py() or {}
        data: bytes | None = cell.get("bytes")
        if data is None:
            where = f"; it names {cell['path']!r} instead" if cell.get("path") else ""
            raise DecodeError(f"{self._location.uri}: {self._column} of row {row} is empty{where}")
        return data

    def units(self, first: int) -> Iterator[tuple[int, bytes]]:
        return ((index, self.unit(index)) for index in range(first, len(self._rows)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._opened.close()
        self._group = (-1, None)
