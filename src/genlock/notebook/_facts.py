"""What a stream's times say of it: span, rate, jitter, gaps, lost rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock.stream import Stream
from genlock.timeline import SampledTimeline

GAP_PERIODS = 3
"""A step of more than this many median periods is a gap: where interpolation stops by default."""
JITTER_PERCENTILE = 95
ROWS_PER_BIN = 4


@dataclass(frozen=True)
class Facts:
    """Numbers about one stream with rows, all in ns on the recording's clock.

    rate: Hz by the median period, or None. jitter_ns: 95th percentile of |step - median|, gaps
    left out. gaps: half-open (start, end). lost: entries that the source dropped or lists but
    lacks, and rows it marks invalid.
    """

    start_ns: int
    end_ns: int
    rows: int
    rate: float | None
    jitter_ns: int
    gaps: tuple[tuple[int, int], ...]
    lost: int


def facts_of(stream: Stream) -> Facts:
    """The facts of a stream that has times. Audio is not expanded to a time per sample."""
    timeline, report = stream.timeline, stream.info.report
    period_ns = timeline.period_ns
    steady = bool(period_ns) and stream.info.modality != "labels"
    rate = SECOND_NS / period_ns if steady else None
    if isinstance(timeline, SampledTimeline):
        rate = timeline.rate
        jitter_ns, gaps = 0, _holes(timeline)
        invalid = timeline.count - sum(stop - start for start, stop in timeline.segments)
    else:
        jitter_ns, gaps = _steps(timeline.ns, timeline.durations_ns, period_ns)
        invalid = 0 if timeline.valid is None else int((~timeline.valid).sum())
    return Facts(
        timeline.start_ns,
        max(timeline.end_ns, timeline.start_ns + 1),
        len(timeline),
        rate,
        jitter_ns if steady else 0,
        gaps if steady else (),
        report.dropped + max(report.missing, invalid),
    )


def _holes(timeline: SampledTimeline) -> tuple[tuple[int, int], ...]:
    ends = [end for _, end in timeline.segments[:-1]]
    starts = [start for start, _ in timeline.segments[1:]]
    times = timeline.at(np.array([*ends, *starts], np.int64)).tolist()
    return tuple(zip(times[: len(ends)], times[len(ends) :], strict=True))


def _steps(
    ns: NDArray[np.int64], durations_ns: NDArray[np.int64] | None, period_ns: int
) -> tuple[int, tuple[tuple[int, int], ...]]:
    steps = np.diff(ns)
    reach = period_ns if durations_ns is None else np.maximum(durations_ns[:-1], period_ns)
    wide = (steps > GAP_PERIODS * period_ns) & (steps > GAP_PERIODS * reach)
    even = np.abs(steps[~wide] - period_ns)
    jitter_ns = int(np.percentile(even, JITTER_PERCENTILE)) if len(even) else 0
    edges = zip(ns[:-1][wide].tolist(), ns[1:][wide].tolist(), strict=True)
    return jitter_ns, tuple(edges)


def density(
    stream: Stream, facts: Facts, most: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows per bin over the stream's span, as a share of the usual number, at most 1.

    Returns the bins' edges in ns, int64 [B + 1], and float64 [B], with B <= most. One row more or
    less than usual only says where a bin's edge fell, and counts as usual.
    """
    bins = max(1, min(most, facts.rows // ROWS_PER_BIN))
    edges = np.linspace(facts.start_ns, facts.end_ns, bins + 1).astype(np.int64)
    counts = np.array([s.stop - s.start for s in map(stream.timeline.rows_in, edges, edges[1:])])
    usual = max(1.0, float(np.median(counts)))
    return edges, np.where(np.abs(counts - usual) <= 1, 1.0, np.minimum(counts / usual, 1.0))
