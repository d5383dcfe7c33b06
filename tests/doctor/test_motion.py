"""Offsets and drift between two tracks of the same motion, against what they were made with."""

from __future__ import annotations

import numpy as np
import pytest

from genlock.doctor.motion import SAME_MOTION, Track, drift, match

EPOCH_NS = 1_700_000_000_123_456_789


def turning(seconds: np.ndarray, seed: int = 0) -> np.ndarray:
    """Speeds of a head that turns as people do, below 2 Hz."""
    random = np.random.default_rng(seed)
    parts = random.uniform(0.1, 2, 30), random.uniform(0, 2 * np.pi, 30)
    return np.abs(
        sum(np.sin(2 * np.pi * f * seconds + phase) for f, phase in zip(*parts, strict=True))
    )


def track(
    rate: float, length_s: float, scale: float = 1.0, late_s: float = 0.0, seed: int = 0
) -> Track:
    """Stamps are late and run slow by the scale; what they stamp does not."""
    seconds = np.arange(round(rate * length_s)) / rate
    stamps = np.rint((seconds * scale + late_s) * 1e9).astype(np.int64)
    return Track(EPOCH_NS + stamps, turning(seconds, seed))


@pytest.mark.parametrize("late_s", [0.0, 0.033, -0.25])
def test_an_offset_is_found_to_a_fraction_of_a_step(late_s: float) -> None:
    found = match(track(30, 20), track(200, 20, late_s=late_s))
    assert found is not None
    assert found.lag_s == pytest.approx(late_s, abs=0.002)
    assert found.correlation > 0.95


@pytest.mark.parametrize("ppm", [200, 500, -2000])
def test_drift_over_minutes(ppm: int) -> None:
    """Of which the whole recording is a blur: 2000 ppm are 0.4 s in 200 s."""
    found = drift(track(100, 200), track(400, 200, 1 + ppm * 1e-6))
    assert found is not None
    assert found.apart_s == pytest.approx(170, abs=0.1)
    assert found.moved_s == pytest.approx(ppm * 1e-6 * 170, rel=0.01, abs=0.001)


def test_the_same_clock_does_not_drift() -> None:
    found = drift(track(100, 200), track(400, 200))
    assert found is not None
    assert abs(found.moved_s) < 0.0005


def test_other_bodies_are_not_compared() -> None:
    assert drift(track(100, 200), track(400, 200, seed=1)) is None
    whole = match(track(100, 200), track(400, 200, seed=1))
    assert whole is None or whole.correlation < SAME_MOTION
