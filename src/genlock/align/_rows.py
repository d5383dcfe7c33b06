"""Which rows of a stream serve which grid times: timestamps alone, nothing is decoded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from genlock import _neighbours
from genlock._field import HOLD_TOLERANCE, MAX_GAP, NEAREST_TOLERANCE, GridField, Method
from genlock._nanoseconds import Nanoseconds, regular_grid, to_ns
from genlock.errors import FieldError
from genlock.timeline import Timeline, rows_in

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]

FOREVER_NS = 2**62
"""146 years: looking farther than this finds nothing more, and int64 sums stay in range."""

TOGETHER = 2**13
"""Grid times whose arrays stay in a processor's cache, and need no memory to speak of."""


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

    @staticmethod
    def joined(plans: Sequence[Plan]) -> Plan:
        """The entries of several plans, one after another."""
        parts = ((p.grid_ns, p.rows, p.weight, p.mask, p.source_ns) for p in plans)
        return Plan(*map(np.concatenate, zip(*parts, strict=True)))

    def parted(self, lengths: Sequence[int]) -> list[Plan]:
        """Plans of so many entries each, which `joined` gives again."""
        parts = (slice(a, b) for a, b in pairwise(accumulate(lengths, initial=0)))
        grid_ns, rows, weight, mask, source_ns = (
            self.grid_ns,
            self.rows,
            self.weight,
            self.mask,
            self.source_ns,
        )
        return [Plan(grid_ns[p], rows[p], weight[p], mask[p], source_ns[p]) for p in parts]

    def masked(self, mask: Mask) -> Plan:
        """The same plan with the entries where `mask` is False masked as well."""
        mask = self.mask & mask
        rows, source_ns = self.rows * mask[:, None], np.where(mask, self.source_ns, self.grid_ns)
        return Plan(self.grid_ns, rows, self.weight * mask, mask, source_ns)


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
    if valid is not None:
        timeline = timeline.only(valid)
    return plan_fields(field, timeline, [(start_ns, duration_ns)], [at])[0]


def plan_fields(
    field: GridField,
    timeline: Timeline,
    windows: Sequence[tuple[int, int]],
    at: Sequence[Plan | None],
) -> list[Plan]:
    """Plan a field over several windows (start, duration): each as `plan_field` plans it.

    A plan says of each grid time what serves it, whatever the others are, so that windows are
    planned as one. at: for each window, the plan of the field that `field.at` names.
    """
    if field.native:
        return [_native(timeline, *window) for window in windows]
    pairs = zip(windows, at, strict=True)
    grids = [grid(field, timeline, *window, other) for window, other in pairs]
    lengths = [len(grid_ns) for grid_ns in grids]
    return [
        part
        for run in together(lengths)
        for part in plan_at(field, np.concatenate(grids[run]), timeline).parted(lengths[run])
    ]


def together(lengths: Sequence[int]) -> Iterator[slice]:
    """Runs of windows of so many grid times each that are best handled as one."""
    start = size = 0
    for i, length in enumerate(lengths):
        if size and size + length > TOGETHER:
            yield slice(start, i)
            start, size = i, 0
        size += length
    if lengths:
        yield slice(start, len(lengths))


def _native(timeline: Timeline, start_ns: int, duration_ns: int) -> Plan:
    window = timeline.rows_in(start_ns, start_ns + duration_ns)
    grid_ns, rows = timeline.ns[window], np.arange(window.start, window.stop)
    valid = np.ones(len(rows), np.bool_) if timeline.valid is None else timeline.valid[window]
    return _plan(grid_ns, rows, rows, grid_ns, grid_ns, valid)


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
    usable = (timeline if valid is None else timeline.only(valid)).usable
    near = rows_in(
        usable.ns,
        int(grid_ns.min(initial=FOREVER_NS)) - reach,
        int(grid_ns.max(initial=-FOREVER_NS)) + reach + 1,
    )
    times = usable.ns[near]
    if not len(times):
        nothing = np.zeros(len(grid_ns), np.int64)
        return _plan(grid_ns, nothing, nothing, grid_ns, grid_ns, nothing > 0)
    durations = None if usable.durations_ns is None else usable.durations_ns[near]
    left, right, mask = _neighbours.select(method, grid_ns, times, durations, limit)
    # most often all rows are usable: then none need be looked up in a list of those that are
    listed = None if usable.rows is None else usable.rows[near]
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
