"""Do stamps run as fast as the stream says it ticks, and as those of the streams beside it?

A clock that drifts stretches what it stamps: so many samples at 48 kHz take longer by their stamps
than by their number. That alone may be a sensor that ticks off its nominal rate, with stamps that
are right; but if such a stream also ends as much later than one that it began with, it is the
clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS
from genlock._nanoseconds import SECOND_NS, ticks_to_ns
from genlock.doctor.finding import Finding, Severity
from genlock.doctor.mending import clock_map, slowed
from genlock.doctor.times import GAP
from genlock.opened import Opened
from genlock.stream import Stream
from genlock.timeline import SampledTimeline, Timeline

Floats = NDArray[np.float64]

SENSOR = 0.03
"""Inertial sensors tick by oscillators of their own, good to 1 or 2 %."""
LIMITS = MappingProxyType({"audio": 200e-6, "video": 1e-3, "depth": 1e-3})
"""Others tick by crystals, good to 100 ppm each, so that two are at most twice that apart; a
camera rounds its period to whole lines."""
NTSC, EXACT = 1000 / 1001, 200e-6
"""Cameras that say 30 and mean 30000/1001 (SMPTE ST 170), if they keep to that."""
ROUND = 0.003
"""A rate that nobody states is taken for whole Hz that are this near."""
OFF = 0.25
"""Share of a period by which a step may be off whole periods and still count them."""
REGULAR, LEAST = 0.8, 16
"""Share of steps that have to count; rows of the longest run."""
CLEAR = 3
"""How many times as far apart ends have to be as what else would explain it."""


@dataclass(frozen=True)
class Pace:
    """How stamps run against counting at a rate.

    rate: Hz. off: how much longer the stamps take, as a share: 500e-6 for 500 ppm. noise: how far
    a line through stamps that scatter as these do may be off. span_s: seconds that were compared.
    """

    rate: float
    off: float
    noise: float
    span_s: float

    @property
    def ppm(self) -> str:
        return f"{1e6 * self.off:+.0f} ppm"


def paces(opened: Opened) -> Iterator[Finding]:
    """Streams whose clock drifts, and others whose stamps run at another rate than they state."""
    streams = (s for s in opened.streams.values() if s.problem is None and len(s.timeline))
    timed = [stream for stream in streams if stream.info.modality != "labels"]
    stated = [(stream, _stated_pace(opened, stream)) for stream in timed]
    drifting = {finding.stream: finding for finding in _apart(opened, stated)}
    yield from drifting.values()
    for stream, pace in stated:
        if stream.name not in drifting and pace is not None:
            yield from _off_its_rate(opened, stream, pace)


def _off_its_rate(opened: Opened, stream: Stream, pace: Pace) -> Iterator[Finding]:
    kind = stream.info.modality
    if abs(pace.off) > LIMITS.get(kind, SENSOR) + pace.noise:
        text = (
            f"its stamps run at {pace.rate / (1 + pace.off):.7g} Hz, and it states "
            f"{pace.rate:.7g} ({pace.ppm}): {1000 * pace.off * pace.span_s:+.1f} ms "
            f"in {pace.span_s:.1f} s"
        )
        mended = slowed(opened, stream, pace.off)
        advice = f"Genlock goes by the stamps; if it is they that drift, scale them: {mended}"
        severity: Severity = "warning" if kind in LIMITS else "note"
        yield Finding("rate", severity, text, advice, stream.name, stream.timeline.start_ns)


def _apart(opened: Opened, stated: list[tuple[Stream, Pace | None]]) -> Iterator[Finding]:
    """Streams that begin with another one and end as much later as their stamps run slow."""
    found = [(stream, pace or _whole_pace(stream)) for stream, pace in stated]
    sure = [(s, pace) for s, pace in found if pace is not None and abs(pace.off) > pace.noise]
    off = {s.name: abs(pace.off) for s, pace in sure}
    for stream, pace in sure:
        others = (
            other
            for other, _ in stated
            if opened.clock_of[other.name] == opened.clock_of[stream.name]
            and off.get(other.name, 0.0) <= off[stream.name]
            and _drifts(stream.timeline, other.timeline, pace)
        )
        if (other := next(others, None)) is not None:
            late_ms = (stream.timeline.end_ns - other.timeline.end_ns) / 1e6
            text = (
                f"it begins with {other.name!r} and ends {late_ms:+.0f} ms after it, as its "
                f"{pace.rate:.7g} Hz do by its stamps ({pace.ppm}): its clock drifts"
            )
            advice = f"scale it: {slowed(opened, stream, pace.off)}"
            yield Finding("drift", "warning", text, advice, stream.name, stream.timeline.start_ns)


def _drifts(mine: Timeline, other: Timeline, pace: Pace) -> bool:
    """Whether drift at this pace, and nothing else, explains how far apart the ends are."""
    begun = max(abs(mine.start_ns - other.start_ns), mine.period_ns, other.period_ns)
    late, drifted = mine.end_ns - other.end_ns, pace.off * (mine.end_ns - mine.start_ns)
    return abs(late) > CLEAR * begun and abs(late - drifted) < begun


def _whole_pace(stream: Stream) -> Pace | None:
    """Against whole Hz nearby, for a stream that states no rate."""
    if isinstance(stream.timeline, SampledTimeline) or not stream.timeline.period_ns:
        return None
    measured = SECOND_NS / stream.timeline.period_ns
    whole = round(measured)
    return _of_rows(stream, whole) if abs(measured - whole) < ROUND * whole else None


def _stated_pace(opened: Opened, stream: Stream) -> Pace | None:
    """Against the rate that is stated, if one is and there is enough to compare."""
    rate, timeline = stream.info.rate, stream.timeline
    if isinstance(timeline, SampledTimeline):
        return _of_sound(opened, stream, timeline)
    if not rate or not timeline.period_ns or _worked_out(opened, stream, rate):
        return None
    ntsc = _of_rows(stream, rate * NTSC)
    meant = ntsc is not None and abs(ntsc.off) < EXACT
    return ntsc if meant else _of_rows(stream, rate)


def _worked_out(opened: Opened, stream: Stream, rate: float) -> bool:
    """Whether a rate comes from the stamps, of which it then says nothing.

    That of a track may be an average, which rows that were lost make lower.
    """
    own = opened.source.streams[stream.name].timeline  # before any clock map
    median = rate == SECOND_NS / own.period_ns
    if stream.info.encoding != "packets":
        return median
    single = np.rint(np.diff(stream.timeline.ns) * (rate / SECOND_NS)) == 1
    return not single.all() or (median and not rate.is_integer())


def _of_rows(stream: Stream, rate: float) -> Pace | None:
    """Stamps against their number; to a period, which averages of headers are off at the ends."""
    ns = stream.timeline.ns
    steps = np.diff(ns) * (rate / SECOND_NS)
    counted = np.rint(steps)
    joined = (counted >= 1) & (counted <= GAP) & (np.abs(steps - counted) < OFF)
    seconds = (ns - ns[0]) / SECOND_NS
    pace = measured_pace(rate, seconds, np.append(0, np.cumsum(counted)) / rate, joined)
    return pace and replace(pace, noise=pace.noise + 1 / (rate * pace.span_s))


def _of_sound(opened: Opened, stream: Stream, timeline: SampledTimeline) -> Pace | None:
    """Stamps of blocks or packets against the samples in them."""
    with closing(opened.source.units(stream.name)) as units:
        table = units.spec.table
    if table is None or table.samples is None:
        return None
    held = np.flatnonzero((table.samples.count > 0) & (table.pts != NO_TICKS))
    if len(held) < LEAST:
        return None
    own = ticks_to_ns(table.pts[held], table.time_base * SECOND_NS)
    ns = clock_map(opened, stream).forward(own)
    seconds = (ns - ns[0]) / SECOND_NS
    counted = table.samples.first[held] / timeline.rate
    tick = max(float(table.time_base), 0.001)
    joined = np.abs(np.diff(seconds) - np.diff(counted)) < 1.5 * tick
    return measured_pace(timeline.rate, seconds, counted, joined)


def measured_pace(
    rate: float, stamped: Floats, counted: Floats, joined: NDArray[np.bool_]
) -> Pace | None:
    """Compare seconds by stamps [N] with seconds by counting [N], over runs that are joined [N-1].

    One slope for all runs, by least squares, each about its own mean. None with too little.
    """
    run = np.append(0, np.cumsum(~joined))
    sizes = np.bincount(run)
    if sizes.max(initial=0) < LEAST or joined.mean() < REGULAR:
        return None
    late = stamped - counted
    x, y = (v - (np.bincount(run, v) / sizes)[run] for v in (counted, late))
    squares = float(x @ x)
    off = float(x @ y) / squares
    scatter = float(np.quantile(np.abs(y - off * x), 0.95))
    span_s = float(np.sqrt(12 * squares / len(x)))  # of evenly spread rows in one run
    return Pace(rate, off, 2 * scatter / span_s, span_s)
