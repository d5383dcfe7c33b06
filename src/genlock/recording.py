"""`Recording` and `open`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from operator import index as whole
from typing import Any

from genlock._decoder_pool import DecoderPool
from genlock._field_order import check_fields
from genlock._memory import Ring
from genlock._nanoseconds import Seconds
from genlock._numbers import positive_ns
from genlock._views import RecordingViews
from genlock.assembly import Assembly, finished
from genlock.batch import Sample
from genlock.calibration import Calibration
from genlock.clock import ClockMap
from genlock.errors import ClockError, ClosedError, LayoutError, WindowError
from genlock.fetch import plan_window
from genlock.fields import Fields
from genlock.interfaces import OpenOptions
from genlock.location import Location
from genlock.opened import Opened
from genlock.stream import Stream
from genlock.timeline import Timeline
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
