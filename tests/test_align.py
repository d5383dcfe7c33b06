"""Plans against a brute-force reading of the alignment rules, and values against fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor
from pathlib import Path
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genlock._field import GridField
from genlock._nanoseconds import exact
from genlock.align import Plan, apply, apply_pose, grid, plan, plan_audio, plan_field
from genlock.clock import ClockMap
from genlock.errors import FieldError
from genlock.fields import Audio, Pose, Sensor, Video
from genlock.timeline import SampledTimeline, Timeline, settle

NOW_NS = 1_700_000_000_123_456_789
MS = 1_000_000
METHODS = ("nearest", "previous", "next", "linear", "slerp")

# The rules, one grid time and one row after the other


@dataclass(frozen=True)
class Row:
    index: int
    time: int
    duration: int
    valid: bool


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


@st.composite
def streams(draw: st.DrawFn) -> tuple[Timeline, np.ndarray | None, list[Row]]:
    """Up to 14 rows with ties, gaps, durations and invalid rows, said by one mask or two."""
    base = draw(st.sampled_from([0, NOW_NS]))
    steps = draw(st.lists(st.sampled_from([0, 1, 4, 10, 10, 10, 11, 35]), max_size=14))
    times = (base + np.cumsum(steps, dtype=np.int64)).tolist()
    count = len(times)
    lists = st.lists(st.integers(0, 40), min_size=count, max_size=count)
    flags = st.lists(
        st.sampled_from([True, True, True, False]), min_size=count, max_size=count
    ).map(lambda bits: np.array(bits, np.bool_))
    durations = draw(st.none() | lists)
    stated, given_ = draw(st.none() | flags), draw(st.none() | flags)
    valid = np.ones(count, np.bool_)
    for mask in (stated, given_):
        valid &= True if mask is None else mask
    rows = [
        Row(i, time, durations[i] if durations else 0, bool(valid[i]))
        for i, time in enumerate(times)
    ]
    as_array = None if durations is None else np.array(durations, np.int64)
    return Timeline(np.array(times, np.int64), as_array, stated), given_, rows


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


# Values


@given(streams(), st.lists(st.integers(-30, 200), max_size=12), st.integers(0, 2**32))
def test_linear_values_follow_the_line(stream, elapsed, seed):
    timeline, valid, rows = stream
    values = np.random.default_rng(seed).integers(-1000, 1000, (len(rows), 3)).astype(np.float64)
    found = plan(
        np.array(elapsed, np.int64) + (rows[0].time if rows else 0),
        timeline,
        method="linear",
        valid=valid,
    )
    expected = np.zeros((len(elapsed), 3))
    for i, ok in enumerate(found.mask):
        if ok:
            left, right = found.rows[i]
            weight = Fraction(found.weight[i])
            line = [
                Fraction(a) + (Fraction(b) - Fraction(a)) * weight
                for a, b in zip(values[left], values[right], strict=True)
            ]
            expected[i] = [float(v) for v in line]
    np.testing.assert_allclose(apply(found, values), expected, rtol=0, atol=1e-12)


def test_chosen_values_are_copied_bit_for_bit():
    ids = np.array([2**63 - 1, -(2**63) + 1, 7])
    found = plan(np.array([0, 14, 16, 99]), Timeline([0, 10, 20]), method="nearest")
    assert apply(found, ids).tolist() == [2**63 - 1, -(2**63) + 1, 7, 0]
    assert apply(found, ids).dtype == np.int64
    frames = np.arange(24, dtype=np.uint8).reshape(3, 2, 2, 2)
    assert np.array_equal(apply(found, frames)[:3], frames)


def test_values_are_blended_in_float64_and_written_where_wanted(tmp_path: Path):
    stored = np.lib.format.open_memmap(tmp_path / "v.npy", "w+", np.float32, (3, 1))
    stored[:] = [[16_777_216], [16_777_218], [0]]  # float32 has no number between the first two
    found = plan(np.array([5, 10, 25]), Timeline([0, 10, 20]), method="linear")
    out = np.full((3, 1), np.nan)
    assert apply(found, stored, out) is out
    assert out.tolist() == [[16_777_217], [16_777_218], [0]]
    assert apply(found, stored).dtype == np.float32
    assert type(apply(found, stored)) is np.ndarray


def test_integers_are_never_blended():
    found = plan(np.array([5]), Timeline([0, 10]), method="linear")
    with pytest.raises(FieldError, match="never blended"):
        apply(found, np.array([1, 2]))
    assert apply(found, np.array([1, 2]), np.empty(1, np.float32)).tolist() == [1.5]


@pytest.mark.parametrize("method", ["nearest", "linear"])
def test_what_is_not_a_number_never_leaves_as_one(method):
    values = np.array([[0.0], [np.nan], [2.0], [3.0]])
    timeline = Timeline([0, 10, 20, 30])
    valid = np.isfinite(values).all(axis=1)
    found = plan(np.array([7, 13, 20]), timeline, method=method, valid=valid)
    assert np.isfinite(apply(found, values)).all()
    careless = plan(np.array([25, 8]), timeline, method=method)
    with pytest.raises(FieldError, match=r"row .*1 holds no usable number.*valid") as error:
        apply(careless, values)
    assert error.value.time_ns == 8


def test_infinities_are_copied_and_not_blended_to_nan():
    values, timeline = np.array([np.inf, 2.0]), Timeline([0, 10])
    assert apply(plan(np.array([0]), timeline, method="nearest"), values).tolist() == [np.inf]
    with pytest.raises(FieldError, match="row 0 or 1"):
        apply(plan(np.array([5]), timeline, method="linear"), values)


# Poses (the mathematics is in test_rotation)


def turn(degrees: float, axis: int = 0) -> list[float]:
    quaternion = [0.0, 0.0, 0.0, float(np.cos(np.radians(degrees) / 2))]
    quaternion[axis] = float(np.sin(np.radians(degrees) / 2))
    return quaternion


def poses_at(
    times: list[int], timeline: Timeline, poses: list[list[float]], **options
) -> np.ndarray:
    found = plan(np.array(times), timeline, method="slerp")
    return apply_pose(found, np.array(poses), **options)


def test_poses_are_blended_and_masked():
    poses = [[0, 0, 0, *turn(0)], [2, 4, 6, *turn(90)], [4, 4, 6, *turn(90)]]
    found = poses_at([-1, 0, 5, 10, 20], Timeline([0, 10, 20]), poses)
    expected = [[0.0] * 7, poses[0], [1, 2, 3, *turn(45)], poses[1], poses[2]]
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert not found[0].any()


def test_signs_follow_the_first_entry():
    stored = [[0, 0, 0, *turn(a)] for a in (10, 20, 30, 40)]
    flipped = np.array(stored) * [[1] * 7, [-1] * 7, [-1] * 7, [1] * 7]
    times = [0, 5, 10, 15, 20, 25, 30]
    timeline = Timeline([0, 10, 20, 30])
    smooth = poses_at(times, timeline, stored)
    np.testing.assert_allclose(poses_at(times, timeline, flipped.tolist()), smooth, atol=1e-15)
    np.testing.assert_allclose(smooth[::2], stored, atol=1e-15)
    np.testing.assert_allclose(poses_at(times[2:], timeline, flipped.tolist()), -smooth[2:])


def test_relative_poses_start_at_the_first_valid_one():
    poses = [[1, 0, 0, *turn(90, 2)], [1, 2, 0, *turn(90, 2)], [1, 2, 0, *turn(120, 2)]]
    poses[1] = [-v if i > 2 else v for i, v in enumerate(poses[1])]
    timeline = Timeline([0, 10, 20])
    first = poses_at([-5, 0, 10, 20], timeline, poses, relative_to="first")
    expected = [[0.0] * 7, [0, 0, 0, *turn(0)], [2, 0, 0, *turn(0)], [2, 0, 0, *turn(30, 2)]]
    np.testing.assert_allclose(first, expected, atol=1e-15)
    previous = poses_at([-5, 0, 10, 20], timeline, poses, relative_to="previous")
    expected[3] = [0, 0, 0, *turn(30, 2)]
    np.testing.assert_allclose(previous, expected, atol=1e-15)
    assert poses_at([-5], timeline, poses, relative_to="first").tolist() == [[0.0] * 7]


def test_the_previous_valid_pose_skips_masked_entries():
    poses = [[float(x), 0, 0, *turn(0)] for x in range(4)]
    found = plan(
        np.array([0, 10, 20, 30]),
        Timeline([0, 10, 20, 30]),
        method="nearest",
        valid=np.array([True, False, True, True]),
    )
    steps = apply_pose(found, np.array(poses), "previous")
    assert steps[:, 0].tolist() == [0, 0, 2, 1]
    assert steps[:, 6].tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("bad", [[0.0] * 7, [np.nan, 0, 0, 0, 0, 0, 1], [np.inf, 0, 0, 0, 0, 0, 1]])
def test_a_pose_without_rotation_or_place_is_refused(bad):
    poses = np.array([[0.0, 0, 0, 0, 0, 0, 1], bad])
    found = plan(np.array([10]), Timeline([0, 10]), method="slerp")
    with pytest.raises(FieldError, match="row 1 holds no usable number"):
        apply_pose(found, poses)


# Audio


@given(
    native=st.sampled_from([8_000, 11_025, 16_000, 44_100, 48_000]),
    rate=st.sampled_from([None, 8_000, 16_000, 22_050, 48_000]),
    edges=st.lists(st.integers(0, 60), max_size=6).map(sorted),
    first_ns=st.sampled_from([0, 500 * MS, NOW_NS]),
    elapsed=st.integers(-3 * MS, 9 * MS),
    duration=st.integers(0, 8 * MS),
)
def test_an_audio_window_follows_its_rules(native, rate, edges, first_ns, elapsed, duration):
    segments = list(zip(edges[::2], edges[1::2], strict=False))
    timeline = SampledTimeline(first_ns, native, 60, segments)
    found = plan_audio(Audio("mic", rate=rate), timeline, first_ns + elapsed, duration)
    target = rate or native
    position = Fraction(elapsed * target, 10**9)
    around = range(floor(position) - 1, floor(position) + 3)
    first = min(around, key=lambda i: (abs(i - position), i))
    count = sum(1 for k in range(1000) if Fraction(k, target) < Fraction(duration, 10**9))
    places = [Fraction((first + k) * native, target) for k in range(count)]
    mask = [any(begin <= place < end for begin, end in segments) for place in places]
    assert (found.rate, found.first, found.count) == (target, first, count)
    assert found.mask.tolist() == mask
    assert found.grid_ns.tolist() == [first_ns + elapsed]
    at_first = first_ns + floor(Fraction(first * 10**9, target) + Fraction(1, 2))
    assert found.source_ns.tolist() == [at_first if any(mask) else first_ns + elapsed]


@given(
    st.sampled_from([8_000, 11_025, 44_100, 48_000]),
    st.sampled_from([8_000, 16_000, 44_100, 48_000]),
    st.integers(1, 5000),
)
def test_a_window_over_the_whole_file_is_all_sound(native, rate, count):
    timeline = SampledTimeline(NOW_NS, native, count)
    length = -(-count * 10**9 // native)
    found = plan_audio(Audio("mic", rate=rate), timeline, NOW_NS, length + 10**9 // rate + 1)
    assert found.first == 0
    assert int(found.mask.sum()) == -(-count * rate // native)
    assert found.mask[: int(found.mask.sum())].all()


def test_many_segments_are_found_from_the_middle():
    segments = [(10 * i, 10 * i + 5) for i in range(1000)]
    timeline = SampledTimeline(0, 1000, 10_000, segments)
    found = plan_audio(Audio("mic"), timeline, 5007 * MS, 20 * MS)
    assert found.mask.tolist() == [i % 10 < 5 for i in range(5007, 5027)]


def test_drift_moves_where_a_window_starts_but_not_its_spacing():
    clock = ClockMap(offset_ns=-250 * MS, scale=1.0001)
    timeline = SampledTimeline(10**9, 16_000, 16_000 * 100, clock=clock)
    start = timeline.start_ns + 50 * 10**9
    found = plan_audio(Audio("mic"), timeline, start, 2 * 10**9)
    assert found.count == 32_000
    assert found.first == round(50 * 16_000 / 1.0001)
    assert abs(int(found.source_ns[0]) - start) <= 31_250


def test_sound_that_starts_late_is_masked_before():
    timeline = SampledTimeline(500 * MS, 48_000, 48_000)
    silent = plan_audio(Audio("a"), timeline, 0, 500 * MS)
    assert (silent.count, silent.mask.any(), silent.source_ns.tolist()) == (24_000, False, [0])
    partly = plan_audio(Audio("a", rate=16_000), timeline, 499 * MS, 2 * MS)
    assert (partly.first, partly.mask.tolist()) == (-16, [False] * 16 + [True] * 16)
    assert partly.source_ns.tolist() == [499 * MS]


# Cases with known right values


def columns(path: Path) -> np.ndarray:
    return np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)[:, 1:]


def times_of(path: Path) -> np.ndarray:
    return np.loadtxt(path, np.int64, delimiter=",", skiprows=1, usecols=0)


def sampled(path: Path, times: list[int], **options) -> tuple[list[bool], list[float]]:
    kept, _ = settle(times_of(path))
    values = columns(path)[kept]
    valid = np.isfinite(values).all(axis=1)
    timeline = Timeline(times_of(path)[kept], valid=valid)
    field = Sensor("s", offsets=[Fraction(t, 10**9) for t in times], **options)
    found = plan_field(field, timeline, 0, 10**9)
    return found.mask.tolist(), apply(found, values)[:, 0].tolist()


def test_case_s04_ties_and_backward_steps(cases: Path):
    path = cases / "inputs/s04_dup_backward.csv"
    assert sampled(path, [1022 * MS]) == ([True], [pytest.approx(5.8, abs=1e-12)])
    mask, values = sampled(path, list(range(1000 * MS, 1041 * MS, MS)))
    assert all(mask)
    assert np.isfinite(values).all()


def test_case_s07_starts_late(cases: Path):
    found = sampled(cases / "inputs/s07_starts_late.csv", [0, 500 * MS, 1500 * MS])
    assert found == ([False, True, False], [0.0, 15.0, 0.0])


def test_case_s14_holes_in_gaze(cases: Path):
    path = cases / "inputs/s14_gaze_nan.csv"
    assert int(np.isfinite(columns(path)).sum()) == 94
    assert sampled(path, [300 * MS, 205 * MS]) == ([True, False], [30.0, 0.0])
    assert sampled(path, [205 * MS], max_gap=0.04) == ([True], [20.5])
    assert sampled(path, [205 * MS], max_gap=0.039) == ([False], [0.0])


def test_case_s10_signs_flip_between_rows(cases: Path):
    path = cases / "inputs/s10_pose_signflip.csv"
    quaternions = columns(path)
    poses = np.concatenate([np.zeros((len(quaternions), 3)), quaternions], axis=1)
    field = Pose("p", offsets=[0.05])
    found = apply_pose(plan_field(field, Timeline(times_of(path)), 0, 10**9), poses)[0, 3:]
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(found, [0.095845753, 0, 0, 0.995396198], atol=1e-9)
