"""Stamps are exact integers, and the IMU's clock goes there and back."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.samples import TRACKS, ZERO_NS, sampled_ns, seconds_after_zero, stamps_ns
from genlock.samples.rig import IMU_CLOCK_OFFSET_NS, imu_stamps_us


@pytest.mark.parametrize("stream", [name for name in TRACKS if name != "imu"])
def test_every_row_is_at_its_multiple_of_the_period(stream: str) -> None:
    track = TRACKS[stream]
    stamps = stamps_ns(stream, 3.1)
    for k in (0, 1, 2, 7, len(stamps) - 1):
        assert stamps[k] == ZERO_NS + track.start_ns + round(Fraction(k * 10**9, track.rate))
    span_ns = 3_100_000_000 - track.start_ns
    assert stamps[-1] < ZERO_NS + 3_100_000_000
    assert len(stamps) % track.block == 0
    assert span_ns <= Fraction((len(stamps) + track.block - 1) * 10**9, track.rate)


def test_counts_of_ten_seconds() -> None:
    counts = {stream: len(stamps_ns(stream)) for stream in TRACKS}
    assert counts == {
        "camera-rgb": 299,
        "depth": 150,
        "imu": 7996,
        "pose": 999,
        "gaze": 599,
        "audio": 473_088,
    }


def test_imu_stamps_are_its_own_microseconds_within_half_of_one() -> None:
    stamps = stamps_ns("imu", 5.0)
    for stamp, us in zip(stamps[::97].tolist(), imu_stamps_us(5.0)[::97].tolist(), strict=True):
        assert stamp == round(IMU_CLOCK_OFFSET_NS + us * 1000 * Fraction("1.00004"))
    off = stamps - sampled_ns("imu", 5.0)
    assert abs(off).max() <= 501
    assert abs(off).max() > 100  # the rounding is there


@given(st.integers(0, 8000))
def test_seconds_after_zero_never_passes_through_an_absolute_float(k: int) -> None:
    stamp = np.array([ZERO_NS + k * 1_250_001])
    assert round(float(seconds_after_zero(stamp)[0]) * 10**9) == k * 1_250_001
