"""Times: exact conversions, clock maps, timelines of rows and of audio samples, settling."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.errors import ClockError
from genlock.timeline import (
    ClockMap,
    SampledTimeline,
    Timeline,
    exact,
    regular_grid,
    settle,
    ticks_to_ns,
    to_ns,
)

NOW_NS = 1_700_000_000_123_456_789
INT64 = np.iinfo(np.int64)

epochs = st.integers(-(10**12), NOW_NS + 10**18)
scales = st.one_of(
    st.sampled_from(["1", "1.00004", "0.99996", "1.5", "0.5", "2", "1.0000412345678901"]),
    st.integers(-(10**12), 10**12).map(lambda n: str(Fraction(10**15 + n, 10**15))),
).map(Fraction)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


# Conversions


@pytest.mark.parametrize(
    ("seconds", "ns"),
    [
        (0.1, 100_000_000),
        ("0.1", 100_000_000),
        (2, 2_000_000_000),
        (Fraction(1, 3), 333_333_333),
        (0.000_000_000_5, 1),
        (1e-10, 0),
        (-0.25, -250_000_000),
        (1_700_000_000.123, 1_700_000_000_123_000_000),
    ],
)
def test_seconds_are_read_as_the_decimal_that_is_written(seconds, ns):
    assert to_ns(seconds) == ns


@given(
    st.lists(st.integers(INT64.min, INT64.max), max_size=6),
    st.fractions(min_value=0, max_value=10**10).filter(bool),
)
def test_ticks_become_the_nearest_ns_and_saturate(ticks, ns_per_tick):
    expected = [min(max(half_up(t * ns_per_tick), INT64.min), INT64.max) for t in ticks]
    found = ticks_to_ns(np.array(ticks, np.int64), ns_per_tick)
    assert found.dtype == np.int64
    assert found.tolist() == expected


def test_ticks_keep_their_shape():
    ticks = np.arange(6).reshape(2, 3)
    assert ticks_to_ns(ticks, Fraction(10**9, 30)).tolist() == [
        [0, 33_333_333, 66_666_667],
        [100_000_000, 133_333_333, 166_666_667],
    ]
    assert ticks_to_ns(np.int64(3), Fraction(10**9, 90_000)).shape == ()


RATES = [29.97, 30_000 / 1001, Fraction(30_000, 1001), 0.1, 1e3 / 3, 30, 44_100, "0.3"]


@pytest.mark.parametrize("rate", RATES)
@given(start=epochs, duration=st.integers(0, 40_000))
def test_a_regular_grid_follows_its_formula(rate, start, duration):
    period = 10**9 / exact(rate)
    duration_ns = floor(duration * period / 1000)
    count = ceil(duration_ns / period)
    expected = [start + half_up(k * period) for k in range(count)]
    assert regular_grid(start, duration_ns, rate).tolist() == expected
    assert count * period >= duration_ns
    assert (count - 1) * period < duration_ns or count == 0


def test_a_regular_grid_is_half_open():
    assert regular_grid(5, 10**9, 4).tolist() == [5, 250_000_005, 500_000_005, 750_000_005]
    assert len(regular_grid(0, 10**9 + 1, 4)) == 5
    assert len(regular_grid(0, 0, 4)) == 0
    assert regular_grid(0, 1, 0.1).tolist() == [0]


# Clock maps


@given(st.lists(epochs, max_size=5), scales, st.integers(-(10**18), 10**18))
def test_an_affine_clock_is_exact(times, scale, offset):
    clock = ClockMap(offset_ns=offset, scale=scale)
    found = clock.forward(np.array(times, np.int64))
    assert found.dtype == np.int64
    assert found.tolist() == [half_up(scale * t + offset) for t in times]
    assert [int(clock.forward(t)) for t in times] == found.tolist()


@given(epochs, st.integers(-(10**12), 10**12), st.integers(-(10**18), 10**18))
def test_an_affine_clock_goes_there_and_back(time, drift, offset):
    clock = ClockMap(offset_ns=offset, scale=Fraction(10**15 + drift, 10**15))
    assert abs(int(clock.backward(clock.forward(time))) - time) <= 1
    assert abs(int(clock.forward(clock.backward(time))) - time) <= 1


def test_a_float_scale_keeps_its_decimals_at_today_s_epoch():
    # 1.00004 as a binary float is off by 2e-17, and its product with today's time by 100 ns
    assert int(ClockMap(scale=1.00004).forward(NOW_NS)) == half_up(Fraction("1.00004") * NOW_NS)


@st.composite
def knotted(draw: st.DrawFn) -> tuple[tuple[int, int], ...]:
    source, target = draw(epochs), draw(epochs)
    knots = [(source, target)]
    for _ in range(draw(st.integers(0, 4))):
        run = draw(st.integers(1000, 10**14))
        source, target = source + run, target + run + draw(st.integers(-run // 1000, run // 1000))
        knots.append((source, target))
    return tuple(knots)


def through(knots: tuple[tuple[int, int], ...], time: int) -> int:
    if len(knots) == 1:
        return time - knots[0][0] + knots[0][1]
    segment = min(max(bisect_right([k[0] for k in knots], time) - 1, 0), len(knots) - 2)
    (a, b), (c, d) = knots[segment], knots[segment + 1]
    return b + half_up(Fraction((time - a) * (d - b), c - a))


@given(knotted(), st.lists(st.integers(-(10**15), 10**15), max_size=5))
def test_a_clock_of_knots_is_exact(knots, elapsed):
    clock = ClockMap(knots=knots)
    times = [knots[0][0] + e for e in elapsed]
    assert clock.forward(np.array(times, np.int64)).tolist() == [through(knots, t) for t in times]
    swapped = tuple((b, a) for a, b in knots)
    mapped = [knots[0][1] + e for e in elapsed]
    expected = [through(swapped, t) for t in mapped]
    assert clock.backward(np.array(mapped, np.int64)).tolist() == expected
    assert [int(clock.forward(a)) for a, _ in knots] == [b for _, b in knots]
    assert all(abs(int(clock.backward(clock.forward(t))) - t) <= 1 for t in times)


def test_knots_bend_and_go_on_with_the_outer_slopes():
    clock = ClockMap(knots=((0, 100), (10, 120), (20, 125)))
    times = np.array([-5, 0, 5, 10, 15, 20, 30])
    assert clock.forward(times).tolist() == [90, 100, 110, 120, 123, 125, 130]


@given(epochs, scales, knotted())
def test_maps_chain(time, scale, knots):
    first, second, third = ClockMap(5, scale), ClockMap(knots=knots), ClockMap(-7)
    chain = first.then(second).then(third)
    assert chain.forward(time) == third.forward(second.forward(first.forward(time)))
    assert chain.backward(time) == first.backward(second.backward(third.backward(time)))
    assert first.then(second.then(third)).forward(time) == chain.forward(time)


def test_an_identity_changes_nothing():
    assert ClockMap().is_identity
    assert ClockMap(scale="1.0").is_identity
    for clock in (ClockMap(1), ClockMap(scale=2), ClockMap(knots=((0, 0),))):
        assert not clock.is_identity
        assert ClockMap().then(clock) == clock == clock.then(ClockMap())
    assert ClockMap().forward(NOW_NS) == NOW_NS


@pytest.mark.parametrize("scale", [0, -1, "-0.5"])
def test_a_scale_must_be_positive(scale):
    with pytest.raises(ValueError, match="positive"):
        ClockMap(scale=scale)


@pytest.mark.parametrize("knots", [((0, 0), (0, 1)), ((0, 1), (1, 0)), ((1, 1), (0, 2))])
def test_knots_must_increase(knots):
    with pytest.raises(ValueError, match="increase"):
        ClockMap(knots=knots)


# Timelines


@given(
    st.lists(st.integers(0, 30), max_size=12).map(sorted), st.integers(-2, 32), st.integers(0, 9)
)
def test_rows_in_is_half_open(times, start, length):
    rows = range(len(times))[Timeline(times).rows_in(start, start + length)]
    assert list(rows) == [i for i, t in enumerate(times) if start <= t < start + length]


def test_a_timeline_knows_its_span():
    bare = Timeline([10, 20, 20, 30, 45])
    assert (bare.start_ns, bare.end_ns, bare.period_ns, bare.longest_ns) == (10, 55, 10, 0)
    timed = Timeline([10, 20], np.array([40, 3]))
    assert (timed.end_ns, timed.longest_ns) == (23, 40)
    single = Timeline([10])
    assert (single.period_ns, single.end_ns) == (0, 11)


def test_ties_do_not_count_for_the_period():
    burst = np.repeat(np.arange(5) * 10_000_000, 8)
    assert Timeline(burst).period_ns == 10_000_000


def test_an_empty_timeline_has_no_span():
    empty = Timeline([])
    assert len(empty) == 0
    assert empty.period_ns == 0
    assert repr(empty) == "Timeline(empty)"
    for end in ("start_ns", "end_ns"):
        with pytest.raises(ValueError, match="empty"):
            getattr(empty, end)


def test_a_timeline_refuses_disorder_and_other_lengths():
    with pytest.raises(ValueError, match="sorted"):
        Timeline([2, 1])
    with pytest.raises(ValueError, match="one entry for each"):
        Timeline([1, 2], np.array([1]))
    with pytest.raises(ValueError, match="one entry for each"):
        Timeline([1, 2], valid=np.array([True]))


def test_a_timeline_is_read_only_and_travels():
    timeline = Timeline([1, 2, 4], np.array([1, 2, 3]), np.array([True, False, True]))
    for array in (timeline.ns, timeline.durations_ns, timeline.valid):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    copy = pickle.loads(pickle.dumps(timeline))
    assert copy.ns.tolist() == [1, 2, 4]
    assert copy.valid.tolist() == [True, False, True]


def test_a_mapped_timeline_takes_its_durations_along():
    timeline = Timeline([100, 200], np.array([50, 60]), np.array([True, False]))
    mapped = timeline.mapped(ClockMap(offset_ns=7, scale=2))
    assert mapped.ns.tolist() == [207, 407]
    assert mapped.durations_ns.tolist() == [100, 120]
    assert mapped.valid.tolist() == [True, False]
    assert timeline.mapped(ClockMap()) is timeline


# Audio samples

sound = st.builds(
    SampledTimeline,
    first_ns=st.integers(0, NOW_NS),
    rate=st.sampled_from([7, 8_000, 11_025, 44_100, 48_000, 192_000]),
    count=st.integers(1, 50),
    clock=st.builds(ClockMap, st.integers(0, 10**15), st.sampled_from([1, 1.00004, 0.9999])),
)


@given(sound)
def test_samples_lie_at_their_rounded_times(timeline):
    on_own_clock = [
        timeline.first_ns + half_up(Fraction(i * 10**9, timeline.rate))
        for i in range(timeline.count + 1)
    ]
    expected = timeline.clock.forward(np.array(on_own_clock)).tolist()
    assert timeline.ns.tolist() == expected[:-1]
    assert (timeline.start_ns, timeline.end_ns) == (expected[0], expected[-1])
    assert len(timeline) == timeline.count


@given(sound, st.data())
def test_rows_of_samples_agree_with_their_times(timeline, data):
    times = timeline.ns.tolist()
    edges = st.one_of(
        st.sampled_from(times).flatmap(lambda t: st.integers(t - 1, t + 1)),
        st.integers(times[0] - 10**9, times[-1] + 10**9),
    )
    start, end = sorted((data.draw(edges), data.draw(edges)))
    rows = range(timeline.count)[timeline.rows_in(start, end)]
    assert list(rows) == [i for i, t in enumerate(times) if start <= t < end]


@given(sound, st.sampled_from([None, 16_000, 48_000]), st.integers(-100, 200))
def test_the_nearest_sample_to_its_own_time_is_itself(timeline, rate, sample):
    assert timeline.nearest(int(timeline.at(np.array([sample]), rate)[0]), rate) == sample


def test_between_two_samples_the_nearer_wins_and_the_earlier_on_a_tie():
    timeline = SampledTimeline(1000, 16_000, 10)  # a sample lasts 62 500 ns
    assert [timeline.nearest(1000 + t) for t in (0, 31_249, 31_250, 31_251)] == [0, 0, 0, 1]
    assert timeline.nearest(1000 - 31_250) == -1
    assert timeline.nearest(1000 + 62_500, rate=48_000) == 3


def test_mapping_twice_applies_both_clocks():
    timeline = SampledTimeline(100, 1_000_000_000, 4)
    mapped = timeline.mapped(ClockMap(offset_ns=10)).mapped(ClockMap(scale=2))
    assert mapped.ns.tolist() == [220, 222, 224, 226]
    assert mapped.start_ns == 220


def test_holes_between_segments_are_not_valid():
    timeline = SampledTimeline(0, 10, 6, segments=[(0, 2), (4, 6)])
    assert timeline.valid.tolist() == [True, True, False, False, True, True]
    assert SampledTimeline(0, 10, 6).valid is None
    assert len(SampledTimeline(0, 10, 0).ns) == 0
    with pytest.raises(ValueError, match="empty"):
        _ = SampledTimeline(0, 10, 0).start_ns


# Settling


def test_settling_drops_sorts_and_counts():
    raw = np.array([30, -1, 10, 20, 10, INT64.min, 20, INT64.max])
    kept, report = settle(raw)
    assert kept.tolist() == [2, 4, 3, 6, 0]
    assert (report.dropped, report.ties) == (3, 2)
    assert report.reordered == 4


@given(st.lists(st.integers(-2, 8)))
def test_settling_is_a_stable_sort(raw):
    kept, report = settle(np.array(raw, np.int64))
    assert kept.tolist() == sorted((i for i, t in enumerate(raw) if t >= 0), key=raw.__getitem__)
    assert report.dropped == sum(t < 0 for t in raw)
    assert report.ties == len(kept) - len({t for t in raw if t >= 0})


def column(path: Path) -> np.ndarray:
    return np.loadtxt(path, np.int64, delimiter=",", skiprows=1, usecols=0)


def test_case_s04_ties_and_backward_steps(cases: Path):
    raw = column(cases / "inputs/s04_dup_backward.csv")
    kept, report = settle(raw)
    assert (len(kept), len(np.unique(raw[kept]))) == (13, 10)
    assert (report.dropped, report.ties) == (0, 3)
    assert report.reordered > 0
    assert kept.tolist() == [0, 1, 2, 3, 6, 4, 5, 7, 8, 9, 10, 11, 12]


def test_case_s01_keeps_every_ns(cases: Path):
    timeline = Timeline(column(cases / "inputs/s01_ns_int64.csv"))
    assert timeline.start_ns == 1_700_000_000_123_456_789
    assert int(timeline.ns[39]) == 1_700_000_000_318_456_828
    assert set(np.diff(timeline.ns).tolist()) == {5_000_001}
    assert timeline.period_ns == 5_000_001


@pytest.mark.parametrize(
    "clock",
    [ClockMap(offset_ns=2**63), ClockMap(2**62, 2), ClockMap(-(2**62), 1.5), ClockMap(scale=4)],
)
def test_a_clock_that_leaves_int64_says_so(clock: ClockMap) -> None:
    ends = np.array([-(2**62), 2**62])
    with pytest.raises(ClockError, match="int64"):
        clock.forward(ends)
    with pytest.raises(ClockError, match="int64"):
        Timeline(ends).mapped(clock)
