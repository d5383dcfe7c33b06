"""Transforms for tests: a module of their own, so that a loader's process can import them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import genlock as gl


def add_noise(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
    sample["imu"] = sample["imu"][:25] + rng.normal(size=(25, 6)).astype(np.float32)
    sample["drawn"] = rng.integers(1 << 30)
    return sample


def keep_one(sample: gl.Sample, rng: np.random.Generator) -> dict[str, Any]:
    return {"x": sample["imu"].mean(axis=0), "name": "text"}


def overwrite(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
    """Spoils its input, as an augmentation in place does, by what it draws."""
    sample["depth"] *= rng.integers(2, 9)
    return sample


def cut(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
    sample["imu"] = sample["imu"][: 10 + sample.window.index % 2]
    return sample


class OddError(Exception):
    """Cannot be pickled as most errors are: its arguments are not those of its constructor."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


@dataclass(frozen=True)
class Failing:
    """Raises at one window."""

    index: int
    error: BaseException | None = None

    def __call__(self, sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
        if sample.window.index == self.index:
            raise self.error or OddError("one", "another")
        return sample


def unpicklable(sample: gl.Sample, rng: np.random.Generator) -> dict[str, Any]:
    return {"x": lambda: None}
