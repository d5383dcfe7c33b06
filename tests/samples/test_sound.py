"""Chirps are found where they were put, at either rate, in either channel and in their mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.samples import chirp, chirp_second, chirp_starts
from genlock.samples.sound import soundtrack

RATES = pytest.mark.parametrize("rate", [16_000, 48_000])


@RATES
def test_chirps_start_at_whole_seconds(rate: int) -> None:
    first = 6576 * rate // 48_000
    left, right = soundtrack(first, 4 * rate, rate, seed=1)
    expected = [k * rate - first for k in (1, 2, 3, 4)]
    assert chirp_starts(left, rate) == expected
    assert chirp_starts(right, rate, "right") == expected
    assert chirp_starts((left + right) / 2, rate) == expected
    assert chirp_starts(right, rate, "left") == []


@RATES
def test_the_tone_tells_the_second(rate: int) -> None:
    seconds = (0, 1, 17, 63, 64, 130)
    for second in seconds:
        left, _ = soundtrack(second * rate, rate, rate, seed=0)
        assert chirp_second(left, 0, rate) == second % 64
    assert chirp_second(left[: rate // 8], 0, rate) is None


@given(st.lists(st.integers(0, 40), min_size=1, max_size=5, unique=True), st.floats(0.05, 3))
def test_chirps_are_found_at_any_place_and_loudness(places: list[int], level: float) -> None:
    x = np.random.default_rng(0).normal(0, 0.002, 60_000)
    starts = sorted(1300 * place + place for place in places)
    for start in starts:
        x[start : start + 960] += level * chirp(48_000)
    assert chirp_starts(x, 48_000) == starts


def test_silence_and_scraps_hold_no_chirp() -> None:
    assert chirp_starts(np.zeros(10_000), 48_000) == []
    assert chirp_starts(np.zeros(100), 48_000) == []
