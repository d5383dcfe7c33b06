"""Checks of one stream's times. Pure: they look at the timeline and the source's own report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock.doctor.finding import Finding, Severity, counted
from genlock.stream import Stream
from genlock.timeline import SampledTimeline

LOST, GAP = 1.5, 3.0
"""Steps of this many median periods: a row is lost; interpolation stops (default `max_gap`)."""
IRREGULAR = 0.2
"""Share of steps that differ by over a tenth from the median, above which the rate varies."""
JITTER = 0.2
"""Spread of steps, in median periods, worth a word: half the rows then lie that far off."""


def problem(stream: Stream) -> Iterator[Finding]:
    """A stream that is listed but cannot be used: no file, no unit of its times, unreadable."""
    if stream.problem is not None:
        text = getattr(stream.problem, "message", str(stream.problem))
        advice = "supply what is missing, or leave the stream out with over=[…] and other fields"
        yield Finding("stream", "error", text, advice, stream.name)
    elif not len(stream.timeline):
        advice = "leave it out of fields and over=[…]"
        yield Finding("stream", "note", "it holds no rows", advice, stream.name)


def missing(stream: Stream) -> Iterator[Finding]:
    """Rows that a listing names and whose files are absent; see `holes` for sound."""
    count = stream.info.report.missing
    if count and not isinstance(stream.timeline, SampledTimeline):
        valid = stream.timeline.valid
        first = None
        if valid is not None and not valid.all():
            first = int(stream.timeline.ns[np.argmin(valid)])
        text = f"{counted(count, 'row')} listed whose file is not there"
        advice = "copy the files, or train with masks: those rows are never used"
        yield Finding("missing-files", "error", text, advice, stream.name, first, count)


def dropped_stamps(stream: Stream) -> Iterator[Finding]:
    """Rows left out when opening, since their stamps cannot be times."""
    if count := stream.info.report.dropped:
        text = f"{counted(count, 'row')} with a negative or placeholder stamp, left out"
        advice = "repair the stamps where they are written"
        yield Finding("bad-stamps", "warning", text, advice, stream.name, count=count)


def reordered(stream: Stream) -> Iterator[Finding]:
    """Rows that stood in another order than their stamps."""
    if count := stream.info.report.reordered:
        text = f"{counted(count, 'row')} stored out of order, and sorted"
        advice = "check whether the clock was set back while recording"
        yield Finding("out-of-order", "warning", text, advice, stream.name, count=count)


def duplicates(stream: Stream) -> Iterator[Finding]:
    """Rows with the stamp of the row before."""
    if stream.problem is not None or isinstance(stream.timeline, SampledTimeline):
        return
    if stream.info.modality == "labels":
        return
    same = np.flatnonzero(np.diff(stream.timeline.ns) == 0)
    if len(same):
        text = f"{counted(len(same), 'row')} with the stamp of the row before"
        advice = "stamps are too coarse or rows were written twice: of equals the first is used"
        first = int(stream.timeline.ns[same[0]])
        yield Finding("duplicate-stamps", "warning", text, advice, stream.name, first, len(same))


def lost_rows(stream: Stream) -> Iterator[Finding]:
    """Single rows that a regular stream lacks."""
    steps = _steps(stream)
    if _varies(steps):
        return
    short = np.flatnonzero((steps > LOST) & (steps <= GAP))
    if len(short):
        lost = int(np.rint(steps[short] - 1).sum())
        share = lost / (lost + len(stream.timeline))
        text = f"{counted(lost, 'single row')} lost ({share:.2%})"
        advice = "grid times there take a neighbour within the tolerance, or are interpolated"
        first = int(stream.timeline.ns[short[0]])
        yield Finding("lost-rows", "warning", text, advice, stream.name, first, lost)


def gaps(stream: Stream) -> Iterator[Finding]:
    """Stretches without rows that are too long to interpolate over."""
    steps = _steps(stream)
    long = np.flatnonzero(steps > GAP)
    if len(long):
        worst = float(steps[long].max()) * stream.timeline.period_ns / SECOND_NS
        text = f"{counted(len(long), 'gap')} of over {GAP:g} periods, the longest {worst:.3f} s"
        advice = "grid times inside are masked; drop such windows with Windows.where(min_valid=…)"
        first = int(stream.timeline.ns[long[0]])
        severity: Severity = "note" if _varies(steps) else "warning"
        yield Finding("gaps", severity, text, advice, stream.name, first, len(long))


def holes(stream: Stream) -> Iterator[Finding]:
    """Stretches of sound that the file does not hold."""
    timeline = stream.timeline
    if isinstance(timeline, SampledTimeline) and len(timeline.segments) > 1:
        ends = [stop for _, stop in timeline.segments[:-1]]
        starts = [start for start, _ in timeline.segments[1:]]
        lost = sum(start - end for start, end in zip(starts, ends, strict=True))
        text = f"{counted(len(ends), 'hole')} in the sound, {lost / timeline.rate:.3f} s in all"
        advice = "samples inside are zero and masked; drop such windows with Windows.where"
        first = int(timeline.at(np.array(ends[:1], np.int64))[0])
        yield Finding("gaps", "warning", text, advice, stream.name, first, len(ends))


def jitter(stream: Stream) -> Iterator[Finding]:
    """Rows that come at uneven steps."""
    steps = _steps(stream)
    steps = steps[steps <= LOST]
    if len(steps) < 8:
        return
    spread = float(np.median(np.abs(steps - 1)))
    if spread > JITTER:
        text = f"half the rows come over {spread:.0%} of a period early or late"
        advice = "ask for a tolerance that covers it, and do not count frames: use the stamps"
        yield Finding("jitter", "warning", text, advice, stream.name)
    elif _varies(steps):
        text = "the rate varies"
        advice = "nothing, if it was meant to: times come from the stamps"
        yield Finding("jitter", "note", text, advice, stream.name)


def _steps(stream: Stream) -> NDArray[np.float64]:
    """Steps between rows in median periods; none for what has no rate: labels, sound, too few."""
    timeline = stream.timeline
    rated = stream.problem is None and stream.info.modality != "labels"
    if not rated or isinstance(timeline, SampledTimeline) or not timeline.period_ns:
        return np.empty(0)
    return np.asarray(np.diff(timeline.ns) / timeline.period_ns, np.float64)


def _varies(steps: NDArray[np.float64]) -> bool:
    """Whether a stream has no one rate, so that a long step does not mean a lost row."""
    return bool(len(steps)) and float(np.mean(np.abs(steps - 1) > 0.1)) > IRREGULAR
