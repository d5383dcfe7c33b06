"""`Opened`: a source whose streams are on the recording's clock, and makes decoders of them.

It is what the loader's workers and the `Recording` façade both read from.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from genlock._checked import closest, toml_key
from genlock._extents import Extent, common_span, placed, timed
from genlock._field import Field
from genlock._recent import Budget
from genlock.clock import ClockMap
from genlock.decoders import make_decoder
from genlock.decoders.table import valid_rows
from genlock.errors import ClockError, StreamError, error_context
from genlock.index import Index
from genlock.interfaces import ColumnDecoder, Decoder, OpenOptions
from genlock.location import Location
from genlock.stream import Span, Stream
from genlock.timeline import Timeline

POSE_COLUMNS = ("tx", "ty", "tz", "qx", "qy", "qz", "qw")


class Table(NamedTuple):
    """Columns of a table stream side by side: values [N, D], which rows are whole, bool [N], and
    the stream's timeline with no others valid."""

    values: NDArray[Any]
    whole: NDArray[np.bool_]
    timeline: Timeline


class Streams(dict[str, Stream]):
    """Streams of a recording by name. Asking for another one raises StreamError, a KeyError."""

    def __init__(self, uri: str) -> None:
        super().__init__()
        self._uri = uri

    def __missing__(self, name: str) -> Stream:
        kinds = ", ".join(f"{s.name} ({s.info.modality})" for s in self.values())
        close = closest(name, self)
        hint = f" (did you mean {close!r}?)" if close else ""
        raise StreamError(
            f"{self._uri} has no stream {name!r}{hint}; it has {kinds or 'none'}",
            recording=self._uri,
            stream=name,
        )


class Opened:
    """A recording that is open. Thread-safe.

    streams: by name; times on the recording's clock where a map or the layout relates the
    stream's clock to it, else on the stream's own. clock_of: the clock each one's times are on.
    """

    def __init__(
        self,
        location: Location,
        options: OpenOptions | None = None,
        clocks: Mapping[str, ClockMap] | None = None,
    ) -> None:
        self.location = location
        self.options = options or OpenOptions()
        with error_context(recording=location.uri):
            self.source = Index.of_user().open(location, self.options)
        self.clocks = dict(clocks or {})
        self.streams = Streams(self.uri)
        self.clock_of: dict[str, str] = {}
        for name, stream, clock in placed(self.source, self.clocks):
            self.streams[name] = stream
            self.clock_of[name] = clock
        self._tables: dict[tuple[str, tuple[str, ...] | None, str], Table] = {}
        self._key_frames: dict[str, NDArray[np.int64]] = {}
        self._lock = threading.Lock()

    @property
    def uri(self) -> str:
        return self.location.uri

    def stream(self, field: Field) -> Stream:
        """The stream that a field reads. Raises StreamError, or the stream's own problem."""
        stream = self.streams[field.stream]
        if stream.info.modality not in field.modalities:
            raise StreamError(
                f"{type(field).__name__} cannot read {field.stream!r}: it is a "
                f"{stream.info.modality} stream",
                recording=self.uri,
                stream=field.stream,
            )
        stream.require_times()
        return stream

    def require_common_clock(self, names: Iterable[str]) -> None:
        """Raise ClockError unless the times of these streams can be compared."""
        clocks = {self.clock_of[name]: name for name in names}
        if len(clocks) > 1:
            listed = " and ".join(f"{clock!r} (stream {name})" for clock, name in clocks.items())
            name = next(clock for clock in clocks if clock != self.source.clock)
            raise ClockError(
                f"{self.uri}: nothing relates the clocks {listed}. State it in recording.toml, "
                f"e.g. [clocks.{toml_key(name)}] offset_ns = 0, or pass clock={{{name!r}: "
                "genlock.ClockMap()}; streams without clock = in a recording.toml share one",
                recording=self.uri,
            )

    def span(self, over: Iterable[str] | None = None) -> Span:
        """The time that streams have in common (default: see `timed`).

        Raises StreamError, ClockError; WindowError if they have none in common.
        """
        asked = list(self.streams if over is None else over)
        extents = {name: Extent.of(self.streams[name], self.clock_of[name]) for name in asked}
        names = timed(extents) if over is None else asked
        for name in names:
            self.streams[name].require_times()
        self.require_common_clock(names)
        return common_span(self.uri, extents, names)

    def key_frame_before(self, stream: str, time_ns: int) -> int:
        """Time of the last key frame at or before a time; the time itself if there is none."""
        with self._lock:
            if stream not in self._key_frames:
                self._key_frames[stream] = self._read_key_frames(stream)
            times = self._key_frames[stream]
        at = int(np.searchsorted(times, time_ns, "right"))
        return int(times[at - 1]) if at else time_ns

    def _read_key_frames(self, stream: str) -> NDArray[np.int64]:
        with closing(self.source.units(stream)) as units:
            table = units.spec.table
        times = self.streams[stream].timeline.ns
        return times if table is None else times[table.key[table.row_unit]]

    def table(self, stream: str, columns: tuple[str, ...] | None, dtype: str) -> Table:
        """Columns of a table stream side by side.

        A row is whole if every value of these columns is finite and, of poses, the quaternion is
        one. Cached while open.
        """
        key = (stream, columns, dtype)
        with self._lock:
            if key not in self._tables:
                with error_context(recording=self.uri, stream=stream):
                    self._tables[key] = self._read_table(stream, columns, dtype)
            return self._tables[key]

    def _read_table(self, stream: str, columns: tuple[str, ...] | None, dtype: str) -> Table:
        arrays = self.columns(stream)
        for name in columns or ():
            if name not in arrays:
                raise StreamError(
                    f"{self.uri}: stream {stream!r} has no column {name!r}; it has "
                    f"{', '.join(arrays)}",
                    recording=self.uri,
                    stream=stream,
                )
        found = [arrays[name] for name in columns or arrays]
        parts = [part if part.ndim == 2 else part[:, None] for part in found]
        whole = valid_rows(arrays, columns or arrays)
        # without a copy through float64, so that 64-bit integers keep their last digit
        values = np.concatenate([part.astype(dtype) for part in parts], axis=1)
        if columns == POSE_COLUMNS:
            whole &= values[:, 3:].any(axis=1)
        timeline = self.streams[stream].timeline.only(whole)
        assert timeline.valid is not None
        return Table(values, timeline.valid, timeline)

    def columns(self, stream: str) -> Mapping[str, NDArray[Any]]:
        """All columns of a table stream as stored."""
        with closing(self.decoder(stream)) as decoder:
            return cast(ColumnDecoder, decoder).columns()

    def decoder(
        self,
        stream: str,
        depth: bool = False,
        kept: Budget | None = None,
        name: str = "auto",
        gpu: int | None = None,
    ) -> Decoder:
        """A new decoder of a stream, to be used by one thread at a time and closed.

        name, gpu: see `make_decoder`.
        """
        units = self.source.units(stream)
        try:
            source_stream = self.source.streams[stream]
            limit = self.options.max_pixels
            return make_decoder(units, source_stream, depth, limit, kept, name, gpu)
        except BaseException:
            units.close()
            raise

    def close(self) -> None:
        self.source.close()


def span_of(
    location: Location,
    options: OpenOptions,
    clocks: Mapping[str, ClockMap],
    over: Sequence[str] | None,
    index: Index,
) -> Span:
    """`Opened.span` of a recording, which is not opened if an index says when its streams are."""
    extents = {} if clocks else index.extents(location, options)
    names = timed(extents) if over is None else over
    known = set(names) <= extents.keys()
    if known and len({extents[name].clock for name in names}) == 1:
        return common_span(location.uri, extents, names)
    with closing(Opened(location, options, clocks)) as opened:
        return opened.span(over)
