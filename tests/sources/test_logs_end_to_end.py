"""Message logs through the façade: aligned by value, loaded in batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import genlock as gl
from log_writers import mcap_bytes, write_bag1, write_bag2
from ros_types import ROS1, ROS2, make

T0 = 1_700_000_000_000_000_003
FRAME_NS, IMU_NS = 50_000_000, 5_000_000
H, W = 8, 12


def stamped(ns: int, frame: str = "") -> dict[str, Any]:
    return {"stamp": {"sec": ns // 10**9, "nanosec": ns % 10**9}, "frame_id": frame}


def topics(store: Any) -> dict[str, Any]:
    """Two seconds in which every stream holds its own time since the start, and messages are
    logged up to 40 ms late, so that the times of the log would align them wrongly.
    """
    late = np.random.default_rng(7).integers(0, 40_000_000, 1000)
    pictures, imu, poses = [], [], []
    for k in range(40):
        ns = T0 + k * FRAME_NS
        # a picture's level is its frame number
        pixels = np.full((H, W), k, np.uint8)
        picture = make("sensor_msgs/msg/Image", store, header=stamped(ns), height=H, width=W,
                       encoding="mono8", step=W, data=pixels.ravel())  # fmt: skip
        pictures.append((ns + int(late[k]), picture))
    for k in range(400):
        ns = T0 + k * IMU_NS
        seconds = k * IMU_NS / 1e9
        row = make("sensor_msgs/msg/Imu", store, header=stamped(ns),
                   angular_velocity={"x": seconds}, orientation_covariance=[-1.0] + [0.0] * 8,
                   linear_acceleration={"z": -seconds})  # fmt: skip
        imu.append((ns + int(late[k]), row))
        place = {"position": {"x": 2 * seconds}, "orientation": {"w": 1.0}}
        pose = make("geometry_msgs/msg/PoseStamped", store, header=stamped(ns, "map"), pose=place)
        poses.append((ns + int(late[k + 400]), pose))
    return {"/cam/image_raw": pictures, "/imu": imu, "/pose": poses}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("logs")
    (folder / "a.mcap").write_bytes(mcap_bytes(topics(ROS2), chunk_size=4000))
    return {
        "mcap": folder / "a.mcap",
        "ros1": write_bag1(folder / "b.bag", topics(ROS1), chunk_bytes=4000),
        "ros2-sqlite": write_bag2(folder / "c", topics(ROS2)),
        "ros2-mcap": write_bag2(folder / "d", topics(ROS2), "mcap"),
    }


FORMATS = ("mcap", "ros1", "ros2-sqlite", "ros2-mcap")
FIELDS = {
    "rgb": gl.Video("cam/image_raw", rate=20, color="gray"),
    "imu": gl.Sensor("imu", at="rgb", columns=["angular_velocity.x", "linear_acceleration.z"]),
    "pose": gl.Pose("pose", at="rgb", dtype="float64"),
}


@pytest.mark.parametrize("form", FORMATS)
def test_streams_are_aligned_by_their_stamps(recordings: dict[str, Path], form: str) -> None:
    with gl.open(recordings[form]) as recording:
        assert sorted(recording.streams) == ["cam/image_raw", "imu", "pose"]
        sample = recording.read(FIELDS, start_ns=T0 + 3 * FRAME_NS, duration=0.5)
    assert sample["rgb"][:, 0, 4, 6].tolist() == list(range(3, 13))
    assert all(sample.mask[name].all() for name in FIELDS)
    assert (sample.source_times["rgb"] == sample.times["rgb"]).all()
    seconds = 0.05 * np.arange(3, 13)
    np.testing.assert_allclose(sample["imu"], np.stack([seconds, -seconds], 1), atol=1e-6)
    np.testing.assert_allclose(sample["pose"][:, 0], 2 * seconds, atol=1e-9)


@pytest.mark.parametrize("form", FORMATS)
def test_logs_load_in_batches(recordings: dict[str, Path], form: str) -> None:
    windows = gl.Windows([recordings[form]], duration=0.25, shuffle="blocks", seed=1)
    seen = []
    with gl.Loader(windows, FIELDS, batch_size=3, threads=2) as loader:
        for batch in loader:
            levels = batch["rgb"][:, :, 0, 0, 0].double()
            np.testing.assert_allclose(batch["imu"][..., 0], levels * 0.05, atol=1e-6)
            np.testing.assert_allclose(batch["pose"][..., 0], levels * 0.1, atol=1e-9)
            seen += levels[:, 0].tolist()
    assert len(seen) == len(set(seen)) == 6


def test_the_time_of_the_log_is_an_option(recordings: dict[str, Path]) -> None:
    declared = {"imu": {"time": {"from": "log"}}}
    with gl.open(recordings["mcap"], streams=declared) as recording:
        stream = recording.streams["imu"]
        late = np.random.default_rng(7).integers(0, 40_000_000, 1000)[:400]
        expected = np.sort(T0 + np.arange(400) * IMU_NS + late)
        np.testing.assert_array_equal(stream.timeline.ns, expected)


def test_a_log_among_the_files_of_a_folder(recordings: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "log.mcap").write_bytes(recordings["mcap"].read_bytes())
    (tmp_path / "recording.toml").write_text(
        '[recording]\nclock = "robot"\n'
        '[streams.gyro]\nkind = "sensor"\npath = "log.mcap"\ntrack = "imu"\n'
        '[streams.cam]\nkind = "video"\npath = "log.mcap"\n'
    )
    with gl.open(tmp_path) as recording:
        assert recording.streams["gyro"].timeline.start_ns == T0
        fields = {
            "cam": gl.Video("cam", rate=20, color="gray"),
            "gyro": gl.Sensor("gyro", at="cam"),
        }
        sample = recording.read(fields, start_ns=T0, duration=0.2)
    assert sample["cam"][:, 0, 0, 0].tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(sample["gyro"][:, 0], [0, 0.05, 0.1, 0.15], atol=1e-6)


def test_the_real_recording_aligned(real: Path) -> None:
    """Stereo pictures and IMU rows of EuRoC, whose log times jitter by up to a millisecond."""
    path = real / "mcap-euroc-img-imu" / "euroc_micro_img_imu.mcap"
    fields = {
        "left": gl.Video("cam0/image_raw/compressed", color="gray"),
        "right": gl.Video("cam1/image_raw/compressed", at="left", color="gray"),
        "imu": gl.Sensor("imu0", at="left", method="nearest", dtype="float64"),
    }
    with gl.open(path) as recording:
        sample = recording.read(fields, start_ns=1403715273262142976, duration=0.5)
    stamps = sample.times["left"]
    assert len(stamps) == 10 and sample.mask["right"].all()
    with (real / "euroc-micro/mav0/imu0/data.csv").open() as file:
        rows = dict(line.strip().split(",", 1) for line in list(file)[1:])
    for k, ns in enumerate(stamps.tolist()):
        original = cv2.imread(str(real / f"euroc-micro/mav0/cam1/data/{ns}.png"), 0)
        assert np.abs(sample["right"][k, 0].astype(int) - original).mean() < 3
        expected = np.array(rows[str(ns)].split(","), float)
        np.testing.assert_allclose(sample["imu"][k], expected, rtol=1e-15)
