"""`Recording` and `open`; `Windows` over recordings named by path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from functools import partial
from typing import Any, Literal

from tqdm.auto import tqdm

from genlock import windows as pure
from genlock._memory import Ring
from genlock.batch import Assembly, Sample
from genlock.errors import ClosedError, GenlockError, WindowError
from genlock.fetch import plan_window
from genlock.fields import Fields, check_fields
from genlock.interfaces import OpenOptions
from genlock.location import Location
from genlock.opened import DecoderPool, Opened
from genlock.stream import Span, Stream
from genlock.timeline import ClockMap, Seconds, Timeline, to_ns
from genlock.windows import Window


class Recording:
    """An open recording: streams on one clock, and windows of them read as samples.

    A context manager; thread-safe; pickles by its path and options (not if it was opened from
    bytes). streams: by name, each with `.info` and `.timeline`. clock: name of its clock.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened: Opened | None = opened
        self._decoders = DecoderPool(capacity=8)
        self.uri = opened.uri
        self.clock = opened.source.clock
        self.streams: Mapping[str, Stream] = opened.streams

    @property
    def opened(self) -> Opened:
        """What the recording reads from. Raises ClosedError after `close`."""
        if self._opened is None:
            raise ClosedError(f"{self.uri} is closed", recording=self.uri)
        return self._opened

    @property
    def start_ns(self) -> int:
        """Start of the union of all streams. Raises ClockError if their clocks are unrelated."""
        return min(timeline.start_ns for timeline in self._timelines())

    @property
    def end_ns(self) -> int:
        """End of the union of all streams, exclusive."""
        return max(timeline.end_ns for timeline in self._timelines())

    def _timelines(self) -> list[Timeline]:
        streams = [s for s in self.streams.values() if s.problem is None and len(s.timeline)]
        self.opened.require_common_clock(stream.name for stream in streams)
        if not streams:
            raise WindowError(f"{self.uri} holds no rows with times", recording=self.uri)
        return [stream.timeline for stream in streams]

    def read(self, fields: Fields, start_ns: int, duration: Seconds) -> Sample:
        """One window as NumPy arrays, decoded on the calling thread.

        start_ns: on the recording's clock. duration: seconds. Raises StreamError, ClockError,
        FieldError, TimeUnitError, DecodeError.
        """
        window = Window(self.uri, int(start_ns), to_ns(duration), 0)
        jobs = plan_window(self.opened, fields, check_fields(fields), window)
        assembly = Assembly([window], [jobs], {}, Ring(0))
        for name, job in jobs.items():
            job.fill(assembly.slot(0, name), self._decoders)
        return assembly.sample(0)

    def close(self) -> None:
        """Close every file; what was read stays."""
        self._decoders.close()
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        opened = self.opened
        if opened.location.data is not None:
            raise TypeError(f"{self.uri} was opened from memory and cannot be pickled")
        return Recording._open, (self.uri, opened.options, opened.clocks)

    @classmethod
    def _open(cls, target: Any, options: OpenOptions, clocks: Mapping[str, ClockMap]) -> Recording:
        return cls(Opened(Location.of(target), options, clocks))

    def __repr__(self) -> str:
        lines = [f"Recording({self.uri!r}, clock {self.clock!r})"]
        lines += [f"  {stream!r}" for stream in self.streams.values()]
        return "\n".join(lines)


Clock = ClockMap | Mapping[str, ClockMap]


def open(
    target: Any,
    *,
    clock: Clock | None = None,
    unit: str | None = None,
    streams: Mapping[str, Mapping[str, Any]] | None = None,
    max_pixels: int | None = None,
) -> Recording:
    """Open a recording: a folder, a file of any known format, a URL, bytes, or a binary file.

    clock: the map from a clock's name to the recording's clock, or one map for a recording with
    one clock. unit: of a lone table's times ("s", "ms", "us", "ns"). streams: by stream name, what
    a `[streams.NAME]` table of recording.toml would say. max_pixels: largest picture to decode.
    Raises OpenError naming what was tried, LayoutError for wrong options.
    """
    options = OpenOptions(unit, dict(streams or {}), max_pixels)
    location = Location.of(target)
    if isinstance(clock, ClockMap):
        with closing(Opened(location, options)) as opened:
            clock = dict.fromkeys(opened.clock_of.values(), clock)
    return Recording(Opened(location, options, clock))


class Windows(pure.Windows):
    """Windows over recordings: `genlock.windows.Windows` that takes paths, URLs and recordings.

    recordings: one or several. over: names of the streams whose common span is tiled (default all
    but labels). on_error: "raise", or "skip" leaves unreadable recordings out and lists them in
    `skipped` as (recording, error). Other arguments: see `genlock.windows.Windows`.
    """

    def __init__(
        self,
        recordings: Any,
        *,
        duration: Seconds,
        over: Iterable[str] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        **options: Any,
    ) -> None:
        found = _Spans(over, on_error)
        found.read(recordings)
        super().__init__(found.spans, duration=duration, **options)
        self.skipped = found.skipped
        self.references = found.references


Reference = tuple[Location, OpenOptions, Mapping[str, ClockMap]]


class _Spans:
    """Reads the spans of recordings, with a progress bar if it takes over a second."""

    def __init__(self, over: Iterable[str] | None, on_error: str) -> None:
        self.over = None if over is None else [over] if isinstance(over, str) else list(over)
        self.on_error = on_error
        self.spans: list[Span] = []
        self.skipped: list[tuple[str, GenlockError]] = []
        self.references: dict[str, Reference] = {}

    def read(self, recordings: Any) -> None:
        if isinstance(recordings, str | os.PathLike | bytes | Recording | Span):
            recordings = [recordings]
        bar = tqdm(recordings, "recordings", unit="", delay=1, disable=None, leave=False)
        for target in bar:
            try:
                self.spans.append(target if isinstance(target, Span) else self._span(target))
            except GenlockError as error:
                if self.on_error != "skip":
                    raise
                uri = target.uri if isinstance(target, Recording) else str(target)
                self.skipped.append((uri, error))

    def _span(self, target: Any) -> Span:
        if isinstance(target, Recording):
            opened = target.opened
            self.references[opened.uri] = (opened.location, opened.options, opened.clocks)
            return opened.span(self.over)
        location = Location.of(target)
        if location.data is not None:
            self.references[location.uri] = (location, OpenOptions(), {})
        with closing(Opened(location)) as opened:
            return opened.span(self.over)


def recording_opener(windows: pure.Windows) -> Callable[[str], Opened]:
    """How a loader opens the recordings of these windows, with the options they came with."""
    references: Mapping[str, Reference] = getattr(windows, "references", {})
    return partial(_open_reference, references)


def _open_reference(references: Mapping[str, Reference], uri: str) -> Opened:
    location, options, clocks = references.get(uri, (Location(uri), OpenOptions(), {}))
    return Opened(location, options, clocks)
