"""Streams whose columns are in memory: tables that a format reads itself, such as binary logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS, Nanoseconds
from genlock.clock import ClockMap
from genlock.errors import ClosedError, StreamError
from genlock.interfaces import CodecSpec
from genlock.location import Location
from genlock.stream import Modality, Stream, StreamInfo
from genlock.timeline import Timeline, settle

Arrays = Mapping[str, NDArray[Any]]


class ArrayTable(NamedTuple):
    """A stream, and its columns: [N] or [N, k], read-only, rows as in its timeline."""

    stream: Stream
    columns: Arrays


def array_table(
    name: str,
    modality: Modality,
    raw_ns: Nanoseconds,
    columns: Arrays,
    durations_ns: Nanoseconds | None = None,
    notes: tuple[str, ...] = (),
    **stated: Any,
) -> ArrayTable:
    """Make a stream of columns whose rows are at raw_ns, in any order; they are settled here.

    columns: [M] or [M, k] by name; a pose's are tx … qw, the one of labels is "value".
    durations_ns: int64 [M], of labels. notes: for the report. stated: fields of `StreamInfo` that
    the format knows.
    """
    kept, report = settle(raw_ns)
    arrays = {key: np.ascontiguousarray(np.asarray(a)[kept]) for key, a in columns.items()}
    for array in arrays.values():
        array.flags.writeable = False
    timeline = Timeline(
        np.asarray(raw_ns, np.int64)[kept], None if durations_ns is None else durations_ns[kept]
    )
    dtypes = {"str" if a.dtype == object else str(a.dtype) for a in arrays.values()}
    period = timeline.period_ns
    known = {
        "shape": () if modality == "labels" else (sum(map(_width, arrays.values())),),
        "dtype": dtypes.pop() if len(dtypes) == 1 else "float64",
        "rate": SECOND_NS / period if period and modality != "labels" else None,
        "columns": tuple(arrays),
        "report": report.noting(*notes),
    }
    return ArrayTable(
        Stream(name, StreamInfo(modality, "columns", **known | stated), timeline),
        MappingProxyType(arrays),
    )


def _width(array: NDArray[Any]) -> int:
    return int(np.prod(array.shape[1:], dtype=np.int64))


class ArraySource:
    """Tables in memory, all on the source's clock. Thread-safe."""

    def __init__(self, location: Location, clock: str, tables: Mapping[str, ArrayTable]) -> None:
        self.location = location
        self.clock = clock
        self.clocks: Mapping[str, ClockMap] = {clock: ClockMap()}
        self.streams: Mapping[str, Stream] = {
            name: replace(stream, info=replace(stream.info, clock=clock))
            for name, (stream, _) in tables.items()
        }
        self._columns = {name: table.columns for name, table in tables.items()}

    def units(self, stream: str) -> ArrayUnits:
        """The columns of a stream. Raises StreamError for a name that is not there."""
        if stream not in self.streams:
            raise StreamError(f"{self.location.uri} has no stream {stream!r}", stream=stream)
        if stream not in self._columns:
            raise ClosedError(f"{self.location.uri} is closed", stream=stream)
        return ArrayUnits(self._columns[stream])

    def close(self) -> None:
        """Let go of the columns."""
        self._columns.clear()


class ArrayUnits:
    """The one unit of a stream of columns: all of them. Thread-safe."""

    spec = CodecSpec("columns")

    def __init__(self, columns: Arrays) -> None:
        self._columns = columns

    def unit(self, index: int) -> Arrays:
        return self._columns

    def units(self, first: int) -> Iterator[tuple[int, Arrays]]:
        yield 0, self._columns

    def close(self) -> None:
        """There is nothing to release."""
