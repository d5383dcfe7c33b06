"""Clock maps: offset, drift, knots, chains."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.clock import ClockMap
from genlock.errors import ClockError
from genlock.timeline import Timeline

NOW_NS = 1_700_000_000_123_456_789

epochs = st.integers(-(10**12), NOW_NS + 10**18)
scales = st.one_of(
    st.sampled_from(["1", "1.00004", "0.99996", "1.5", "0.5", "2", "1.0000412345678901"]),
    st.integers(-(10**12), 10**12).map(lambda n: str(Fraction(10**15 + n, 10**15))),
).map(Fraction)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


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


@pytest.mark.parametrize(
    "clock",
    [
        ClockMap(NOW_NS),
        ClockMap(-5, "1.00004"),
        ClockMap(knots=((0, 100), (10, 120), (20, 125))),
        ClockMap(3, 2).then(ClockMap(knots=((0, 100), (1000, 1100)))).then(ClockMap(-7, "0.5")),
    ],
)
def test_an_inverse_goes_back(clock):
    times = np.array([-(10**9), -1, 0, 7, 104, 121, 10**12, NOW_NS])
    assert clock.inverse().forward(times).tolist() == clock.backward(times).tolist()
    assert clock.inverse().inverse().forward(times).tolist() == clock.forward(times).tolist()


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
