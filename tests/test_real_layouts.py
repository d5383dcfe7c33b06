"""Data-set layouts through the façade and the loader: streams aligned, by value."""

from __future__ import annotations

import pickle
import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest

import genlock as gl
from genlock.errors import TimeUnitError, WindowError
from genlock.location import Location
from genlock.sources.lerobot import episodes

CAM0 = "mav0/cam0/data/1403715273712143104.png"
MOTION = ["w_RS_S_x", "w_RS_S_y", "w_RS_S_z", "a_RS_S_x", "a_RS_S_y", "a_RS_S_z"]


def test_euroc_pictures_with_the_motion_at_their_times(real: Path) -> None:
    folder = real / "euroc-micro"
    fields = {
        "left": gl.Video("cam0", offsets=[0.0, 0.05], color="gray"),
        "right": gl.Video("cam1", at="left", color="gray"),
        "imu": gl.Sensor("imu0", at="left", dtype="float64"),
    }
    with pickle.loads(pickle.dumps(gl.open(folder))) as recording:
        sample = recording.read(fields, start_ns=1403715273712143104, duration=0.1)
    picture = cv2.imread(str(folder / CAM0), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(sample["left"][0, 0], picture)
    # the picture after is listed but not there
    assert sample.mask["left"].tolist() == [True, False]
    assert sample.mask["imu"].tolist() == [True, True]
    table = np.loadtxt(folder / "mav0/imu0/data.csv", delimiter=",", usecols=range(1, 7))
    stamps = np.loadtxt(folder / "mav0/imu0/data.csv", np.int64, delimiter=",", usecols=0)
    row = np.flatnonzero(stamps == 1403715273712143104).item()
    np.testing.assert_array_equal(sample["imu"][0], table[row])


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg program")
def test_lerobot_row_k_goes_with_picture_k(real: Path) -> None:
    folder = real / "lerobot-v20-gr00t"
    rows = pq.read_table(folder / "data/chunk-000/episode_000003.parquet").to_pylist()[40:60]
    view = "observation.images.ego_view"
    video = folder / f"videos/chunk-000/{view}/episode_000003.mp4"
    command = ["ffmpeg", "-v", "error", "-i", video, "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"]
    planes = np.frombuffer(subprocess.run(command, capture_output=True).stdout, np.uint8)
    luma = planes.reshape(412, -1)[40:60, : 256 * 256].reshape(20, 256, 256)
    fields = {
        "view": gl.Video(view, rate=20, color="gray"),
        "state": gl.Sensor("observation.state", at="view", dtype="float64"),
        "action": gl.Sensor("action", rate=20, columns=["motor_22", "motor_0"], dtype="float64"),
        "task": gl.Labels("task"),
    }
    with gl.open(f"{folder}/#episode=3") as recording:
        sample = recording.read(fields, start_ns=2_000_000_000, duration=1.0)
    np.testing.assert_array_equal(sample["view"][:, 0], luma)
    assert len({picture.tobytes() for picture in luma}) == 20
    assert sample["state"].tolist() == [row["observation.state"] for row in rows]
    actions = [[row["action"][22], row["action"][0]] for row in rows]
    assert sample["action"].tolist() == actions
    task = "pick the salt from the counter and place it in the plate"
    assert [label.value for label in sample["task"]] == [task]


def test_episodes_are_recordings_for_windows_and_the_loader(real: Path) -> None:
    uris = episodes(Location(real / "lerobot-v20-gr00t"))
    view = "observation.images.ego_view"
    over = ["action", view]
    windows = gl.Windows(uris, duration=2.0, stride=2.0, over=over, on_error="skip")
    # of 5 episodes the files of 2 and 3 are there: 23.5 s and 20.6 s
    assert len(windows.skipped) == 3
    assert len(windows) == 11 + 10
    fields = {"view": gl.Video(view, rate=2, size=(32, 32)), "action": gl.Sensor("action", rate=20)}
    with gl.Loader(windows, fields, batch_size=4) as loader:
        batches = list(loader)
    assert [tuple(batch["view"].shape) for batch in batches] == [(4, 4, 3, 32, 32)] * 5
    assert all(batch.mask["action"].all() and batch.mask["view"].all() for batch in batches)


def test_gopro_sensors_beside_the_pictures(real: Path) -> None:
    fields = {
        "video": gl.Video("video", rate=10, size=(48, 85)),
        "gyro": gl.Sensor("GYRO", rate=200),
        "acceleration": gl.Sensor("ACCL", at="video", columns=["z"]),
    }
    path = real / "gopro-gpmf/karma.mp4"
    windows = gl.Windows(path, duration=1.0, over=["video", "GYRO"])
    assert len(windows) == 12
    with gl.Loader(windows, fields, batch_size=12) as loader:
        (batch,) = loader
    assert batch["gyro"].shape == (12, 200, 3)
    assert batch.mask["gyro"].all()
    # the first window's first picture is 9 ms before the first acceleration
    assert not batch.mask["acceleration"][0, 0]
    assert batch.mask["acceleration"].sum() == 12 * 10 - 1
    # a drone in the air: gravity is most of what it feels
    assert 8 < batch["acceleration"][batch.mask["acceleration"]].mean() < 12


def test_redwood_needs_a_rate_and_then_aligns(real: Path) -> None:
    folder = real / "rgbd-redwood"
    fields = {
        "depth": gl.Depth("depth", rate=30),
        "color": gl.Video("color", at="depth", size=(48, 64)),
        "pose": gl.Pose("trajectory", at="depth", dtype="float64"),
    }
    with gl.open(folder) as recording:
        with pytest.raises(WindowError):
            _ = recording.start_ns
        with pytest.raises(TimeUnitError, match="rate"):
            recording.read(fields, start_ns=0, duration=0.1)
    with gl.open(folder, streams={"color": {"time": {"rate": 30}}}) as recording:
        sample = recording.read(fields, start_ns=recording.start_ns, duration="0.1")
    depth = cv2.imread(str(folder / "depth/00002.png"), cv2.IMREAD_UNCHANGED)
    np.testing.assert_allclose(sample["depth"][2], depth / np.float32(1000))
    np.testing.assert_allclose(sample["pose"][1, :3], [-0.31035872, 0.59630940, 2.12603614])


def test_neon_gaze_while_the_glasses_are_worn(real: Path) -> None:
    fields = {
        "gaze": gl.Sensor("gaze", rate=100),
        "worn": gl.Sensor("worn", at="gaze", method="nearest", dtype="uint8"),
        "turn": gl.Pose("imu-orientation", at="gaze"),
        "eyes": gl.Labels("fixations"),
    }
    with gl.open(real / "neon") as recording:
        sample = recording.read(fields, start_ns=1760676791000000000, duration=1.0)
    assert sample.mask["gaze"].all()
    assert (sample["worn"] == 255).all()
    np.testing.assert_allclose(np.linalg.norm(sample["turn"][:, 3:], axis=1), 1, atol=1e-6)
    assert [label.value for label in sample["eyes"]][:2] == ["saccade", "fixation"]


def test_hot3d_hands_from_the_headset(real: Path) -> None:
    fields = {
        "head": gl.Pose("headset", rate=60),
        "hand": gl.Pose("mano-right", at="head"),
        "seen": gl.Sensor("mask_headset_pose_available-1201-1", at="head", method="nearest"),
    }
    with gl.open(real / "hot3d-quest3") as recording:
        sample = recording.read(fields, start_ns=recording.start_ns, duration=0.4)
    assert sample.mask["hand"].all()
    assert (sample["seen"] == 1).all()
    reach = np.linalg.norm(sample["hand"][:, :3] - sample["head"][:, :3], axis=1)
    assert ((reach > 0.2) & (reach < 1.0)).all()
