"""Aria recordings through `open`, `Windows` and `Loader`: pictures, sound and sensors together."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import genlock as gl

GEN2 = "aria-vrs/aria_gen2_unit_test_sequence_with_bluetooth.vrs"
FIELDS = {
    "slam": gl.Video("slam-side-left", rate=30, color="gray"),
    "rgb": gl.Video("camera-rgb", at="slam", size=(64, 64), tolerance=0.1),
    "imu": gl.Sensor("imu-right", rate=400, columns=("accelerometer",), dtype="float64"),
    "sound": gl.Audio("mic", rate=48_000),
    "pose": gl.Pose("vio_high_frequency", at="slam"),
    "radio": gl.Labels("bluetooth"),
}
LAST_SLAM_NS, PIXEL = 7386058265938, 173
"""The last picture of slam-side-left, and its luma at (100, 150), as FFmpeg's tools show it."""


def test_a_window_has_all_of_them_at_once(real: Path) -> None:
    with gl.open(real / GEN2) as recording:
        sample = recording.read(FIELDS, LAST_SLAM_NS - 66_666_667, 0.1)
        imu = recording.streams["imu-right"]
    assert sample.source_times["slam"][2] == LAST_SLAM_NS
    assert sample["slam"][2, 0, 100, 150] == PIXEL
    masked = set(FIELDS) - {"radio"}
    assert {name: mask.all() for name, mask in sample.mask.items()} == dict.fromkeys(masked, True)
    assert sample["radio"] == []  # they were seen before the recording's other streams begin
    # gravity, between the rows on both sides
    assert np.linalg.norm(sample["imu"], axis=1) == pytest.approx(9.81, abs=1)
    assert (np.abs(sample.source_times["imu"] - sample.times["imu"]) < 1e9 / 800).all()
    assert imu.timeline.start_ns < sample.times["imu"][0]
    assert sample["sound"].shape == (8, 4800) and np.ptp(sample["sound"], axis=1).min() > 0
    assert np.linalg.norm(sample["pose"][:, 3:], axis=1) == pytest.approx(1, abs=1e-6)


def test_batches_of_two_generations(real: Path, tmp_path: Path) -> None:
    for name in ("recording.vrs", "general_eye_gaze.csv"):
        shutil.copy(real / "aria-vrs" / name, tmp_path)
    streams = ["camera-rgb", "imu-right", "mic"]
    windows = gl.Windows([tmp_path, real / GEN2], duration=0.1, over=streams)
    fields = {
        "rgb": gl.Video("camera-rgb", rate=20, size=(64, 48)),
        "imu": gl.Sensor("imu-right", rate=100),
    }
    with gl.Loader(windows, fields, batch_size=2, threads=1) as loader:
        batches = list(loader)
    assert len(batches) == len(windows) // 2 >= 2
    for batch in batches:
        assert batch["rgb"].shape == (2, 2, 3, 64, 48) and batch["imu"].shape == (2, 10, 6)
        for row, window in enumerate(batch.windows):
            with gl.open(window.recording) as recording:
                alone = recording.read(fields, window.start_ns, 0.1)
            for name in fields:
                np.testing.assert_array_equal(batch[name][row].numpy(), alone[name])


def test_recordings_travel_by_their_address(real: Path) -> None:
    with gl.open(real / GEN2) as recording:
        copy = pickle.loads(pickle.dumps(recording))
    with copy:
        assert len(copy.streams["imu-left"].timeline) == 239
