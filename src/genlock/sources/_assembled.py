"""What the layouts of data sets share: one recording assembled from files and tables in memory.

A layout knows which file is which stream. `Assembly` opens each with the format that reads it, puts
all on the layout's clock, and is at last the source of them. Until then a stream is a `Part`, which
the layout can give other rows, times and descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np

from genlock._checked import Place, meant
from genlock._nanoseconds import Nanoseconds
from genlock.clock import ClockMap
from genlock.declaration import CALLER
from genlock.errors import DecodeError, GenlockError, OpenError, error_context
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._arrays import Arrays, ArraySource, array_table
from genlock.sources._composed import ComposedSource, Part, retimed
from genlock.stream import Modality, Stream, StreamInfo
from genlock.timeline import Timeline

_OF_STREAM = ("intrinsics", "extrinsics", "problem")


class Assembly:
    """Collects the streams of one recording. A context manager: on an error, what is open closes.

    clock: name of the one clock of all streams but those of a recording inside. options.streams:
    what the caller declares of how to read a stream's files; it wins over what the layout says.
    """

    def __init__(
        self, location: Location, clock: str, options: OpenOptions, open_child: OpenChild
    ) -> None:
        if options.unit is not None:
            raise Place(location.uri).error("unit= is for a lone file: the layout knows its units")
        self.location = location
        self.clock = clock
        self._options = options
        self._open_child = open_child
        self._opened = ExitStack()
        self._parts: dict[str, Part] = {}
        self._shared: dict[str, Source] = {}
        self._clocks: dict[str, ClockMap] = {}

    def declared(self, name: str) -> Mapping[str, Any]:
        """What the caller declares of how a stream is read."""
        return self._options.streams.get(name, {})

    def file(
        self,
        name: str,
        modality: Modality,
        location: Location,
        reading: Mapping[str, Any] | None = None,
    ) -> Part:
        """Open a file, or a folder of them, as a stream.

        reading: how to read it, by the keys of a stream in recording.toml. A file that cannot be
        read gives a stream with that error as its problem. Raises LayoutError for a wrong
        declaration.
        """
        declared = {"kind": modality, **(reading or {}), **self.declared(name)}
        if "files" in declared and not declared["files"]:
            nothing = OpenError(f"{location.uri}: no file of {name!r} is listed")
            return self.problem(name, modality, nothing)
        return self._attempt(name, modality, location, {name: declared}, name)

    def track(self, name: str, modality: Modality, location: Location, track: str) -> Part:
        """Open one track of a media file as a stream; several share one source."""
        return self._attempt(name, modality, location, {}, track)

    def _attempt(
        self,
        name: str,
        modality: Modality,
        location: Location,
        streams: Mapping[str, Any],
        inner: str,
    ) -> Part:
        try:
            with error_context(location.uri, name):
                return self._part(self._source(location, streams), inner, name)
        except (OpenError, DecodeError) as problem:
            return self.problem(name, modality, problem)

    def _source(self, location: Location, streams: Mapping[str, Any]) -> Source:
        shared = None if streams else self._shared.get(location.uri)
        if shared is not None:
            return shared
        source = self._open_child(location, OpenOptions(None, streams, self._options.max_pixels))
        self._opened.callback(source.close)
        if not streams:
            self._shared[location.uri] = source
        return source

    def _part(self, source: Source, inner: str, name: str) -> Part:
        stream = source.streams.get(inner)
        if stream is None:
            there = ", ".join(source.streams)
            raise OpenError(f"{source.location.uri} holds no {inner!r}; it holds {there}")
        stream = stream.on_clock(source.clocks.get(stream.info.clock, ClockMap()))
        return Part(_stating(replace(stream, name=name), clock=self.clock), source, inner)

    def table(
        self,
        name: str,
        modality: Modality,
        raw_ns: Nanoseconds,
        columns: Arrays,
        durations_ns: Nanoseconds | None = None,
        **stated: Any,
    ) -> Part:
        """A stream of columns that the layout has read itself; see `array_table`."""
        if declared := self.declared(name):
            key = next(iter(declared))
            raise _place(name, key).error("the layout says how this stream is read")
        table = array_table(name, modality, raw_ns, columns, durations_ns, **stated)
        return self.own(name, ArraySource(self.location, self.clock, {name: table}))

    def own(self, name: str, source: Source) -> Part:
        """A stream of a source that the layout has made itself."""
        self._opened.callback(source.close)
        return self._part(source, name, name)

    @contextmanager
    def reading(self, name: str, modality: Modality, location: Location) -> Iterator[None]:
        """What cannot be read of a file inside becomes the problem of a stream, which is added."""
        try:
            with error_context(location.uri, name):
                yield
        except (OpenError, DecodeError) as problem:
            self.add(self.problem(name, modality, problem))

    def include(self, location: Location, shared: str | None) -> None:
        """Add every stream of a recording inside, and its clocks.

        shared: which of its clocks is this recording's, None for the one that it is on itself. If
        it is not there, nothing relates the two, and streams that are used together must all be
        inside or all be outside. A recording that cannot be read is a stream with a problem, named
        after the file.
        """
        with self.reading(location.stem, "video", location):
            source = self._source(location, {})
            inside = {source.clock: ClockMap(), **source.clocks}
            to_own = inside.get(source.clock if shared is None else shared)
            if to_own is not None:
                back = to_own.inverse()
                self._clocks |= {name: clock.then(back) for name, clock in inside.items()}
            for name in source.streams:
                self.add(self._part(source, name, name), clock=source.clock)

    def problem(self, name: str, modality: Modality, problem: GenlockError) -> Part:
        """A stream that is listed although it cannot be read."""
        info = StreamInfo(modality, clock=self.clock)
        return Part(Stream(name, info, Timeline([]), problem=problem))

    def add(self, part: Part, **stated: Any) -> None:
        """Make a part a stream of the recording.

        stated: what the layout knows of it beyond its file, None for what it does not: intrinsics,
        extrinsics, a problem, and fields of `StreamInfo`; notes are added to those of its report.
        """
        known = {key: value for key, value in stated.items() if value is not None}
        of_stream = {key: known.pop(key) for key in _OF_STREAM if key in known}
        stream = replace(_stating(part.stream, **known), **of_stream)
        self._parts[stream.name] = replace(part, stream=stream)

    def source(self) -> ComposedSource:
        """The recording.

        Raises OpenError if no stream can be read, LayoutError for a declared one that is not there.
        """
        for name in self._options.streams:
            if name not in self._parts:
                hint = meant(name, self._parts)
                raise _place(name).error(f"{self.location.uri} has no such stream{hint}")
        parts = list(self._parts.values())
        if all(part.source is None for part in parts):
            problem = next((part.stream.problem for part in parts), None)
            raise problem or OpenError(f"{self.location.uri} holds no stream that can be read")
        return ComposedSource(
            self.location, self.clock, self._clocks, parts, self._opened.pop_all()
        )

    def __enter__(self) -> Assembly:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()


def _place(name: str, *keys: str) -> Place:
    return Place(CALLER, ("streams", name, *keys))


def _stating(stream: Stream, notes: tuple[str, ...] = (), **info: Any) -> Stream:
    report = stream.info.report.noting(*notes)
    return replace(stream, info=replace(stream.info, **{"report": report} | info))


def segment(part: Part, start_ns: int, end_ns: int, slack_ns: int = 0) -> Part:
    """The rows of a part in [start_ns, end_ns), with start_ns as their zero.

    slack_ns: by how much the two may be off, since they are rounded: a first row that is no further
    from start_ns is at 0.
    """
    timeline = part.stream.timeline
    rows = timeline.rows_in(start_ns - slack_ns, end_ns - slack_ns)
    ns, durations, valid = timeline.ns[rows], timeline.durations_ns, timeline.valid
    close = len(ns) > 0 and abs(ns[0] - start_ns) <= slack_ns
    fewer = Timeline(
        ns - (ns[0] if close else start_ns),
        None if durations is None else durations[rows],
        None if valid is None else valid[rows],
    )
    kept = np.arange(rows.start, rows.stop)
    counts = part.stream.counts
    stream = replace(part.stream, timeline=fewer, counts=None if counts is None else counts[rows])
    return replace(part, stream=stream, kept=kept)


def shifted(part: Part, offset_ns: int) -> Part:
    """A part whose times are later by an offset."""
    return replace(part, stream=part.stream.on_clock(ClockMap(offset_ns)))


def with_times(part: Part, raw_ns: Nanoseconds) -> Part:
    """A part with other times, one for each row of its file; they are settled here."""
    stream, kept = retimed(part.stream, raw_ns)
    return replace(part, stream=stream, kept=kept)
