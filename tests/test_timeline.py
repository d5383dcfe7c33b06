"""Timelines of rows and of audio samples, and settling what files state."""

from __future__ import annotations

import pickle
from fractions import Fraction
from math import floor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.clock import ClockMap
from genlock.timeline import SampledTimeline, Timeline, settle

NOW_NS = 1_700_000_000_123_456_789
INT64 = np.iinfo(np.int64)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


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


def test_usable_rows_are_those_that_every_mask_allows():
    plain = Timeline([1, 2, 4, 8], np.array([1, 2, 3, 4]))
    assert plain.usable.rows is None and plain.usable.ns.tolist() == [1, 2, 4, 8]
    given = np.array([True, True, False, True])
    some = plain.only(given)
    assert [part.tolist() for part in some.usable] == [[0, 1, 3], [1, 2, 8], [1, 2, 4]]
    fewer = some.only(np.array([False, True, True, True]))
    assert [part.tolist() for part in fewer.usable] == [[1, 3], [2, 8], [2, 4]]
    assert fewer.period_ns == plain.period_ns == 2  # rows that are not valid count for it
    assert some.usable.rows.tolist() == [0, 1, 3] and plain.valid is None
    given[0] = False
    with pytest.raises(ValueError, match="read-only"):
        some.valid[0] = False
    bare = Timeline([1, 2], valid=np.array([False, True]))
    assert bare.usable.durations_ns is None and bare.usable.ns.tolist() == [2]


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
