"""The samples of a window against the rules, in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from hypothesis import given
from hypothesis import strategies as st
from made_rows import MS, NOW_NS

from genlock.align import plan_audio
from genlock.clock import ClockMap
from genlock.fields import Audio
from genlock.timeline import SampledTimeline


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
