"""Transforms: what they draw, and what becomes of what they return or raise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl
from loading import FIELDS, IMU, as_bytes, windows
from transforms import Failing, add_noise, cut, keep_one


def test_transforms_draw_from_seed_epoch_and_position(sample: Path) -> None:
    runs = []
    for threads in (1, 4):
        with gl.Loader(
            windows(sample), FIELDS, batch_size=6, transform=add_noise, threads=threads
        ) as loader:
            runs.append([as_bytes(batch) for _ in range(2) for batch in loader])
            batch = next(iter(loader))
    assert runs[0] == runs[1]
    assert batch["imu"].shape == (6, 25, 6)
    assert len(batch["drawn"].unique()) == 6


def test_a_transform_may_return_a_mapping_and_leave_fields_out(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=3, transform=keep_one) as loader:
        batch = next(iter(loader))
    assert list(batch) == ["x", "name"]
    assert batch["x"].shape == (3, 6) and batch["name"] == ["text"] * 3


@pytest.mark.parametrize("on_error", ["raise", "skip", "mask"])
def test_what_a_transform_raises_is_always_raised(sample: Path, on_error: Any) -> None:
    every = windows(sample)
    failing = Failing(every[8].index, ZeroDivisionError("the chosen window"))
    with gl.Loader(every, FIELDS, batch_size=6, transform=failing, on_error=on_error) as loader:
        iterator = iter(loader)
        assert len(next(iterator).windows) == 6
        with pytest.raises(ZeroDivisionError, match="the chosen window"):
            next(iterator)


def test_a_stop_iteration_in_a_transform_is_no_end_of_an_epoch(sample: Path) -> None:
    def ending(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
        return next(iter(()))

    loader = gl.Loader(windows(sample), IMU, batch_size=4, transform=ending)
    with loader, pytest.raises(RuntimeError, match="StopIteration"):
        list(loader)


def test_arrays_that_do_not_stack_are_named(sample: Path) -> None:
    with (
        gl.Loader(windows(sample), FIELDS, batch_size=6, transform=cut) as loader,
        pytest.raises(gl.FieldError, match="'imu' of shape"),
    ):
        list(loader)


def changed(sample_path: Path, change: Callable[[gl.Sample], Any]) -> gl.Batch:
    """The first batch of four windows through a transform without a generator."""
    options: dict[str, Any] = {"transform": lambda sample, rng: change(sample)}
    with gl.Loader(windows(sample_path), IMU, batch_size=4, **options) as loader:
        return next(iter(loader))


def test_a_mask_that_a_transform_puts_in_place_is_delivered(sample: Path) -> None:
    def blanked(sample: gl.Sample) -> gl.Sample:
        sample.mask["imu"] = np.arange(len(sample.mask["imu"])) % 2 == 0
        sample.source_times["imu"] = sample.times["imu"] + 7
        return sample

    batch = changed(sample, blanked)
    assert batch.mask["imu"][:, ::2].all()
    assert not batch.mask["imu"][:, 1::2].any()
    assert ((batch.source_times["imu"] - batch.times["imu"]) == 7).all()


def test_a_mask_of_another_length_is_refused(sample: Path) -> None:
    def cropped(sample: gl.Sample) -> gl.Sample:
        sample["imu"], sample.mask["imu"] = sample["imu"][:3], sample.mask["imu"][:3]
        return sample

    with pytest.raises(gl.FieldError, match="mask of field 'imu' of shape"):
        changed(sample, cropped)


def test_samples_with_different_fields_are_refused(sample: Path) -> None:
    for names in (("a", "b"), ("b", "a"), ("a", "ab")):
        order = iter(names * 9)
        with pytest.raises(gl.FieldError, match="for the first sample of the batch"):
            changed(sample, lambda _, order=order: dict.fromkeys(next(order), 1))


@pytest.mark.parametrize(
    "value",
    [
        np.array([None, 1], object),
        np.array(["left"]),
        np.array([1], np.longdouble),
        np.array(["2026-01-01"], "M8[ns]"),
    ],
)
def test_arrays_that_torch_cannot_hold_stay_a_list(sample: Path, value: Any) -> None:
    batch = changed(sample, lambda _: {"kept": value})
    assert len(batch["kept"]) == 4
    assert all(given is value for given in batch["kept"])
