"""Plans against a brute-force reading of the alignment rules."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rows import MS, NOW_NS, Row, streams

from genlock._field import GridField
from genlock._nanoseconds import exact
from genlock.align import Plan, apply, grid, plan, plan_field, plan_fields, together
from genlock.errors import FieldError
from genlock.fields import Sensor, Video
from genlock.timeline import Timeline

METHODS = ("nearest", "previous", "next", "linear", "slerp")

# The rules, one grid time and one row after the other


@dataclass(frozen=True)
class Entry:
    left: int = 0
    right: int = 0
    weight: Fraction = Fraction(0)
    source: int | None = None  # None: masked


def one(row: Row | None) -> Entry:
    return Entry() if row is None else Entry(row.index, row.index, source=row.time)


def reference(
    time: int, rows: list[Row], method: str, tolerance: int | None, max_gap: int | None
) -> Entry:
    steps = [b.time - a.time for a, b in pairwise(rows) if b.time > a.time]
    period = int(median(steps)) if steps else 0
    if tolerance is None:
        tolerance = period * (Fraction(3, 4) if method == "nearest" else Fraction(3, 2))
    if max_gap is None:
        max_gap = 3 * period
    usable = [row for row in rows if row.valid]
    if method in ("linear", "slerp"):
        return blended(time, usable, max_gap)
    shown = [row for row in usable if row.time <= time][-1:]
    holding = [row for row in shown if time < row.time + row.duration]
    if method == "previous":
        close = [row for row in shown if time - row.time <= tolerance]
        return one(next(iter(holding + close), None))
    if method == "next":
        coming = [row for row in usable if row.time >= time][:1]
        return one(next((row for row in coming if row.time - time <= tolerance), None))
    close = [row for row in usable if abs(row.time - time) <= tolerance]
    return one(
        min(
            close + holding,
            key=lambda row: (abs(row.time - time), row.time, row.index),
            default=None,
        )
    )


def blended(time: int, usable: list[Row], max_gap: int) -> Entry:
    hits = [row for row in usable if row.time == time]
    if hits:
        return one(hits[0])
    before = [row for row in usable if row.time < time]
    after = [row for row in usable if row.time > time]
    if not before or not after or after[0].time - before[-1].time > max_gap:
        return Entry()
    left, right = before[-1], after[0]
    weight = Fraction(time - left.time, right.time - left.time)
    source = left.time if weight <= Fraction(1, 2) else right.time
    return Entry(left.index, right.index, weight, source)


def check(found: Plan, times: list[int], expected: list[Entry]) -> None:
    assert found.grid_ns.tolist() == times
    assert found.mask.tolist() == [entry.source is not None for entry in expected]
    assert found.rows.tolist() == [[entry.left, entry.right] for entry in expected]
    assert found.weight.tolist() == [float(entry.weight) for entry in expected]
    sources = [t if e.source is None else e.source for t, e in zip(times, expected, strict=True)]
    assert found.source_ns.tolist() == sources
    assert found.grid_ns.dtype == found.rows.dtype == found.source_ns.dtype == np.int64
    assert found.rows.shape == (len(times), 2)


def times_near(rows: list[Row]) -> st.SearchStrategy[list[int]]:
    """Grid times at, around, between and beyond rows."""
    marks = [row.time for row in rows] or [0]
    marks += [(a + b) // 2 for a, b in pairwise(marks)]
    close = st.builds(int.__add__, st.sampled_from(marks), st.sampled_from([0, 0, -1, 1, 7, -8]))
    return st.lists(close | st.integers(marks[0] - 50, marks[0] + 300), max_size=12)


@settings(max_examples=400)
@given(
    streams(),
    st.sampled_from(METHODS),
    st.none() | st.integers(0, 45) | st.just(10**30),
    st.none() | st.integers(0, 80) | st.just(10**30),
    st.data(),
)
def test_a_plan_follows_the_rules(stream, method, tolerance, max_gap, data):
    timeline, valid, rows = stream
    times = data.draw(times_near(rows))
    found = plan(
        np.array(times, np.int64),
        timeline,
        method=method,
        tolerance_ns=tolerance,
        max_gap_ns=max_gap,
        valid=valid,
    )
    check(found, times, [reference(t, rows, method, tolerance, max_gap) for t in times])


@given(streams(), st.sampled_from(METHODS), st.data())
def test_a_time_has_one_plan_whatever_else_is_asked(stream, method, data):
    timeline, valid, rows = stream
    times = np.array([0, *data.draw(times_near(rows))], np.int64)
    whole = plan(times, timeline, method=method, valid=valid)
    entry = data.draw(st.integers(0, len(times) - 1))
    alone = plan(times[entry : entry + 1], timeline, method=method, valid=valid)
    for name in ("rows", "weight", "mask", "source_ns"):
        assert getattr(alone, name)[0].tolist() == getattr(whole, name)[entry].tolist()


# Chosen rows, by hand


def chosen(times: list[int], timeline: Timeline, method: str, **limits: int) -> list[int | None]:
    found = plan(np.array(times), timeline, method=method, **limits)
    assert found.weight.max(initial=0) == 0
    return [int(found.rows[i, 0]) if ok else None for i, ok in enumerate(found.mask)]


def test_the_tolerance_of_nearest_is_three_quarters_of_a_period_inclusive():
    timeline = Timeline([0, 100, 200])
    times = [-76, -75, 50, 51, 275, 276]
    assert chosen(times, timeline, "nearest") == [None, 0, 0, 1, 2, None]
    assert chosen([150, 151], timeline, "nearest", tolerance_ns=50) == [1, 2]
    assert chosen([149, 150, 151], timeline, "nearest", tolerance_ns=49) == [1, None, 2]


def test_a_player_shows_the_previous_frame_until_the_next():
    timeline = Timeline([0, 100, 200])
    assert chosen([-1, 0, 99, 100, 199, 350, 351], timeline, "previous") == [
        None, 0, 0, 1, 1, 2, None,
    ]  # fmt: skip
    assert chosen([-151, -150, 0, 1, 200, 201], timeline, "next") == [None, 0, 0, 1, 2, None]


def test_a_frame_is_held_for_its_duration():
    timeline = Timeline([0, 100, 1000], np.array([100, 900, 100]))
    assert timeline.period_ns == 500
    limits = {"tolerance_ns": 10}
    assert chosen([700, 989, 990, 1099, 1100], timeline, "nearest", **limits) == [1, 1, 2, 2, None]
    assert chosen([990, 1099, 1100], timeline, "previous", **limits) == [1, 2, None]
    assert chosen([700, 990], timeline, "next", **limits) == [None, 2]


def test_the_last_of_equal_frames_is_the_one_that_is_held():
    timeline = Timeline([0, 0, 100], np.array([0, 100, 100]))
    assert chosen([0, 5, 60], timeline, "previous", tolerance_ns=5) == [1, 1, 1]
    assert chosen([0, 5, 60], timeline, "nearest", tolerance_ns=5) == [0, 0, 1]
    assert chosen([0], timeline, "next") == [0]


def test_the_source_of_a_blend_is_the_nearer_row_and_the_earlier_on_a_tie():
    found = plan(np.array([4, 5, 6]), Timeline([0, 10]), method="linear")
    assert found.source_ns.tolist() == [0, 0, 10]
    assert found.weight.tolist() == [0.4, 0.5, 0.6]


def test_one_row_serves_exact_hits_or_its_duration():
    assert chosen([9, 10, 11], Timeline([10]), "nearest") == [None, 0, None]
    assert chosen([9, 10, 11], Timeline([10]), "linear") == [None, 0, None]
    held = Timeline([10], np.array([5]))
    assert chosen([9, 10, 14, 15], held, "nearest") == [None, 0, 0, None]
    assert chosen([9, 10, 14, 15], held, "previous") == [None, 0, 0, None]


@pytest.mark.parametrize("method", METHODS)
def test_nothing_serves_where_there_are_no_rows(method):
    none_valid = Timeline([1, 2], valid=np.zeros(2, np.bool_))
    for timeline in (Timeline([]), none_valid):
        found = plan(np.array([1, 5]), timeline, method=method, tolerance_ns=10**30)
        check(found, [1, 5], [Entry(), Entry()])
        assert apply(found, np.zeros((len(timeline), 2))).tolist() == [[0, 0], [0, 0]]
    check(plan(np.array([], np.int64), Timeline([1]), method=method), [], [])


# Grids and fields


@pytest.mark.parametrize("rate", [29.97, 30_000 / 1001, 0.1, 1e3 / 3, 30, 7])
@given(start=st.integers(0, NOW_NS), duration=st.integers(0, 2 * 10**9))
def test_a_rate_grid_follows_its_formula(rate, start, duration):
    expected, k = [], 0
    while k * 10**9 / exact(rate) < duration:
        expected.append(start + floor(k * 10**9 / exact(rate) + Fraction(1, 2)))
        k += 1
    assert grid(Sensor("s", rate=rate), Timeline([]), start, duration, None).tolist() == expected


def test_offsets_count_from_the_start_and_may_leave_the_window():
    field = Video("v", offsets=[-0.1, 0, 0.0333333333, 2])
    expected = [NOW_NS - 100_000_000, NOW_NS, NOW_NS + 33_333_333, NOW_NS + 2_000_000_000]
    assert grid(field, Timeline([]), NOW_NS, 10**9, None).tolist() == expected


def test_at_takes_the_rows_that_the_other_used():
    rgb = Video("v", rate=10, tolerance=0.05)
    frames = plan_field(rgb, Timeline([3, 104 * MS, 420 * MS]), 0, 500 * MS)
    assert frames.mask.tolist() == [True, True, False, False, True]
    used = [3, 104 * MS, 200 * MS, 300 * MS, 420 * MS]
    depth = Video("d", at="rgb", tolerance=0.005)
    assert grid(depth, Timeline([]), 0, 1, frames).tolist() == used
    found = plan_field(depth, Timeline([0, 200 * MS, 424 * MS]), 0, 500 * MS, at=frames)
    assert found.mask.tolist() == [True, False, True, False, True]  # also where rgb has nothing
    assert found.source_ns.tolist() == [0, 104 * MS, 200 * MS, 300 * MS, 424 * MS]
    with pytest.raises(FieldError, match="'rgb'"):
        plan_field(depth, Timeline([0]), 0, 1)


@given(streams(), st.integers(-20, 200), st.integers(0, 120), st.sampled_from(["linear", "next"]))
def test_a_native_grid_lists_every_row_as_itself(stream, elapsed, duration, method):
    timeline, valid, rows = stream
    start = (rows[0].time if rows else 0) + elapsed
    field = Sensor("s", method=method, tolerance=10, max_gap=10)
    found = plan_field(field, timeline, start, duration, valid=valid)
    window = [row for row in rows if start <= row.time < start + duration]
    assert grid(field, timeline, start, duration, None).tolist() == found.grid_ns.tolist()
    check(found, [r.time for r in window], [one(r) if r.valid else Entry() for r in window])


ENTRIES = ("grid_ns", "rows", "weight", "mask", "source_ns")


def alike(one: Plan, other: Plan) -> bool:
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in ENTRIES)


@settings(max_examples=200)
@given(
    streams(),
    st.sampled_from([{"rate": 10**8}, {"offsets": (0, 3e-8, -1e-8)}, {"at": "other"}, {}]),
    st.sampled_from(("nearest", "previous", "next", "linear")),
    st.lists(st.tuples(st.integers(-40, 200), st.integers(0, 90)), min_size=1, max_size=5),
)
def test_windows_planned_together_are_as_each_alone(stream, options, method, spans):
    timeline, valid, rows = stream
    base = rows[0].time if rows else 0
    windows = [(base + elapsed, duration) for elapsed, duration in spans]
    other = Video("v", rate=5 * 10**7)
    at = [plan_field(other, timeline, *window) if "at" in options else None for window in windows]
    field = Sensor("s", method=method, **options)
    usable = timeline if valid is None else timeline.only(valid)
    together = plan_fields(field, usable, windows, at)
    for found, window, rows_of in zip(together, windows, at, strict=True):
        assert alike(found, plan_field(field, timeline, *window, at=rows_of, valid=valid))
    joined = Plan.joined(together)
    parted = joined.parted([len(found.mask) for found in together])
    assert all(map(alike, parted, together))
    entries = {name: [getattr(found, name) for found in together] for name in ENTRIES}
    for name, parts in entries.items():
        assert getattr(joined, name).tolist() == [
            entry for part in parts for entry in part.tolist()
        ]


@given(st.lists(st.sampled_from([0, 1, 2**11, 2**12, 2**13, 2**14]), max_size=12))
def test_windows_are_handled_together_up_to_a_size(lengths):
    runs = list(together(lengths))
    assert [i for run in runs for i in range(len(lengths))[run]] == list(range(len(lengths)))
    sizes = [sum(lengths[run]) for run in runs]
    assert all(
        size <= 2**13 or max(lengths[run]) == size for size, run in zip(sizes, runs, strict=True)
    )
    assert all(a + lengths[run.start] > 2**13 for a, run in zip(sizes, runs[1:], strict=False))


def test_many_long_windows_are_planned_as_each_alone():
    timeline = Timeline(np.arange(4000) * 5 * MS)
    field, at = Sensor("s", rate=1000), [None] * 9
    windows = [(i * 1700 * MS, 3000 * MS) for i in range(9)]
    plans = plan_fields(field, timeline, windows, at)
    assert len(list(together([3000] * 9))) > 1
    assert all(
        alike(p, plan_field(field, timeline, *w)) for p, w in zip(plans, windows, strict=True)
    )


def test_a_field_s_options_reach_the_plan():
    timeline = Timeline(np.arange(10) * 100 * MS)

    def mask(field: GridField, valid: np.ndarray | None = None) -> list[bool]:
        return plan_field(field, timeline, 90 * MS, 30 * MS, valid=valid).mask.tolist()

    assert mask(Sensor("s", rate=100, max_gap=0.1)) == [True, True, True]
    assert mask(Sensor("s", rate=100, max_gap=0.099)) == [False, True, False]
    assert mask(Video("v", rate=100, tolerance=0.005)) == [False, True, False]
    assert mask(Video("v", rate=100, method="next", tolerance=0.01)) == [True, True, False]
    hole = np.arange(10) != 1
    assert mask(Sensor("s", rate=100), hole) == [True, True, True]
    assert mask(Sensor("s", rate=100, max_gap=0.1), hole) == [False, False, False]
