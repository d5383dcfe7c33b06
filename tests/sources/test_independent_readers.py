"""Whole logs through the façade, against what the packages of their formats read of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from numpy.typing import NDArray
from rosbags.highlevel import AnyReader

import genlock as gl
from log_topics import MS, T0, write
from log_writers import mcap_bytes
from ros_types import ROS2
from video_messages import coded_video, ros_video

Messages = dict[str, list[tuple[int, Any]]]
FORMS = ("mcap", "ros1", "sqlite3-bag", "mcap-bag")
WHOLE = {"start_ns": T0, "duration": 0.2}


def independent(path: Path) -> Iterator[tuple[str, int, Any]]:
    """(topic, log time, message) as mcap-ros2-support or rosbags reads them."""
    if path.suffix == ".mcap":
        with path.open("rb") as file:
            reader = make_reader(file, decoder_factories=[DecoderFactory()])
            for _, channel, message, decoded in reader.iter_decoded_messages():
                yield channel.topic, message.log_time, decoded
        return
    with AnyReader([path], default_typestore=ROS2) as reader:
        for connection, log_ns, data in reader.messages():
            yield connection.topic, log_ns, reader.deserialize(data, connection.msgtype)


def stamp_ns(header: Any) -> int:
    return int(header.stamp.sec * 10**9 + header.stamp.nanosec)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {form: write(form, tmp_path_factory.mktemp(form)) for form in FORMS}


@pytest.fixture(params=FORMS)
def path(request: pytest.FixtureRequest, paths: dict[str, Path]) -> Path:
    return paths[request.param]


def truth(path: Path) -> Messages:
    """Messages of each topic in the order of their stamps, else of the log."""
    found: Messages = {}
    for topic, log_ns, message in independent(path):
        at = stamp_ns(message.header) if hasattr(message, "header") else log_ns
        found.setdefault(topic.strip("/"), []).append((at, message))
    return {topic: sorted(rows, key=lambda row: row[0]) for topic, rows in found.items()}


def octets(data: Any) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8) if isinstance(data, bytes) else np.asarray(data, np.uint8)


def test_pictures_and_depth(path: Path) -> None:
    fields = {
        "raw": gl.Video("cam/image_raw", color="gray"),
        "jpeg": gl.Video("cam/jpeg", color="gray"),
        "depth": gl.Depth("depth"),
    }
    with gl.open(path) as recording:
        sample = recording.read(fields, **WHOLE)
        assert recording.streams["cam/image_raw"].info.modality == "video"
        assert recording.streams["depth"].info.modality == "depth"
    found = truth(path)
    for name, topic in (("raw", "cam/image_raw"), ("jpeg", "cam/jpeg"), ("depth", "depth")):
        assert sample.times[name].tolist() == [ns for ns, _ in found[topic]]
        assert sample.mask[name].all() and len(sample.mask[name]) == 20
    for k, (_, message) in enumerate(found["cam/image_raw"]):
        pixels = octets(message.data).reshape(message.height, message.step)[:, : message.width]
        np.testing.assert_array_equal(sample["raw"][k, 0], pixels)
    for k, (_, message) in enumerate(found["cam/jpeg"]):
        pixels = cv2.imdecode(octets(message.data), cv2.IMREAD_GRAYSCALE)
        np.testing.assert_array_equal(sample["jpeg"][k, 0], pixels)
    for k, (_, message) in enumerate(found["depth"]):
        codes = cv2.imdecode(octets(message.data)[12:], cv2.IMREAD_UNCHANGED)
        np.testing.assert_allclose(sample["depth"][k], codes / 1000, rtol=1e-6)


def test_sensors_and_poses(path: Path) -> None:
    fields = {
        "imu": gl.Sensor("imu", dtype="float64"),
        "at": gl.Pose("at", dtype="float64"),
        "odom": gl.Pose("odom", dtype="float64"),
        "twist": gl.Sensor("odom", columns=["twist.twist.linear.x"]),
    }
    with gl.open(path) as recording:
        sample = recording.read(fields, **WHOLE)
        names = recording.streams["imu"].info.columns
        assert recording.streams["at"].info.frames == ("cam", "")
    found = truth(path)
    for k, (ns, message) in enumerate(found["imu"]):
        assert sample.times["imu"][k] == ns
        for i, name in enumerate(names):
            part, axis = name.split(".")
            assert sample["imu"][k, i] == getattr(getattr(message, part), axis)
    poses = {"at": lambda message: message.pose, "odom": lambda message: message.pose.pose}
    for name, pose_of in poses.items():
        for k, (ns, message) in enumerate(found[name]):
            pose = pose_of(message)
            values = [getattr(pose.position, axis) for axis in "xyz"]
            values += [getattr(pose.orientation, axis) for axis in "xyzw"]
            assert sample.times[name][k] == ns
            np.testing.assert_allclose(sample[name][k], values, atol=1e-12)
    assert sample.mask["twist"].all() and not sample["twist"].any()


@pytest.mark.parametrize("form", ["mcap", "sqlite3-bag", "mcap-bag"])
def test_transforms(paths: dict[str, Path], form: str) -> None:
    path = paths[form]
    found = truth(path)["tf"]
    pairs: dict[str, list[tuple[int, Any]]] = {}
    for _, message in found:
        for one in message.transforms:
            name = f"tf/{one.header.frame_id}/{one.child_frame_id}"
            pairs.setdefault(name, []).append((stamp_ns(one.header), one.transform))
    with gl.open(path) as recording:
        assert {name for name in recording.streams if name.startswith("tf/")} == set(pairs)
        for name, rows in pairs.items():
            rows.sort(key=lambda row: row[0])
            sample = recording.read({"pose": gl.Pose(name, dtype="float64")}, **WHOLE)
            assert sample.times["pose"].tolist() == [ns for ns, _ in rows]
            places = [[getattr(one.translation, axis) for axis in "xyz"] for _, one in rows]
            np.testing.assert_array_equal(sample["pose"][:, :3], places)


def test_calibration(path: Path) -> None:
    message = truth(path)["cam/camera_info"][0][1]
    matrix = list(getattr(message, "k", getattr(message, "K", None)))
    with gl.open(path) as recording:
        sample = recording.read({"raw": gl.Video("cam/image_raw")}, **WHOLE)
    np.testing.assert_allclose(sample.intrinsics["raw"].ravel(), matrix)
    distortion = list(getattr(message, "d", getattr(message, "D", None)))
    np.testing.assert_allclose(sample.distortion["raw"], distortion, rtol=1e-6)


def test_texts_at_the_time_of_the_log(path: Path) -> None:
    rows = truth(path)["text"]
    with gl.open(path) as recording:
        notes = " ".join(recording.streams["text"].info.report.notes)
        sample = recording.read({"said": gl.Labels("text")}, start_ns=T0, duration=1.0)
    assert "state no time of their own: times are those of the log" in notes
    assert [(label.start_ns, label.value) for label in sample["said"]] == [
        (ns, message.data) for ns, message in rows
    ]


def test_clouds(path: Path) -> None:
    with gl.open(path) as recording:
        sample = recording.read({"top": gl.Points("lidar", columns=["x", "z", "ring"])}, **WHOLE)
    rows = truth(path)["lidar"]
    assert sample.times["top"].tolist() == [ns for ns, _ in rows]
    for k, (_, message) in enumerate(rows):
        count = message.width * message.height
        assert sample.counts["top"][k] == count
        offsets = {field.name: field.offset for field in message.fields}
        data = octets(message.data)[: count * message.point_step]
        points = data.reshape(count, message.point_step)
        for i, (name, dtype) in enumerate((("x", "<f4"), ("z", "<f4"), ("ring", "<u2"))):
            size = np.dtype(dtype).itemsize
            packed = points[:, offsets[name] : offsets[name] + size]
            values = np.frombuffer(packed.tobytes(), dtype)
            np.testing.assert_array_equal(sample["top"][k, :count, i], values)


def test_log_time_is_an_option(path: Path) -> None:
    logged = sorted(log_ns for topic, log_ns, _ in independent(path) if topic == "/imu")
    with gl.open(path, streams={"imu": {"time": {"from": "log"}}}) as recording:
        assert recording.streams["imu"].timeline.ns.tolist() == logged
        assert "as declared" in " ".join(recording.streams["imu"].info.report.notes)


@pytest.mark.parametrize(("encoder", "format"), [("libx264", "h264"), ("libx265", "h265")])
def test_coded_video(encoder: str, format: str) -> None:
    """Against FFmpeg's decoder fed with the packets in order."""
    packets = coded_video(encoder, 25)
    stamps = [T0 + k * 40 * MS for k in range(len(packets))]
    messages = [
        (ns + 7, ros_video(ns, data, format)) for ns, data in zip(stamps, packets, strict=True)
    ]
    context = av.CodecContext.create("hevc" if format == "h265" else format, "r")
    decoded = [frame for data in packets for frame in context.decode(av.Packet(data))]
    decoded += context.decode(None)
    luma = [frame.to_ndarray()[: frame.height] for frame in decoded]  # above U and V
    with gl.open(mcap_bytes({"/video": messages})) as recording:
        field = gl.Video("video", color="gray")
        whole = recording.read({"video": field}, start_ns=T0, duration=1.0)
        part = recording.read({"video": field}, start_ns=stamps[13], duration=0.2)
    assert whole.times["video"].tolist() == stamps
    np.testing.assert_array_equal(part["video"], whole["video"][13:18])
    np.testing.assert_array_equal(whole["video"][:, 0], np.stack(luma))
