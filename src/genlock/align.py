"""Alignment: which rows of a stream serve which grid times, and the values that come of it.

    grid()        field, window ─► the times to sample at
    plan()        grid, timeline ─► rows, weights, mask: nothing is decoded
    apply()       plan, rows' values ─► values at the grid times (apply_pose() for poses)
    plan_audio()  field, window ─► the run of samples that a window holds

Everything here is a pure function of its arguments on NumPy arrays, and thread-safe.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock import _neighbours, _rotation
from genlock._field import HOLD_TOLERANCE, MAX_GAP, NEAREST_TOLERANCE, GridField, Method
from genlock._nanoseconds import SECOND_NS, Nanoseconds, regular_grid, to_ns
from genlock.errors import FieldError
from genlock.fields import Audio
from genlock.timeline import SampledTimeline, Timeline

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

FOREVER_NS = 2**62
"""146 years: looking farther than this finds nothing more, and int64 sums stay in range."""


@dataclass(frozen=True)
class Plan:
    """What serves each of T grid times.

    grid_ns: int64 [T]. rows: int64 [T, 2], the left and right row, equal where nothing is blended,
    0 where masked. weight: float64 [T], of the right row. mask: bool [T], False where no row
    qualifies. source_ns: int64 [T], time of the row used, the nearer of two that are blended (tie:
    the earlier), the grid time where masked.
    """

    grid_ns: Nanoseconds
    rows: Rows
    weight: NDArray[np.float64]
    mask: Mask
    source_ns: Nanoseconds

    def masked(self, mask: Mask) -> Plan:
        """The same plan with the entries where `mask` is False masked as well."""
        mask = self.mask & mask
        rows, source_ns = self.rows * mask[:, None], np.where(mask, self.source_ns, self.grid_ns)
        return Plan(self.grid_ns, rows, self.weight * mask, mask, source_ns)


@dataclass(frozen=True)
class AudioPlan:
    """The samples of one window of a sound stream.

    rate: Hz, of the samples. first: position of the first one, on the stream at `rate`, counted
    from the stream's first sample; it may lie outside the stream. count: N. mask: bool [N], False
    in holes and outside the stream. grid_ns: int64 [1], the window's start. source_ns: int64 [1],
    time of sample `first`, the window's start where all of it is masked.
    """

    rate: int
    first: int
    count: int
    mask: Mask
    grid_ns: Nanoseconds
    source_ns: Nanoseconds


def grid(
    field: GridField, timeline: Timeline, start_ns: int, duration_ns: int, at: Plan | None
) -> Nanoseconds:
    """Give the times at which a field samples the window [start, start + duration): int64 [T] ns.

    at: the plan of the field that `field.at` names. Raises FieldError if it is needed and None, or
    for offsets that lead beyond 146 years; WindowError for more than 2**28 times.
    """
    if field.rate is not None:
        return regular_grid(start_ns, duration_ns, field.rate)
    if field.at is not None:
        if at is None:
            raise FieldError(f"the rows of {field.at!r} are needed first", stream=field.stream)
        return at.source_ns
    if field.offsets is not None:
        times = [start_ns + offset_ns for offset_ns in field.offsets_ns]
        if any(abs(time_ns) > FOREVER_NS for time_ns in times):
            raise FieldError(
                f"offsets of {field.stream!r} reach farther than 146 years: they are in seconds",
                stream=field.stream,
            )
        return np.array(times, np.int64)
    return timeline.ns[timeline.rows_in(start_ns, start_ns + duration_ns)]


def plan_field(
    field: GridField,
    timeline: Timeline,
    start_ns: int,
    duration_ns: int,
    at: Plan | None = None,
    valid: Mask | None = None,
) -> Plan:
    """Plan a field over the window [start, start + duration), by the field's own options.

    valid: bool [N], rows that hold something usable, on top of the timeline's own `valid`. A
    native grid lists every row of the window as itself, the invalid ones masked.
    """
    grid_ns = grid(field, timeline, start_ns, duration_ns, at)
    if field.native:
        window = timeline.rows_in(start_ns, start_ns + duration_ns)
        rows = np.arange(window.start, window.stop)
        return _plan(grid_ns, rows, rows, grid_ns, grid_ns, _valid(timeline, window, valid))
    return plan_at(field, grid_ns, timeline, valid)


def plan_at(
    field: GridField, grid_ns: Nanoseconds, timeline: Timeline, valid: Mask | None = None
) -> Plan:
    """Plan a field's method, tolerance and gap at any grid times; valid as in `plan_field`."""
    return plan(
        grid_ns,
        timeline,
        method=field.method,
        tolerance_ns=None if field.tolerance is None else to_ns(field.tolerance),
        max_gap_ns=None if field.max_gap is None else to_ns(field.max_gap),
        valid=valid,
    )


def plan(
    grid_ns: Nanoseconds,
    timeline: Timeline,
    *,
    method: Method,
    tolerance_ns: int | None = None,
    max_gap_ns: int | None = None,
    valid: Mask | None = None,
) -> Plan:
    """Choose the row, or the two rows to blend, for each grid time.

    grid_ns: int64 [T], in any order. tolerance_ns (`nearest`, `previous`, `next`), max_gap_ns
    (`linear`, `slerp`): inclusive; None gives the defaults of `fields`, which are 0 for a stream
    of one row. valid: bool [N], as in `plan_field`; rows that are not valid are as if absent, but
    count for the median period.

    Of rows that share a time, `previous` and blending towards later times take the last, all else
    the first. A grid time that a row hits exactly is never blended.
    """
    grid_ns = np.asarray(grid_ns, np.int64)
    limit = _limit(timeline, method, tolerance_ns, max_gap_ns)
    # Rows farther than `reach` from all grid times serve none, so only their neighbours are read.
    reach = min(max(limit, timeline.longest_ns), FOREVER_NS)
    near = timeline.rows_in(
        int(grid_ns.min(initial=FOREVER_NS)) - reach,
        int(grid_ns.max(initial=-FOREVER_NS)) + reach + 1,
    )
    usable = _valid(timeline, near, valid)
    # most often all are usable: then none need be looked up in a list of those that are
    listed = None if usable.all() else near.start + np.flatnonzero(usable)
    rows = near if listed is None else listed
    times = timeline.ns[rows]
    if not len(times):
        nothing = np.zeros(len(grid_ns), np.int64)
        return _plan(grid_ns, nothing, nothing, grid_ns, grid_ns, nothing > 0)
    durations = None if timeline.durations_ns is None else timeline.durations_ns[rows]
    left, right, mask = _neighbours.select(method, grid_ns, times, durations, limit)
    first, last = (near.start + i if listed is None else listed[i] for i in (left, right))
    return _plan(grid_ns, first, last, times[left], times[right], mask)


def _limit(
    timeline: Timeline, method: Method, tolerance_ns: int | None, max_gap_ns: int | None
) -> int:
    """How far a chosen row may be from the grid time, or two blended rows from each other."""
    periods: Fraction | int
    if method in ("linear", "slerp"):
        given_ns, periods = max_gap_ns, MAX_GAP
    else:
        given_ns = tolerance_ns
        periods = NEAREST_TOLERANCE if method == "nearest" else HOLD_TOLERANCE
    if given_ns is not None:
        return given_ns
    return periods.numerator * timeline.period_ns // periods.denominator


def _valid(timeline: Timeline, near: slice, valid: Mask | None) -> Mask:
    """Which rows of a slice hold something usable."""
    usable = np.ones(max(near.stop - near.start, 0), np.bool_)
    for mask in (timeline.valid, valid):
        if mask is not None:
            usable &= mask[near]
    return usable


def _plan(
    grid_ns: Nanoseconds,
    left: Rows,
    right: Rows,
    left_ns: Nanoseconds,
    right_ns: Nanoseconds,
    mask: Mask,
) -> Plan:
    """Weigh pairs of rows by their times, and blank what is masked."""
    since, gap = grid_ns - left_ns, right_ns - left_ns
    weight = np.zeros(len(grid_ns))
    np.divide(since, gap, out=weight, where=mask & (gap > 0))
    source_ns = np.where(since <= gap - since, left_ns, right_ns)
    rows = np.empty((len(grid_ns), 2), np.int64)
    rows[:, 0], rows[:, 1] = left, right
    if not mask.all():
        rows[~mask] = 0
        source_ns = np.where(mask, source_ns, grid_ns)
    return Plan(grid_ns, rows, weight, mask, source_ns)


def apply(plan: Plan, values: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Give the values at the grid times: [T, …], zeros where masked.

    values: [N, …] of all rows of the timeline, an array or a memory map. Rows are copied, or
    blended in float64 and then cast to the dtype of out (default: a new array of the values' own
    dtype). Raises FieldError if a row used holds NaN, and rather than blend into integers.
    """
    if out is None:
        out = np.empty((len(plan.mask), *values.shape[1:]), values.dtype)
    used = slice(None) if plan.mask.all() else np.flatnonzero(plan.mask)
    left, right = plan.rows[used].T
    found = np.asarray(values[left])
    if plan.weight.any():
        if out.dtype.kind != "f":
            raise FieldError(
                f"{out.dtype} values are never blended: use 'nearest', or a float dtype"
            )
        weight = plan.weight[used].reshape(-1, *(1,) * (values.ndim - 1))
        found = _rotation.lerp(found.astype(np.float64), values[right], weight)
    _refuse_nan(plan, found)
    if len(found) < len(out):
        out[...] = 0
    out[used] = found
    return out


def apply_pose(
    plan: Plan,
    poses: NDArray[Any],
    relative_to: str | None = None,
    mount: NDArray[np.float64] | None = None,
    reference: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Give the poses at the grid times: float64 [T, 7], tx ty tz qx qy qz qw, zeros where masked.

    poses: [N, 7] of all rows, T_parent_child. Translations are blended linearly, rotations by
    slerp. relative_to: "first" or "previous" among the valid entries, or None. mount: T_child_x
    [7], turns the poses into T_parent_x. reference: T_parent_other [T, 7] at the grid times, turns
    them into T_other_x. Quaternions have norm 1; their signs never flip from one valid entry to the
    next, the first being as stored; after relative_to="previous" each has w >= 0. Raises FieldError
    if a row used holds NaN or a quaternion of norm 0.
    """
    out = np.zeros((len(plan.mask), 7))
    used = np.flatnonzero(plan.mask)
    left, right = (np.asarray(poses[rows], np.float64) for rows in plan.rows[used].T)
    found = _rotation.between(left, right, plan.weight[used, None])
    _refuse_nan(plan, found)
    if mount is not None:
        found = _rotation.composed(found, mount[None])
    if reference is not None:
        found = _rotation.relative(found, reference[used])
    out[used] = _rotation.related(found, relative_to)
    return out


def _refuse_nan(plan: Plan, found: NDArray[Any]) -> None:
    """Raise FieldError for the first entry that is not a number. found: values of valid entries."""
    if found.dtype.kind != "f" or not np.isnan(found).any():
        return
    used = np.flatnonzero(plan.mask)
    entry = used[np.isnan(found).reshape(len(used), -1).any(axis=-1).argmax()]
    rows = " or ".join(str(row) for row in np.unique(plan.rows[entry]))
    raise FieldError(
        f"row {rows} holds no usable number: plan with valid= False for such rows",
        time_ns=int(plan.grid_ns[entry]),
    )


def plan_audio(
    field: Audio, timeline: SampledTimeline, start_ns: int, duration_ns: int
) -> AudioPlan:
    """Plan the N samples of the window: every k with k / rate < duration.

    They start at the sample nearest the window's start (tie: the earlier). A sample at the field's
    rate is valid if its position, in samples of the stream's own rate, lies in a segment.
    """
    rate = field.rate or timeline.rate
    first = timeline.nearest(start_ns, rate)
    count = max(0, -(-duration_ns * rate // SECOND_NS))
    mask = np.zeros(count, np.bool_)
    earliest = bisect_right(timeline.segments, first * timeline.rate // rate, key=itemgetter(1))
    for segment in timeline.segments[earliest:]:
        begin, end = (-(-edge * rate // timeline.rate) - first for edge in segment)
        if begin >= count:
            break
        mask[max(begin, 0) : max(end, 0)] = True
    grid_ns = np.array([start_ns], np.int64)
    source_ns = timeline.at(np.array([first]), rate) if mask.any() else grid_ns
    return AudioPlan(rate, first, count, mask, grid_ns, source_ns)
