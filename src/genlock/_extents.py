"""When the streams of a recording are: what its span follows from, without their timelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from genlock.clock import ClockMap
from genlock.errors import WindowError
from genlock.interfaces import Source
from genlock.stream import Span, Stream


class Extent(NamedTuple):
    """When the rows of one stream are.

    clock: that its times are on. rows: how many. start_ns, end_ns: of its timeline, 0 if that is
    empty.
    """

    modality: str
    clock: str
    rows: int
    start_ns: int
    end_ns: int

    @classmethod
    def of(cls, stream: Stream, clock: str) -> Extent:
        """The extent of a stream whose times are on a clock."""
        timeline = stream.timeline
        range_ns = (timeline.start_ns, timeline.end_ns) if len(timeline) else (0, 0)
        return cls(stream.info.modality, clock, len(timeline), *range_ns)


def placed(source: Source, clocks: Mapping[str, ClockMap]) -> Iterator[tuple[str, Stream, str]]:
    """Of each stream its name, itself with its times on the recording's clock where a map relates
    its own to it, and the clock that they are on. clocks: maps beside the source's.
    """
    maps = {**source.clocks, **clocks}
    for name, stream in source.streams.items():
        clock = stream.info.clock or source.clock
        on_clock = stream.on_clock(maps.get(clock, ClockMap()))
        yield name, on_clock, source.clock if clock in maps else clock


def timed(extents: Mapping[str, Extent]) -> list[str]:
    """The streams whose span a recording has by default: all but labels and those of fewer than two
    rows, such as a map that is sent once.
    """
    rows = {name: one.rows for name, one in extents.items() if one.modality != "labels"}
    several = [name for name, count in rows.items() if count > 1]
    return several or [name for name, count in rows.items() if count]


def common_span(uri: str, extents: Mapping[str, Extent], names: Sequence[str]) -> Span:
    """The time that streams on one clock have in common. Raises WindowError if there is none."""
    found = [extents[name] for name in names]
    if not found or not all(extent.rows for extent in found):
        raise WindowError(f"{uri}: no rows in {', '.join(names) or 'any stream'}")
    start_ns = max(extent.start_ns for extent in found)
    end_ns = min(extent.end_ns for extent in found)
    if start_ns >= end_ns:
        raise WindowError(
            f"{uri}: the streams {', '.join(names)} have no time in common; name those "
            "that should with over=[…]"
        )
    return Span(uri, start_ns, end_ns)
