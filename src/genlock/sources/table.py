"""A lone table as a recording: CSV, Parquet or .npy; one stream, named after the file.

What a file cannot say about itself (a unit, an order, which columns) is declared in
`OpenOptions.streams`: one stream for each name there, so that one table can serve several. A
stream whose times cannot be read is listed with a `problem` that says what to add.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from genlock.clock import ClockMap
from genlock.declaration import StreamDeclaration
from genlock.errors import ClosedError, StreamError, error_context
from genlock.interfaces import CodecSpec, OpenChild, OpenOptions
from genlock.location import Location
from genlock.stream import Stream
from genlock.tables.files import looks_like_table, open_table
from genlock.tables.series import Arrays, Series


def claims(location: Location, head: bytes) -> bool:
    """Whether this is a table: by its first bytes, then by its suffix."""
    return looks_like_table(location, head)


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> TableSource:
    """Open a table. Raises OpenError for a damaged file, LayoutError for a wrong declaration."""
    unnamed = location.data is not None and not location.suffix
    stream = "table" if unnamed else location.stem
    series = {}
    for name, values in (options.streams or {stream: {}}).items():
        declaration = StreamDeclaration.of(name, values, location.uri)
        with error_context(location.uri, name):
            table = open_table(location, declaration.columns)
            series[name] = Series(location.uri, name, table, declaration, options.unit)
    return TableSource(location, stream, series)


class TableSource:
    """The streams of one table, on a clock of their own. Thread-safe."""

    def __init__(self, location: Location, clock: str, series: Mapping[str, Series]) -> None:
        self.location = location
        self.clock = clock
        self.clocks: Mapping[str, ClockMap] = {self.clock: ClockMap()}
        self.streams: Mapping[str, Stream] = {
            name: replace(one.stream, info=replace(one.stream.info, clock=clock))
            for name, one in series.items()
        }
        self._series = dict(series)

    def units(self, stream: str) -> TableUnits:
        """The columns of a stream. Raises StreamError for a name that is not there."""
        if stream not in self.streams:
            raise StreamError(f"{self.location.uri} has no stream {stream!r}")
        if not self._series:
            raise ClosedError(f"{self.location.uri} is closed")
        return TableUnits(self._series[stream])

    def close(self) -> None:
        self._series.clear()


class TableUnits:
    """The one unit of a table's stream: all its columns, rows as in the timeline. Thread-safe."""

    def __init__(self, series: Series) -> None:
        self._series = series
        self.spec = CodecSpec("columns", series.stream.info.codec)

    def unit(self, index: int) -> Arrays:
        """Read-only arrays [N] or [N, k] by column. Raises the stream's problem, DecodeError."""
        return self._series.arrays()

    def units(self, first: int) -> Iterator[tuple[int, Arrays]]:
        yield 0, self.unit(0)

    def close(self) -> None:
        """There is nothing to release: the source holds the columns."""
