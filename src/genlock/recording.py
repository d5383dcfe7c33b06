"""`Recording` and `open`; `Windows` over recordings named by path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from operator import index as whole
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from tqdm.auto import tqdm

from genlock import windows as pure
from genlock._memory import Ring
from genlock._pool import SharedPool
from genlock._views import RecordingViews
from genlock._window_set import positive_ns
from genlock.assembly import Assembly, finished
from genlock.batch import Sample
from genlock.calibration import Calibration
from genlock.collection import expanded
from genlock.errors import ClockError, ClosedError, GenlockError, LayoutError, WindowError
from genlock.fetch import plan_window
from genlock.fields import Fields, check_fields
from genlock.interfaces import OpenOptions
from genlock.location import Location
from genlock.opened import DecoderPool, Opened
from genlock.stream import Span, Stream
from genlock.timeline import ClockMap, Seconds, Timeline
from genlock.windows import Window


class Recording(RecordingViews):
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
        FieldError, WindowError, TimeUnitError, DecodeError.
        """
        try:
            start_ns = whole(start_ns)
        except TypeError as error:  # a float of ns is not exact, and may be meant as seconds
            raise WindowError(f"start_ns is a whole number of ns, not {start_ns!r}") from error
        window = Window(self.uri, start_ns, positive_ns("duration", duration, least=0), 0)
        jobs = plan_window(self.opened, fields, check_fields(fields), window)
        assembly = Assembly([window], [jobs], {}, Ring(0))
        for name, job in jobs.items():
            job.fill(assembly.slot(0, name), self._decoders)
        return finished(assembly.sample(0), jobs)

    @property
    def calibration(self) -> Mapping[str, Calibration]:
        """Intrinsics and extrinsics of the streams that state any, as the source gives them."""
        return {
            name: Calibration(stream.intrinsics, stream.extrinsics)
            for name, stream in self.streams.items()
            if stream.intrinsics is not None or stream.extrinsics is not None
        }

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
    index: bool = True,
) -> Recording:
    """Open a recording: a folder, a file of any known format, a URL, bytes, or a binary file.

    clock: the map from a clock's name to the recording's clock, or one map for a recording with
    one clock. unit: of a lone table's times ("s", "ms", "us", "ns"). streams: by stream name, what
    a `[streams.NAME]` table of recording.toml would say. max_pixels: largest picture to decode.
    index: whether to take what is known of the files from the index, and to keep it there.
    Raises OpenError naming what was tried, LayoutError for wrong options, ClockError for the map of
    a clock that no stream is on.
    """
    options = OpenOptions(unit, _stated(streams or {}), max_pixels, index)
    if max_pixels is not None and not (isinstance(max_pixels, int) and max_pixels > 0):
        raise LayoutError(f"max_pixels is a positive whole number, not {max_pixels!r}")
    location = Location.of(target)
    if clock is None:
        return Recording(Opened(location, options))
    with closing(Opened(location, options)) as opened:
        clocks = _mapped(opened, clock)
    return Recording(Opened(location, options, clocks))


def _stated(streams: Any) -> dict[str, Mapping[str, Any]]:
    if isinstance(streams, Mapping) and all(isinstance(v, Mapping) for v in streams.values()):
        return dict(streams)
    raise LayoutError(f"streams is {{'name': {{'key': value}}}}, not {streams!r:.80}")


def _mapped(opened: Opened, clock: Any) -> dict[str, ClockMap]:
    """A map for each clock that is named. Raises ClockError unless streams are on it."""
    if isinstance(clock, ClockMap):
        return dict.fromkeys(opened.clock_of.values(), clock)
    if not isinstance(clock, Mapping) or not all(isinstance(m, ClockMap) for m in clock.values()):
        raise ClockError(f"clock is a genlock.ClockMap, or {{'name': ClockMap}}, not {clock!r:.80}")
    known = {stream.info.clock or opened.source.clock for stream in opened.streams.values()}
    for name in clock:
        if name not in known:
            raise ClockError(
                f"{opened.uri} has no stream on a clock {name!r}; its clocks are "
                f"{', '.join(map(repr, sorted(known))) or 'none'}",
                recording=opened.uri,
            )
    return dict(clock)


Reference = tuple[Location, OpenOptions, Mapping[str, ClockMap]]
"""How a recording was opened, so that a loader opens it the same way."""


class Windows(pure.Windows):
    """Windows over recordings: `genlock.windows.Windows` that takes paths, URLs and recordings.

    recordings: one or several; a folder of many stands for all of them (see `recordings`). over:
    names of the streams whose common span is tiled (default all but labels). on_error: "raise", or
    "skip" leaves unreadable recordings out and lists them in `skipped` as (recording, error).
    Other arguments: see `genlock.windows.Windows`.
    """

    skipped: Sequence[tuple[str, GenlockError]] = ()
    references: Mapping[str, Reference] = MappingProxyType({})

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
        super().__init__(found.read(recordings), duration=duration, **options)
        self.skipped, self.references = found.skipped, found.references

    @classmethod
    def at(
        cls,
        table: Iterable[Sequence[Any]],
        *,
        over: Iterable[str] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        **options: Any,
    ) -> Self:
        """Annotated clips: one window for each (recording, start_ns, duration, label) row.

        recording: a path, URL or open recording. duration: seconds; None takes the span that the
        streams of `over` have in common. The label may be left out.
        """
        found = _Spans(over, on_error)
        clips = [found.clip(number, row) for number, row in enumerate(table)]
        whole = {uri: target for uri, target, *rest in clips if len(rest) > 1 and rest[1] is None}
        spans = list(found.read(whole.values(), expand=False))
        rows = [(uri, *rest) for uri, _, *rest in clips]
        made = super().at(rows, spans=spans, **options)
        made.skipped, made.references = found.skipped, found.references
        return made

    @classmethod
    def mix(cls, windows: Sequence[pure.Windows], *args: Any, **options: Any) -> pure.Windows:
        mixed = super().mix(windows, *args, **options)
        if isinstance(mixed, cls):
            parts = [part for part in windows if isinstance(part, cls)]
            mixed.references = _joined_references(parts)
            mixed.skipped = [failure for part in parts for failure in part.skipped]
        return mixed

    def where(self, fields: Fields, min_valid: float = 1.0) -> Self:
        """Only windows in which every field has at least this share of valid grid entries.

        Decided by plans alone: nothing is decoded, but tables are read. With a progress bar.
        """
        order = check_fields(fields)
        fine = np.zeros(len(self.by_index), np.bool_)
        open_recording = recording_opener(self)
        with closing(SharedPool(1, open_recording)) as recordings:
            bar = tqdm(self.by_index, "where", unit="", delay=1, disable=None, leave=False)
            for i, window in enumerate(bar):
                with recordings.lease(window.recording) as opened:
                    jobs = plan_window(opened, fields, order, window)
                fine[i] = all(job.valid_share >= min_valid for job in jobs.values())
        return self.select(fine)


class _Spans:
    """Reads the spans of recordings, with a progress bar if it takes over a second."""

    def __init__(self, over: Iterable[str] | None, on_error: str) -> None:
        if on_error not in ("raise", "skip"):
            raise WindowError(f"on_error of windows is 'raise' or 'skip', not {on_error!r}")
        if not isinstance(over, Iterable | None):
            raise WindowError(f"over is a list of streams' names, not {over!r}")
        self.over = None if over is None else [over] if isinstance(over, str) else list(over)
        self.on_error = on_error
        self._seen: dict[str, Reference | None] = {}
        self.skipped: list[tuple[str, GenlockError]] = []
        self.references: dict[str, Reference] = {}

    def read(self, recordings: Any, expand: bool = True) -> Iterator[Span]:
        """The spans, in order. expand: a folder of many recordings stands for all of them."""
        if isinstance(recordings, str | os.PathLike | bytes | Recording | Span):
            recordings = [recordings]
        bar = tqdm(recordings, "recordings", unit="", delay=1, disable=None, leave=False)
        for target in chain.from_iterable(map(self._expanded, bar)) if expand else bar:
            try:
                yield target if isinstance(target, Span) else self._span(target)
            except GenlockError as error:
                if self.on_error != "skip":
                    raise
                uri = target.uri if isinstance(target, Recording) else str(target)
                self.skipped.append((uri, error))

    def _expanded(self, target: Any) -> Iterable[Any]:
        try:
            return expanded(target) or (target,)
        except GenlockError:  # it is raised, or noted, when this is opened
            return (target,)

    def clip(self, number: int, row: Any) -> list[Any]:
        """A row of annotated clips with the recording's uri in front."""
        try:
            recording, *rest = row
        except (TypeError, ValueError) as error:
            raise WindowError(
                "clips are rows of (recording, start_ns, duration, label); "
                f"row {number} is {row!r:.80}"
            ) from error
        return [self.uri(recording), recording, *rest]

    def uri(self, target: Any) -> str:
        """The name of a recording, by which it can be opened again.

        Raises WindowError where one name would stand for a recording opened in two ways.
        """
        if isinstance(target, Recording):
            opened = target.opened
            reference = (opened.location, opened.options, opened.clocks)
        else:
            location = Location.of(target)
            reference = (location, OpenOptions(), {})
        uri = reference[0].uri
        special = None if reference == _plain(uri) else reference
        if self._seen.setdefault(uri, special) != special:
            raise _two_ways(uri)
        if special is not None:
            self.references[uri] = special
        return uri

    def _span(self, target: Any) -> Span:
        uri = self.uri(target)
        if isinstance(target, Recording):
            return target.opened.span(self.over)
        with closing(_open_reference(self.references, uri)) as opened:
            return opened.span(self.over)


def recording_opener(windows: pure.Windows) -> Callable[[str], Opened]:
    """How a loader opens the recordings of these windows, with the options they came with."""
    references: Mapping[str, Reference] = getattr(windows, "references", {})
    return partial(_open_reference, references)


def _open_reference(references: Mapping[str, Reference], uri: str) -> Opened:
    location, options, clocks = references.get(uri) or _plain(uri)
    return Opened(location, options, clocks)


def _plain(uri: str) -> Reference:
    """How a recording is opened that is named by its path alone."""
    return Location(uri), OpenOptions(), {}


def _two_ways(uri: str) -> WindowError:
    return WindowError(
        f"{uri} is here twice, opened in different ways (options, clocks or content): windows "
        "name a recording by its path, so give it once, or through links of different names",
        recording=uri,
    )


def _joined_references(parts: Sequence[Windows]) -> dict[str, Reference]:
    """The references of all parts. Raises WindowError where two parts differ about a recording."""
    joined = {uri: reference for part in parts for uri, reference in part.references.items()}
    for part in parts if joined else ():
        for uri in joined.keys() & set(part.recordings):
            if part.references.get(uri) != joined[uri]:
                raise _two_ways(uri)
    return joined
