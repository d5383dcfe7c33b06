"""Fields: what is refused when they are made, and what options mean."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl

NOT_NUMBERS = ["abc", float("nan"), float("inf"), [1], True, "1/0", object()]


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize(
    "make",
    [
        lambda value: gl.Sensor("imu", rate=value),
        lambda value: gl.Sensor("imu", tolerance=value),
        lambda value: gl.Sensor("imu", max_gap=value),
        lambda value: gl.Sensor("imu", offsets=[0, value]),
        lambda value: gl.Audio("mic", rate=value),
        lambda value: gl.Audio("mic", channels=value),
        lambda value: gl.Video("rgb", size=(value, 4)),
        lambda value: gl.Depth("depth", crop=(0, 0, 4, value)),
        lambda value: gl.Video(
            "rgb", color="device", dtype="float32", normalize=((0, 0, 0), (1, value, 1))
        ),
    ],
)
def test_what_is_no_number_is_named(make: Callable[[Any], gl.Sensor], value: Any) -> None:
    with pytest.raises(gl.FieldError, match="number"):
        make(value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: gl.Sensor("imu", offsets="0.1"),  # type: ignore[arg-type]
        lambda: gl.Sensor("imu", offsets=0.1),  # type: ignore[arg-type]
        lambda: gl.Sensor("imu", columns=3),  # type: ignore[arg-type]
        lambda: gl.Sensor("imu", columns=[0, 1]),  # type: ignore[list-item]
        lambda: gl.Sensor("imu", columns=[]),
        lambda: gl.Sensor("imu", at=["rgb"]),  # type: ignore[arg-type]
        lambda: gl.Sensor("imu", rate=2e9),
        lambda: gl.Video("rgb", size=224),  # type: ignore[arg-type]
        lambda: gl.Video("rgb", size=(224.5, 224)),  # type: ignore[arg-type]
        lambda: gl.Video("rgb", color="device", dtype="float32", normalize=1),  # type: ignore[arg-type]
        lambda: gl.Video("rgb", decoder="cuda"),  # type: ignore[arg-type]
        lambda: gl.Pose("slam", relative_to=1),  # type: ignore[arg-type]
        lambda: gl.Pose("slam", of=1),  # type: ignore[arg-type]
        lambda: gl.Audio("mic", rate=0),
    ],
)
def test_options_of_a_wrong_kind_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(gl.FieldError, match=r"imu|rgb|slam|mic"):
        make()


@pytest.mark.parametrize("rate", [np.float32(100), np.array(100), Fraction(100), "100"])
def test_any_spelling_of_a_rate_gives_the_same_window(sample: Path, rate: Any) -> None:
    with gl.open(sample) as recording:
        fields = {"given": gl.Sensor("imu", rate=rate), "plain": gl.Sensor("imu", rate=100)}
        read = recording.read(fields, recording.start_ns, 0.1)
    np.testing.assert_array_equal(read.times["given"], read.times["plain"])
    np.testing.assert_array_equal(read["given"], read["plain"])


def test_a_whole_float_is_a_whole_number(sample: Path) -> None:
    with gl.open(sample) as recording:
        fields = {"mic": gl.Audio("audio", rate=16_000.0)}  # type: ignore[arg-type]
        assert recording.read(fields, recording.start_ns, 0.1)["mic"].shape[1] == 1600


def test_the_decoder_is_part_of_what_a_field_asks_for() -> None:
    asked = {gl.Video("rgb", decoder=name).fingerprint() for name in ("auto", "ffmpeg", "nvdec")}
    assert len(asked) == 3
