"""Where the packets of an audio track lie on its clock, to the sample.

Time stamps say when a packet is, but only to a tick, which in Matroska is 48 samples long; the
samples themselves say how long it is. So packets are laid end to end, and moved only where their
stamps leave that line for good: that is a hole, or an overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor

import numpy as np
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS
from genlock._nanoseconds import SECOND_NS, ticks_to_ns
from genlock.interfaces import UnitSamples
from genlock.sources._packet_log import Columns
from genlock.timeline import Report

Counts = NDArray[np.int64]

JITTER_S = 0.002
"""Stamps this far from the line are rounding, if not a tick is longer: milliseconds that were
rounded twice, by a stream that was copied from one container to another."""


@dataclass(frozen=True)
class RawSamples:
    """What each packet decodes to: `count` samples, of which the first `skip` (which may reach
    into the packets after) and the last `pad` are not part of the stream. int64 [U] each."""

    count: Counts
    skip: Counts
    pad: Counts


@dataclass(frozen=True)
class Placement:
    """An audio track on its clock: see `SampledTimeline` for first_ns and segments."""

    samples: UnitSamples
    first_ns: int
    segments: tuple[tuple[int, int], ...]
    report: Report


def place(columns: Columns, rate: int, raw: RawSamples) -> Placement:
    """Find which samples of the stream each packet holds.

    Where packets overlap, the later one holds the samples they share; a packet that starts no
    later than one before it holds none. Both are counted in the report.
    """
    front = _front(raw, columns.discard)
    line = _line(columns, rate, raw.count)
    start = line + front
    count = np.maximum(raw.count - front - raw.pad, 0)
    backward = (count > 0) & (start <= _latest_before(start, count > 0))
    count[backward] = 0
    kept = np.flatnonzero(count)
    if not len(kept):
        return Placement(UnitSamples(count, count, front), 0, (), Report())
    room = np.diff(start[kept])
    cut = np.maximum(count[kept[:-1]] - room, 0)
    count[kept[:-1]] -= cut
    first = np.zeros_like(start)
    first[kept] = start[kept] - start[kept[0]]
    segments = _segments(first[kept], count[kept])
    stop = np.maximum.accumulate(first + count)
    return Placement(
        UnitSamples(np.where(count > 0, first, stop), count, front),
        _time_of(columns, rate, line, int(kept[0]), int(start[kept[0]])),
        segments,
        _report(segments, int(cut.sum()), int(backward.sum())),
    )


def _front(raw: RawSamples, discard: NDArray[np.bool_]) -> Counts:
    """How many samples each packet loses at its start."""
    front = np.zeros_like(raw.count)
    left = 0
    for index, (count, skip) in enumerate(zip(raw.count.tolist(), raw.skip.tolist(), strict=True)):
        left = skip or left
        front[index] = min(left, count)
        left -= min(left, count)
    front[discard] = raw.count[discard]
    return front


def _line(columns: Columns, rate: int, count: Counts) -> Counts:
    """Sample position of each packet, from the first stated stamp on."""
    laid = np.cumsum(count) - count
    stated = np.flatnonzero(columns.pts != NO_TICKS)
    if not len(stated):
        return laid
    tick = float(columns.time_base * rate)
    elapsed = columns.pts - columns.pts[stated[0]]
    away = np.where(columns.pts == NO_TICKS, 0.0, elapsed * tick - (laid - laid[stated[0]]))
    latest = np.maximum.accumulate(np.where(columns.pts == NO_TICKS, 0, np.arange(len(laid))))
    away = _without_outliers(away[latest])
    tolerance = max(tick, JITTER_S * rate)
    moved, current = np.zeros_like(laid), 0.0
    for index, distance in enumerate(away.tolist()):
        if abs(distance - current) > tolerance:
            current = distance
        moved[index] = round(current)
    return laid + moved


def _without_outliers(away: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median of three: a stamp that the next one takes back is wrong (Ogg Vorbis has them, where
    long blocks turn into short ones), while a hole stays."""
    before, after = np.append(away[:1], away[:-1]), np.append(away[1:], away[-1:])
    low, high = np.minimum(before, away), np.maximum(before, away)
    return np.maximum(low, np.minimum(high, after))


def _latest_before(start: Counts, kept: NDArray[np.bool_]) -> Counts:
    latest = np.maximum.accumulate(np.where(kept, start, np.iinfo(np.int64).min))
    return np.append(np.iinfo(np.int64).min, latest[:-1])


def _segments(first: Counts, count: Counts) -> tuple[tuple[int, int], ...]:
    stop = first + count
    breaks = np.flatnonzero(first[1:] > stop[:-1])
    starts = first[np.append(0, breaks + 1)]
    stops = stop[np.append(breaks, len(stop) - 1)]
    return tuple(zip(starts.tolist(), stops.tolist(), strict=True))


def _time_of(columns: Columns, rate: int, line: Counts, unit: int, sample: int) -> int:
    """Time of a sample in a unit: of that unit's stamp, and what lies between, to the tick."""
    stated = np.flatnonzero(columns.pts != NO_TICKS)
    if not len(stated):
        return 0
    stamped = stated[max(int(np.searchsorted(stated, unit, "right")) - 1, 0)]
    ticks = floor((sample - int(line[stamped])) / (columns.time_base * rate) + Fraction(1, 2))
    return int(ticks_to_ns(columns.pts[[stamped]] + ticks, columns.time_base * SECOND_NS)[0])


def _report(segments: tuple[tuple[int, int], ...], overlap: int, backward: int) -> Report:
    holes = sum(b[0] - a[1] for a, b in pairwise(segments))
    notes = [
        f"{count} {what}"
        for count, what in (
            (holes, f"samples are missing in {len(segments) - 1} holes"),
            (overlap, "samples overlap with the packet after and were dropped"),
            (backward, "packets start before others that came earlier and were dropped"),
        )
        if count
    ]
    return Report(dropped=backward, missing=holes, notes=tuple(notes))
