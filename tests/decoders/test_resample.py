"""Audio at other rates: against the whole file resampled, sines in closed form, and clicks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from genlock._recent import Budget
from genlock.decoders._resample import Read, Resampler

RATES = [
    (48_000, 16_000),
    (44_100, 16_000),
    (44_100, 48_000),
    (8_000, 48_000),
    (48_000, 44_100),
    (96_000, 22_050),
    (16_000, 11_025),
]
CACHE = 1 << 20
Samples = NDArray[np.float32]


def reader(samples: Samples, holes: tuple[tuple[int, int], ...] = ()) -> Read:
    """Reads [C, N] in memory as a decoder reads a file."""
    there = np.ones(samples.shape[1], np.bool_)
    for start, stop in holes:
        there[start:stop] = False

    def read(first: int, out: Samples) -> NDArray[np.bool_]:
        at = np.arange(first, first + out.shape[1])
        inside = (at >= 0) & (at < samples.shape[1])
        inside[inside] = there[at[inside]]
        out[:] = 0
        out[:, inside] = samples[:, at[inside]]
        return inside

    return read


def noise(count: int, channels: int = 2) -> Samples:
    return np.random.default_rng(3).uniform(-1, 1, (channels, count)).astype(np.float32)


def resampled(
    samples: Samples, native: int, rate: int, first: int, count: int
) -> tuple[Samples, NDArray[np.bool_]]:
    out = np.full((len(samples), count), np.nan, np.float32)
    valid = Resampler(reader(samples), len(samples), native, Budget(CACHE), "test").read(
        first, rate, out
    )
    return out, valid


def from_wave(
    wave: Callable[[NDArray[np.float64]], NDArray[np.float64]], count: int, rate: int
) -> Samples:
    return wave(np.arange(count) / rate)[None].astype(np.float32)


@pytest.mark.parametrize(("native", "rate"), RATES)
def test_whole_equals_soxr_at_once(native: int, rate: int) -> None:
    samples = noise(native * 5 // 2 + 137)
    expected = soxr.resample(samples.T, native, rate, "VHQ").T
    out, valid = resampled(samples, native, rate, 0, expected.shape[1])
    assert np.abs(out - expected).max() <= 1e-6
    assert valid.all()


@pytest.mark.parametrize(("native", "rate"), [(48_000, 47_999), (44_100, 16_001)])
def test_rates_without_a_small_ratio(native: int, rate: int) -> None:
    # soxr's own clock drifts here, so the truth is the wave itself
    samples = from_wave(lambda t: np.sin(2 * np.pi * 3000 * t + 0.3), 22 * native, native)
    out, valid = resampled(samples, native, rate, 20 * rate, rate)
    times = 20 + np.arange(rate) / rate
    assert valid.all()
    assert np.abs(out[0] - np.sin(2 * np.pi * 3000 * times + 0.3)).max() <= 2e-6


@pytest.mark.parametrize(("native", "rate"), RATES)
@settings(max_examples=5)
@given(data=st.data())
def test_any_window_is_a_span_of_the_whole(native: int, rate: int, data: st.DataObject) -> None:
    samples = noise(native * 5 // 2 + 137)
    total = -(-samples.shape[1] * rate // native)
    whole, there = resampled(samples, native, rate, 0, total)
    resampler = Resampler(reader(samples), 2, native, Budget(CACHE), "test")
    for _ in range(3):
        first = data.draw(st.integers(-rate, total + rate // 2))
        count = data.draw(st.integers(0, rate))
        out = np.full((2, count), np.nan, np.float32)
        valid = resampler.read(first, rate, out)
        at = np.arange(first, first + count)
        inside = (at >= 0) & (at < total)
        assert np.array_equal(valid, inside) and there.all()
        assert np.array_equal(out[:, inside], whole[:, at[inside]])
        assert not out[:, ~inside].any()


@pytest.mark.parametrize(("native", "rate"), RATES)
@pytest.mark.parametrize("hertz", [440.0, 3_000.0])
def test_a_sine_keeps_phase_and_amplitude(native: int, rate: int, hertz: float) -> None:
    samples = from_wave(lambda t: 0.7 * np.sin(2 * np.pi * hertz * t + 1), 2 * native, native)
    first = rate // 3
    out, _ = resampled(samples, native, rate, first, rate)
    times = (first + np.arange(rate)) / rate
    assert np.abs(out[0] - 0.7 * np.sin(2 * np.pi * hertz * times + 1)).max() <= 1e-5


@pytest.mark.parametrize(("native", "rate"), RATES)
def test_a_click_stays_where_it_is(native: int, rate: int) -> None:
    samples = np.zeros((1, 2 * native), np.float32)
    at = native + native // 7
    samples[0, at - 200 : at + 201] = np.hanning(401)
    out, _ = resampled(samples, native, rate, 0, 2 * rate)
    near = np.arange(rate, 2 * rate)
    centre = (near * out[0, near]).sum() / out[0, near].sum()
    assert centre == pytest.approx(at * rate / native, abs=2e-3)


def test_holes_are_silent_and_masked_at_the_other_rate() -> None:
    read = reader(noise(96_000), holes=((30_001, 60_000),))
    out = np.full((2, 32_000), np.nan, np.float32)
    valid = Resampler(read, 2, 48_000, Budget(CACHE), "test").read(0, 16_000, out)
    times = 3 * np.arange(32_000)
    assert np.array_equal(valid, (times < 30_001) | (times >= 60_000))
    assert not out[:, ~valid].any()
    assert np.abs(out[:, valid]).min() > 0


def test_before_the_start_and_after_the_end_is_nothing() -> None:
    for first in (-16_000, -100, 32_000, 10**9):
        out, valid = resampled(noise(96_000), 48_000, 16_000, first, 100)
        assert not valid.any() and not out.any()


def test_the_last_second_has_its_tail() -> None:
    # soxr needs samples after the end to give the last ones
    samples = from_wave(lambda t: np.cos(2 * np.pi * 50 * t), 48_000, 48_000)
    out, valid = resampled(samples, 48_000, 16_000, 15_900, 200)
    assert valid.sum() == 100
    assert (
        np.abs(out[0, :60] - np.cos(2 * np.pi * 50 * np.arange(15_900, 15_960) / 16_000)).max()
        < 0.02
    )
