"""The façade: what `open`, `read` and `Windows` refuse, and how they say it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl

IMU = {"imu": gl.Sensor("imu", rate=100)}


@pytest.mark.parametrize("start_ns", [1e9, 1.25, float("nan"), "0", None])
def test_a_start_that_is_no_whole_ns_is_refused(sample: Path, start_ns: Any) -> None:
    with gl.open(sample) as recording, pytest.raises(gl.WindowError, match="whole number of ns"):
        recording.read(IMU, start_ns, 0.1)


@pytest.mark.parametrize("duration", [0, -1, float("nan"), "x", None, 1e12])
def test_a_duration_that_cannot_be_is_refused(sample: Path, duration: Any) -> None:
    with gl.open(sample) as recording, pytest.raises(gl.WindowError, match="duration"):
        recording.read(IMU, recording.start_ns, duration)


@pytest.mark.parametrize("start_ns", [2**62 - 10**8, 2**63 - 5, 2**63, 2**80, -(2**63)])
def test_a_window_at_the_end_of_int64_is_refused(sample: Path, start_ns: int) -> None:
    with gl.open(sample) as recording, pytest.raises(gl.WindowError, match=r"2\*\*62"):
        recording.read(IMU, start_ns, 1)
    clips = gl.Windows.at([(sample, start_ns, 1)]) if abs(start_ns) < 2**63 else None
    if clips is not None:
        with gl.Loader(clips, IMU, batch_size=1) as loader, pytest.raises(gl.WindowError):
            next(iter(loader))


@pytest.mark.parametrize("offset", [1e12, 9e9, -9.22e9])
def test_offsets_that_leave_int64_are_refused(sample: Path, offset: float) -> None:
    fields = {"imu": gl.Sensor("imu", offsets=[0, offset])}
    with gl.open(sample) as recording, pytest.raises(gl.FieldError, match="146 years"):
        recording.read(fields, recording.start_ns, 1)


def test_a_grid_beyond_memory_is_refused_before_it_is_made(sample: Path) -> None:
    with gl.open(sample) as recording, pytest.raises(gl.WindowError, match="1000000000 grid times"):
        recording.read({"imu": gl.Sensor("imu", rate=1e9)}, recording.start_ns, 1)


def test_numpy_integers_are_whole_ns(sample: Path) -> None:
    with gl.open(sample) as recording:
        plain = recording.read(IMU, recording.start_ns, 0.1)["imu"]
        for start_ns in (np.int64(recording.start_ns), np.array(recording.start_ns)):
            given = recording.read(IMU, start_ns, 0.1)["imu"]  # type: ignore[arg-type]
            np.testing.assert_array_equal(given, plain)


@pytest.mark.parametrize("fields", [None, [gl.Sensor("imu")], gl.Sensor("imu"), "imu"])
def test_fields_without_names_are_refused(sample: Path, fields: Any) -> None:
    with gl.open(sample) as recording, pytest.raises(gl.FieldError, match="by name"):
        recording.read(fields, recording.start_ns, 0.1)
