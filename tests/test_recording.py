"""The façade: what `open`, `read` and `Windows` refuse, and how they say it."""

from __future__ import annotations

import io
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


@pytest.mark.parametrize("duration", [-1, float("nan"), "x", None, 1e12])
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


def test_one_path_opened_in_two_ways_is_refused(sample: Path) -> None:
    moved = {"device": gl.ClockMap(offset_ns=10**9)}
    with gl.open(sample) as plain, gl.open(sample, clock=moved) as late:
        assert len(gl.Windows([sample, plain, str(sample)], duration=1)) > 0
        for both in ([late, plain], [plain, late], [sample, late], [late, sample]):
            with pytest.raises(gl.WindowError, match="in different ways"):
                gl.Windows(both, duration=1)
        with pytest.raises(gl.WindowError, match="in different ways"):
            gl.Windows.at([(late, 0, 1), (sample, 0, 1)])
        for parts in ([late, sample], [sample, late]):
            with pytest.raises(gl.WindowError, match="in different ways"):
                gl.Windows.mix([gl.Windows(part, duration=1) for part in parts])
        once = gl.Windows(late, duration=1)
        assert gl.Windows.mix([once, once]).references == once.references


def table(value: int) -> bytes:
    return f"t_ns,a\n0,{value}\n1000000000,{value}\n".encode()


def test_bytes_are_named_by_their_content() -> None:
    contents = (bytearray(table(value)) for value in range(8))  # each freed before the next
    made = gl.Windows(contents, duration=2)
    fields = {"a": gl.Sensor("table", offsets=[0])}
    with gl.Loader(made, fields, batch_size=8) as loader:
        (batch,) = loader
    assert batch["a"].flatten().tolist() == list(range(8))
    again = gl.Windows(map(io.BytesIO, map(table, range(8))), duration=2)
    assert again.fingerprint() == made.fingerprint()


def test_files_of_one_name_and_other_content_are_refused(tmp_path: Path) -> None:
    files = [io.BytesIO(table(value)) for value in range(2)]
    for file in files:
        file.name = "imu.csv"  # type: ignore[attr-defined]
    with pytest.raises(gl.WindowError, match="in different ways"):
        gl.Windows(files, duration=1)


def test_a_path_of_no_letters_is_not_the_root() -> None:
    with pytest.raises(gl.OpenError, match="no letters"):
        gl.open("")


@pytest.mark.parametrize("row", [(), ("a",), ("a", 0), 3, None, ("a", 0, 1, "x", "y")])
def test_rows_that_are_no_clips_are_named(sample: Path, row: Any) -> None:
    with pytest.raises(gl.WindowError, match="row 1"):
        gl.Windows.at([(sample, 0, 1), row])


@pytest.mark.parametrize("options", [{"on_error": "mask"}, {"over": 3}])
def test_wrong_options_of_windows_are_refused(sample: Path, options: dict[str, Any]) -> None:
    with pytest.raises(gl.WindowError, match=r"on_error|over"):
        gl.Windows(sample, duration=1, **options)


@pytest.mark.parametrize("target", ["nowhere://bucket/a", "x" * 5000, "x/" + "y" * 300])
def test_names_that_no_file_system_takes_are_open_errors(target: str) -> None:
    with pytest.raises(gl.OpenError, match=r"cannot open|does not exist"):
        gl.open(target)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_pixels": -1}, gl.LayoutError),
        ({"max_pixels": "a"}, gl.LayoutError),
        ({"streams": 3}, gl.LayoutError),
        ({"streams": {"imu": 3}}, gl.LayoutError),
        ({"clock": 3}, gl.ClockError),
        ({"clock": {"imu": 3}}, gl.ClockError),
        ({"clock": {"imv": gl.ClockMap()}}, gl.ClockError),
    ],
)
def test_wrong_options_of_open_are_refused(
    sample: Path, options: dict[str, Any], error: type[gl.GenlockError]
) -> None:
    with pytest.raises(error, match=next(iter(options))):
        gl.open(sample, **options)


def test_a_wrong_name_says_which_was_meant(sample: Path) -> None:
    with gl.open(sample) as recording:
        with pytest.raises(gl.StreamError, match=r"'came-rgb' \(did you mean 'camera-rgb'"):
            recording.streams["came-rgb"]
        with pytest.raises(KeyError):
            recording.streams["what"]
        assert recording.streams.get("came-rgb") is None and "came-rgb" not in recording.streams
        with pytest.raises(gl.StreamError, match="did you mean 'imu'"):
            gl.Windows(recording, duration=1.0, over=["imo"])
        fields = {"rgb": gl.Video("camera-rgb", rate=2, size=(8, 8))}
        window = recording.read(fields, recording.start_ns, 1.0)
        windows = gl.Windows(recording, duration=1.0)
        with gl.Loader(windows, fields, batch_size=1) as loader:
            batch = next(iter(loader))
    for values in (window, batch):
        with pytest.raises(gl.FieldNameError, match="no field 'rbg'; did you mean 'rgb'"):
            values["rbg"]
        assert values.get("rbg") is None and "rbg" not in values
