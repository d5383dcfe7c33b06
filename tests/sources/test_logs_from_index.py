"""Logs that were opened before: the same streams and units, and the log is not read again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import genlock as gl
from cloud_messages import cloud, numbered
from genlock._logs import mcap as mcap_log
from genlock._logs import ros1, sqlite
from genlock._messages import Schema
from genlock.index import Index
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources._log_source import LogSource
from log_writers import mcap_bytes, write_bag1, write_bag2
from ros_types import ROS1, ROS2, header, make

T0 = 1_700_000_000_000_000_003
MS = 1_000_000
OLD_NS = 1_600_000_000_000_000_000
LOGS = (mcap_log.McapLog, ros1.Bag1Log, sqlite.SqliteLog)


def topics(store: Any) -> dict[str, Any]:
    """A log of every kind of stream, logged late and out of order."""
    late = np.random.default_rng(5).integers(0, 30 * MS, 40).tolist()
    kinds: dict[str, Callable[[int, Any], Any]] = {
        "/cam/image_raw": lambda k, head: _picture(store, k, head),
        "/cam/jpeg": lambda k, head: _compressed(store, k, head),
        "/cam/camera_info": lambda k, head: _camera(store, head),
        "/imu": lambda k, head: make(
            "sensor_msgs/msg/Imu", store, header=head, angular_velocity={"x": k / 8}
        ),
        "/odom": lambda k, head: make(
            "nav_msgs/msg/Odometry",
            store,
            header=head,
            pose={"pose": {"position": {"x": k}, "orientation": {"w": 1}}},
        ),
        "/tf": lambda k, head: _transform(store, k, head),
        "/lidar": lambda k, head: cloud(T0 + k * 10 * MS, numbered(k, k % 5), store),
        "/text": lambda k, head: make("std_msgs/msg/String", store, data=f"step {k}"),
    }
    if store is ROS1:
        del kinds["/tf"]  # that store has no such type; the real bag has one
    return {
        topic: [
            (T0 + k * 10 * MS + late[k], build(k, header(T0 + k * 10 * MS, "cam")))
            for k in range(20)
        ]
        for topic, build in kinds.items()
    }


def _picture(store: Any, k: int, head: Any) -> Any:
    pixels = np.full(48, k, np.uint8)
    size = {"height": 6, "width": 8, "step": 8, "encoding": "mono8"}
    return make("sensor_msgs/msg/Image", store, header=head, data=pixels, **size)


def _compressed(store: Any, k: int, head: Any) -> Any:
    data = cv2.imencode(".jpg", np.full((16, 16), 10 * k, np.uint8))[1].ravel()
    return make("sensor_msgs/msg/CompressedImage", store, header=head, format="jpeg", data=data)


def _camera(store: Any, head: Any) -> Any:
    names = ("k", "d") if store is ROS2 else ("K", "D")
    values = {names[0]: [5.0, 0, 4, 0, 5.0, 3, 0, 0, 1], names[1]: [0.1] * 5}
    size = {"height": 6, "width": 8, "distortion_model": "plumb_bob"}
    return make("sensor_msgs/msg/CameraInfo", store, header=head, **size, **values)


def _transform(store: Any, k: int, head: Any) -> Any:
    moves = [
        {
            "header": head,
            "child_frame_id": child,
            "transform": {"translation": {"x": k + offset}, "rotation": {"w": 1}},
        }
        for child, offset in (("base", 0), ("hand", 100))
    ]
    return make("tf2_msgs/msg/TFMessage", store, transforms=moves)


def _unread() -> dict[str, Any]:
    return {"/odd": [(T0, (Schema("a/B", "cdr", "ros2msg", b"c/D x"), b"\0\1\0\0"))]}


def write(form: str, folder: Path) -> Path:
    match form:
        case "mcap":
            path = folder / "a.mcap"
            path.write_bytes(mcap_bytes(topics(ROS2) | _unread(), chunk_size=2000))
        case "ros1":
            path = write_bag1(folder / "b.bag", topics(ROS1), chunk_bytes=2000)
        case _:
            path = write_bag2(folder / "c", topics(ROS2), form.removesuffix("-bag"))
    for one in (path, *(path.iterdir() if path.is_dir() else ())):
        os.utime(one, ns=(OLD_NS, OLD_NS))
    return path


def plain(value: Any) -> Any:
    """A unit as values that compare by ==."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    return value.tolist() if isinstance(value, np.ndarray) else value


def contents(source: Source) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, stream in source.streams.items():
        about = [stream.info, stream.intrinsics, stream.extrinsics, str(stream.problem)]
        about += [plain(stream.timeline.ns), plain(stream.counts)]
        if stream.problem is None:
            with closing(source.units(name)) as units:
                about.append([(index, plain(unit)) for index, unit in units.units(0)])
        found[name] = about
    return found


@pytest.fixture
def forbid_scans(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def scan(self: Any, connect: Any) -> Any:
        pytest.fail("the log is read again")

    return lambda: [monkeypatch.setattr(log, "scan", scan) for log in LOGS] and None


@pytest.mark.parametrize("form", ["mcap", "ros1", "sqlite3-bag", "mcap-bag"])
def test_the_log_is_read_once(form: str, tmp_path: Path, forbid_scans: Callable[[], None]) -> None:
    path = write(form, tmp_path)
    index = Index(tmp_path / "cache")
    options = OpenOptions(streams={"imu": {"time": {"from": "log"}}})
    with closing(index.read(Location(path), options)) as source:
        expected = contents(source)
    forbid_scans()
    with closing(index.read(Location(path), options)) as source:
        assert isinstance(source, LogSource)
        assert contents(source) == expected
    assert {"cam/image_raw", "lidar", "text"} <= expected.keys()
    assert form == "ros1" or {"tf/cam/base", "tf/cam/hand"} <= expected.keys()
    assert expected["cam/image_raw"][1].focal == (5.0, 5.0)


def test_several_streams_of_one_log_share_one_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("mcap", tmp_path)
    names = {"gyro": ("sensor", "imu"), "walk": ("pose", "odom"), "top": ("points", "lidar")}
    names |= {"said": ("labels", "text"), "cam": ("video", "cam/image_raw")}
    lines = ['[recording]\nclock = "robot"\n']
    for name, (kind, track) in names.items():
        lines.append(f'[streams.{name}]\nkind = "{kind}"\npath = "a.mcap"\ntrack = "{track}"\n')
    lines.append('[streams.late]\nkind = "sensor"\npath = "a.mcap"\ntrack = "imu"\n')
    lines.append('time = { from = "log" }\n')
    (tmp_path / "recording.toml").write_text("\n".join(lines))
    scans = []
    scan = mcap_log.McapLog.scan

    def counting(self: mcap_log.McapLog, connect: Any) -> Any:
        scans.append(self.location.uri)
        return scan(self, connect)

    monkeypatch.setattr(mcap_log.McapLog, "scan", counting)
    with gl.open(tmp_path, index=False) as recording:
        assert len(scans) == 2  # `late` reads what others read, but with other times
        stamps = recording.streams["gyro"].timeline.ns
        np.testing.assert_array_equal(stamps, T0 + np.arange(20) * 10 * MS)
        logged = np.random.default_rng(5).integers(0, 30 * MS, 40)[:20]
        late = np.sort(T0 + np.arange(20) * 10 * MS + logged)
        np.testing.assert_array_equal(recording.streams["late"].timeline.ns, late)
        fields = {
            "walk": gl.Pose("walk", rate=100, dtype="float64"),
            "gyro": gl.Sensor("gyro", at="walk", columns=["angular_velocity.x"]),
            "top": gl.Points("top", at="walk"),
            "cam": gl.Video("cam", at="walk", color="gray"),
        }
        sample = recording.read(fields, start_ns=T0, duration=0.2)
    assert len(scans) == 2
    assert sample["walk"][:, 0].tolist() == list(range(20))
    assert sample["gyro"][:, 0].tolist() == [k / 8 for k in range(20)]
    assert sample["cam"][:, 0, 0, 0].tolist() == list(range(20))
    assert sample.counts["top"].tolist() == [k % 5 for k in range(20)]


@pytest.mark.parametrize("name", ["mcap-euroc-img-imu", "rosbag1-foxglove"])
def test_real_logs_from_the_index(
    name: str, real: Path, tmp_path: Path, forbid_scans: Callable[[], None]
) -> None:
    path = next(file for file in (real / name).iterdir() if file.suffix in (".mcap", ".bag"))
    index = Index(tmp_path / "cache")
    with closing(index.read(Location(path), OpenOptions())) as source:
        expected = contents(source)
    forbid_scans()
    with closing(index.read(Location(path), OpenOptions())) as source:
        assert contents(source) == expected
