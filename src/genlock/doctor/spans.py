"""Checks of the streams beside each other: clocks, and when each begins and ends."""

from __future__ import annotations

from collections.abc import Iterator

from genlock._nanoseconds import SECOND_NS
from genlock.doctor.finding import Finding
from genlock.errors import ClockError
from genlock.opened import Opened
from genlock.stream import Stream

SHORTER, LACKS_NS = 0.9, SECOND_NS // 2
"""A stream that covers less than this share of the recording, and lacks that much of it, shortens
what windows can use."""


def clocks(opened: Opened) -> Iterator[Finding]:
    """Streams whose times cannot be compared."""
    try:
        opened.require_common_clock(stream.name for stream in _timed(opened))
    except ClockError as error:
        advice = "relate the clocks; until then each stream can be read alone"
        yield Finding("clocks", "error", error.message, advice)


def coverage(opened: Opened) -> Iterator[Finding]:
    """Streams that begin late or end early, so that windows over all streams are fewer."""
    streams = [s for s in _timed(opened) if s.info.modality != "labels"]
    if len(streams) < 2 or len({opened.clock_of[s.name] for s in streams}) > 1:
        return
    start_ns = min(s.timeline.start_ns for s in streams)
    end_ns = max(s.timeline.end_ns for s in streams)
    for stream in streams:
        timeline = stream.timeline
        late, early = timeline.start_ns - start_ns, end_ns - timeline.end_ns
        share = 1 - (late + early) / (end_ns - start_ns)
        if share < SHORTER and late + early > LACKS_NS:
            text = (
                f"it begins {late / SECOND_NS:.3f} s after the recording and ends "
                f"{early / SECOND_NS:.3f} s before it"
            )
            advice = (
                "windows span what streams have in common: leave it out of over=[…] to use more"
            )
            yield Finding("coverage", "warning", text, advice, stream.name, timeline.start_ns)


def _timed(opened: Opened) -> list[Stream]:
    return [s for s in opened.streams.values() if s.problem is None and len(s.timeline)]
