"""What each kind of VRS stream becomes: a `Stream`, and a way to open cursors over its units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import Nanoseconds
from genlock._vrs.stream import VrsStream
from genlock.clock import ClockMap
from genlock.errors import ClosedError, StreamError
from genlock.interfaces import Units
from genlock.location import Location
from genlock.stream import Stream
from genlock.timeline import Report, settle

RATES = ("nominal_rate", "nominal_rate_hz", "sample_rate", "sample_rate_hz")


@dataclass(frozen=True)
class Track:
    """One stream of a source. units: opens a cursor with file handles of its own."""

    stream: Stream
    units: Callable[[], Units]


class TrackSource:
    """A source made of tracks. Thread-safe; cursors have file handles of their own.

    clocks: maps to the recording's clock, by the name of the clock that they are from.
    """

    def __init__(
        self,
        location: Location,
        clock: str,
        tracks: Mapping[str, Track],
        clocks: Mapping[str, ClockMap],
    ) -> None:
        self.location = location
        self.clock = clock
        self.clocks: Mapping[str, ClockMap] = {clock: ClockMap(), **clocks}
        self.streams: Mapping[str, Stream] = {name: t.stream for name, t in tracks.items()}
        self._tracks = dict(tracks)

    def units(self, stream: str) -> Units:
        """A new cursor over a stream's units.

        Raises StreamError for a name that is not there, the stream's own problem, ClosedError, and
        OpenError if its file is gone.
        """
        if stream not in self.streams:
            raise StreamError(f"{self.location.uri} has no stream {stream!r}")
        if not self._tracks:
            raise ClosedError(f"{self.location.uri} is closed")
        problem = self.streams[stream].problem
        if problem is not None:
            raise problem
        return self._tracks[stream].units()

    def close(self) -> None:
        """Let go of the tracks; open cursors go on."""
        self._tracks.clear()


class Times(NamedTuple):
    """When a stream's records are. ns: int64 [N] of those kept, sorted. kept: which, in order."""

    ns: Nanoseconds
    kept: NDArray[np.intp]
    report: Report


def settled(stream: VrsStream, rows: NDArray[np.void], field: str) -> Times:
    """Settle the times that a field of the records states, else the index's.

    rows: the fixed fields of all records.
    """
    raw, notes = stream.record_times_ns, stream.notes
    if field in (rows.dtype.names or ()) and rows[field].dtype == np.int64:
        raw = rows[field].astype(np.int64)
    elif len(stream.records):
        notes += ("times are those of the VRS records, which were seconds in float64",)
    kept, report = settle(raw)
    return Times(raw[kept], kept, report.noting(described(stream), *notes))


def described(stream: VrsStream) -> str:
    """Which stream of the file this is."""
    tags = stream.tags
    what = ", ".join(filter(None, (tags.device, tags.flavor)))
    return f"VRS stream {stream.id} ({what})" if what else f"VRS stream {stream.id}"


def nominal_rate(configuration: Mapping[str, Any]) -> float | None:
    """Hz, as the device was configured; None where it does not say."""
    rates = (float(configuration[name]) for name in RATES if name in configuration)
    return next((rate for rate in rates if np.isfinite(rate) and rate > 0), None)


class RecordUnits:
    """Base of cursors over a stream's records. One thread at a time; close it explicitly."""

    def __init__(self, stream: VrsStream) -> None:
        self._stream = stream
        self._chunks = stream.file.open()

    def close(self) -> None:
        self._chunks.close()
