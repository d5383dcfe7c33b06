"""Does a pose track turn when the gyroscope says so? Finds offset, drift and scale between them.

Both give the speed of turning, which does not depend on how the sensors are mounted: the
gyroscope as the norm of its vector, the poses as the angle between neighbours. Shifting one until
both agree best gives the offset of their clocks; doing so early and late gives the drift.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock.doctor.finding import Finding
from genlock.doctor.mending import earlier, slowed
from genlock.doctor.values import DEGREE_UNITS, DEGREES, rate_axes
from genlock.opened import POSE_COLUMNS, Opened
from genlock.stream import Stream

Floats = NDArray[np.float64]
SEARCH_S = 0.5
LEAST_S = 3.0
PIECE_NS = 30 * SECOND_NS
SAME_MOTION = 0.8
"""Correlation from which two tracks count as the motion of one body."""


class Track(NamedTuple):
    """Speed of turning, rad/s [N], at times in ns [N]."""

    ns: NDArray[np.int64]
    speed: Floats


class Match(NamedTuple):
    """How far the gyroscope is behind the poses, and how well both then agree."""

    lag_s: float
    correlation: float
    ratio: float


class Drift(NamedTuple):
    """How many seconds two clocks come apart, in how many."""

    moved_s: float
    apart_s: float


def pose_against_gyroscope(opened: Opened) -> Iterator[Finding]:
    """Offset, drift and scale between each pose stream and each gyroscope of the same body."""
    streams = [s for s in opened.streams.values() if s.problem is None and len(s.timeline) > 8]
    gyros = [s for s in streams if s.info.modality == "sensor" and rate_axes(s.info)]
    poses = [s for s in streams if s.info.modality == "pose"]
    for pose, gyro in product(poses, gyros):
        if opened.clock_of[pose.name] == opened.clock_of[gyro.name]:
            yield from _compare(opened, pose, gyro)


def _compare(opened: Opened, pose: Stream, gyro: Stream) -> Iterator[Finding]:
    turned, measured = _pose_track(opened, pose), _gyro_track(opened, gyro)
    whole = match(turned, measured)
    same = whole is not None and whole.correlation >= SAME_MOTION
    if whole is not None and same:
        yield from _apart(opened, pose, gyro, whole)
    # over a long recording drift blurs the whole, but neither of its ends
    if same or (pose.timeline.end_ns - pose.timeline.start_ns) > 2 * PIECE_NS:
        yield from _drift(opened, pose, gyro, drift(turned, measured))


def _apart(opened: Opened, pose: Stream, gyro: Stream, whole: Match) -> Iterator[Finding]:
    step_s = pose.timeline.period_ns / SECOND_NS
    if abs(whole.lag_s) > max(1.5 * step_s, 0.01):
        text = f"it is {1000 * whole.lag_s:+.1f} ms behind the rotations of {pose.name!r}"
        mended = earlier(opened, gyro, round(whole.lag_s * SECOND_NS))
        advice = f"align what wrote the stamps, or move its clock: {mended}"
        yield Finding("offset", "error", text, advice, gyro.name)
    if abs(whole.ratio / DEGREES - 1) < 0.2:
        text = f"it turns {whole.ratio:.1f} times as fast as {pose.name!r}"
        advice = f"it seems to be in degrees per second: divide by {DEGREES:.4f}"
        yield Finding("degrees", "error", text, advice, gyro.name)
    elif not 0.75 < whole.ratio < 1.33:
        text = f"it turns {whole.ratio:.3g} times as fast as {pose.name!r}"
        advice = "find out its unit and scale"
        yield Finding("scale", "warning", text, advice, gyro.name)


def _drift(opened: Opened, pose: Stream, gyro: Stream, found: Drift | None) -> Iterator[Finding]:
    if found and abs(found.moved_s) > max(pose.timeline.period_ns / SECOND_NS, 0.005):
        text = (
            f"it drifts against {pose.name!r}: {1000 * found.moved_s:+.1f} ms in "
            f"{found.apart_s:.1f} s ({1e6 * found.moved_s / found.apart_s:+.0f} ppm)"
        )
        mended = slowed(opened, gyro, found.moved_s / found.apart_s)
        advice = f"scale its clock, or give it knots where that is not even: {mended}"
        yield Finding("drift", "error", text, advice, gyro.name)


def drift(turned: Track, measured: Track) -> Drift | None:
    """How much farther the gyroscope is behind at the end of the poses than at their start.

    Between the first and the last half minute, or half. None if these are not the same motion.
    """
    if not len(turned.ns):
        return None
    start, end = int(turned.ns[0]), int(turned.ns[-1])
    piece = min((end - start) // 2, PIECE_NS)
    early = match(_cut(turned, start, start + piece), measured)
    late = match(_cut(turned, end - piece, end), measured)
    if early is None or late is None or min(early.correlation, late.correlation) < SAME_MOTION:
        return None
    return Drift(late.lag_s - early.lag_s, (end - start - piece) / SECOND_NS)


def match(turned: Track, measured: Track) -> Match | None:
    """Shift `measured` by up to half a second until it agrees best with `turned`.

    The sum of products over shifts, of both with their means taken off, with a parabola through
    the best three. None if there is not enough in common, or no motion.
    """
    step_ns = int(np.median(np.diff(turned.ns))) if len(turned.ns) > 1 else 0
    if step_ns <= 0 or (turned.ns[-1] - turned.ns[0]) < LEAST_S * SECOND_NS:
        return None
    reach = int(SEARCH_S * SECOND_NS) // step_ns + 1
    grid = np.arange(turned.ns[0], turned.ns[-1], step_ns)
    origin = int(grid[0])
    wide = np.arange(-reach, len(grid) + reach) * step_ns
    a = np.interp(grid - origin, turned.ns - origin, turned.speed)
    b = np.interp(wide, measured.ns - origin, measured.speed)
    scores = np.array([_correlation(a, b[k : k + len(a)]) for k in range(2 * reach + 1)])
    best = int(np.argmax(scores))
    if not 0 < best < 2 * reach:
        return None
    before, at, after = scores[best - 1 : best + 2]
    bend = before - 2 * at + after
    peak = best + (0.5 * (before - after) / bend if bend else 0.0)
    shifted = b[best : best + len(a)]
    moving = a > np.quantile(a, 0.5)
    ratio = float(np.median(shifted[moving] / np.maximum(a[moving], 1e-9)))
    return Match((peak - reach) * step_ns / SECOND_NS, float(at), ratio)


def _correlation(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 1e-9 * len(a) else 0.0


def _cut(track: Track, start_ns: int, end_ns: int) -> Track:
    inside = (track.ns >= start_ns) & (track.ns < end_ns)
    return Track(track.ns[inside], track.speed[inside])


def _pose_track(opened: Opened, stream: Stream) -> Track:
    values, whole, _ = opened.table(stream.name, POSE_COLUMNS, "float64")
    ns, q = stream.timeline.ns[whole], values[whole, 3:]
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    steps = np.diff(ns)
    # the chord between neighbours, since the arc cosine of nearly 1 loses half the digits
    chord = np.minimum(
        np.linalg.norm(q[1:] - q[:-1], axis=1), np.linalg.norm(q[1:] + q[:-1], axis=1)
    )
    angle = 4 * np.arcsin(np.minimum(chord / 2, 1))
    kept = steps > 0
    middle = ns[:-1] + steps // 2
    return Track(middle[kept], angle[kept] / (steps[kept] / SECOND_NS))


def _gyro_track(opened: Opened, stream: Stream) -> Track:
    axes = rate_axes(stream.info)
    assert axes is not None
    values, whole, _ = opened.table(stream.name, axes.columns, "float64")
    speed = np.linalg.norm(values[whole], axis=1)
    return Track(stream.timeline.ns[whole], speed / (DEGREES if axes.unit in DEGREE_UNITS else 1))
