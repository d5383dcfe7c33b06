"""Exact conversions between seconds, ticks, rates and nanoseconds."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock._nanoseconds import exact, regular_grid, ticks_to_ns, to_ns

NOW_NS = 1_700_000_000_123_456_789
INT64 = np.iinfo(np.int64)

epochs = st.integers(-(10**12), NOW_NS + 10**18)


def half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


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


@pytest.mark.parametrize("ratio", [Fraction(1), Fraction(10**9, 48_000), Fraction(3, 7)])
@pytest.mark.parametrize("ticks", [0, 1, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63)])
def test_one_tick_is_rounded_as_many_are(ticks: int, ratio: Fraction) -> None:
    expected = floor(ticks * ratio + Fraction(1, 2))
    expected = min(max(expected, -(2**63)), 2**63 - 1)
    for shape in ((), (1,), (2,), (2, 1)):
        given = np.full(shape, ticks, np.int64)
        found = ticks_to_ns(given, ratio)
        assert found.dtype == np.int64 and found.shape == shape
        assert (found == expected).all()
