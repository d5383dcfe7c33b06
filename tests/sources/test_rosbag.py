from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags import rosbag1, rosbag2

from genlock.decoders.table import TableDecoder
from genlock.errors import LayoutError, OpenError
from genlock.interfaces import OpenOptions
from genlock.location import Location
from genlock.sources import open_source, rosbag
from genlock.sources._log_source import LogSource
from log_writers import write_bag1, write_bag2
from ros_types import ROS1, ROS2, encode, make

T0 = 1_600_000_000_987_654_321
STEP = 10_000_000


def open_bag(target: Any, **streams: Any) -> LogSource:
    options = OpenOptions(streams=streams)
    return rosbag.open_source(Location.of(target), options, lambda *_: pytest.fail("no children"))


def columns(source: LogSource, stream: str) -> Any:
    return TableDecoder(source.units(stream), source.streams[stream]).columns()


def wrench(k: int, store: Any, latency: int = 500) -> tuple[int, Any]:
    """Log time and message of row k; its force is k."""
    ns = T0 + k * STEP
    seconds = {"sec": ns // 10**9, "nanosec": ns % 10**9}
    message = make(
        "geometry_msgs/msg/WrenchStamped",
        store,
        header={"stamp": seconds, "frame_id": "hand"},
        wrench={"force": {"x": float(k)}, "torque": {"z": -float(k)}},
    )
    return ns + latency, message


@pytest.fixture(scope="module")
def turtles(real: Path) -> LogSource:
    return open_bag(real / "rosbag1-foxglove" / "example-lz4.bag")


def test_real_bag_rows_and_times(turtles: LogSource) -> None:
    """Counts and times as the rosbags package's own reader gives them."""
    found = {
        name: (stream.info.modality, len(stream.timeline), stream.timeline.start_ns,
               int(stream.timeline.ns[-1]))
        for name, stream in turtles.streams.items()
    }  # fmt: skip
    assert found == {
        "rosout": ("labels", 10, 1396293885935147790, 1396293887848565438),
        "turtle1/color_sensor": ("sensor", 1351, 1396293887944036922, 1396293909544793352),
        "turtle2/color_sensor": ("sensor", 1344, 1396293888056032049, 1396293909544135514),
        "turtle1/pose": ("sensor", 1344, 1396293888056045055, 1396293909544853679),
        "turtle2/pose": ("sensor", 1344, 1396293888056052199, 1396293909544870199),
        "tf/world/turtle1": ("pose", 1344, 1396293888056102037, 1396293909544173002),
        "tf/world/turtle2": ("pose", 1344, 1396293888056065082, 1396293909544282913),
        "turtle2/cmd_vel": ("sensor", 208, 1396293888785501722, 1396293909485565775),
        "turtle1/cmd_vel": ("sensor", 357, 1396293889366115136, 1396293906006008449),
    }


def test_real_bag_values(turtles: LogSource) -> None:
    """Rows as the rosbags package's own reader gives them."""
    pose = columns(turtles, "turtle1/pose")
    assert int(turtles.streams["turtle1/pose"].timeline.ns[700]) == 1396293899256296968
    assert {name: float(values[700]) for name, values in pose.items()} == {
        "x": 2.462730884552002,
        "y": 7.962547302246094,
        "theta": 4.51200008392334,
        "linear_velocity": 2.0,
        "angular_velocity": 0.0,
    }
    assert pose["x"].dtype == np.float32
    twist = columns(turtles, "turtle2/cmd_vel")
    assert (twist["linear.x"][100], twist["angular.z"][100]) == (
        1.081336848357684,
        0.5008879476774595,
    )
    assert turtles.streams["turtle2/cmd_vel"].info.units["angular.z"] == "rad/s"
    color = columns(turtles, "turtle1/color_sensor")
    assert [int(color[name][5]) for name in "rgb"] == [69, 86, 255]
    assert color["r"].dtype == np.uint8
    texts = columns(turtles, "rosout")["value"].tolist()
    assert texts[-1] == "Subscribing to /turtle1/pose" and texts[1].startswith("Spinning until")


def test_real_bag_transforms(turtles: LogSource) -> None:
    stream = turtles.streams["tf/world/turtle2"]
    assert int(stream.timeline.ns[1000]) == 1396293904056216001
    found = columns(turtles, "tf/world/turtle2")
    values = [float(found[n][1000]) for n in ("tx", "ty", "tz", "qx", "qy", "qz", "qw")]
    assert values == pytest.approx(
        [1.5942857265472412, 3.160980701446533, 0, 0, 0, 0.8158102718801383, -0.5783196350590691],
        abs=1e-15,
    )
    assert stream.info.frames == ("world", "turtle2")


LZ4, BZ2 = rosbag1.Writer.CompressionFormat.LZ4, rosbag1.Writer.CompressionFormat.BZ2


@pytest.mark.parametrize("compression", [None, LZ4, BZ2])
def test_ros_1_in_chunks(tmp_path: Path, compression: Any) -> None:
    topics = {"/wrench": [wrench(k, ROS1) for k in range(60)]}
    source = open_bag(write_bag1(tmp_path / "a.bag", topics, compression, chunk_bytes=1500))
    stream = source.streams["wrench"]
    assert stream.timeline.ns.tolist() == [T0 + k * STEP for k in range(60)]
    assert columns(source, "wrench")["wrench.force.x"].tolist() == list(map(float, range(60)))
    assert stream.info.units["wrench.force.x"] == "N"
    assert stream.info.clock == "ros"


def test_ros_1_connections_of_one_topic_are_one_stream(tmp_path: Path) -> None:
    topics = {
        "/wrench": [wrench(k, ROS1) for k in range(0, 10, 2)],
        "/wrench#2": [wrench(k, ROS1, latency=-STEP) for k in range(1, 10, 2)],
    }
    source = open_bag(write_bag1(tmp_path / "a.bag", topics))
    assert list(source.streams) == ["wrench"]
    assert columns(source, "wrench")["wrench.force.x"].tolist() == list(map(float, range(10)))


@pytest.mark.parametrize("compression", [None, LZ4])
def test_a_ros_1_bag_that_was_cut_off(tmp_path: Path, compression: Any) -> None:
    topics = {"/wrench": [wrench(k, ROS1) for k in range(60)]}
    path = write_bag1(tmp_path / "a.bag", topics, compression, chunk_bytes=1500)
    head = 4117  # magic and bag header, which has a fixed size
    path.write_bytes(path.read_bytes()[: head + (path.stat().st_size - head) // 3])
    source = open_bag(path)
    stream = source.streams["wrench"]
    rows = len(stream.timeline)
    assert 5 < rows < 55
    assert columns(source, "wrench")["wrench.force.x"].tolist() == list(map(float, range(rows)))
    assert any("the bag is read up to byte" in note for note in stream.info.report.notes)


@pytest.mark.parametrize("storage", ["sqlite3", "mcap"])
def test_ros_2_bags(tmp_path: Path, storage: str) -> None:
    topics = {
        "/wrench": [wrench(k, ROS2) for k in range(60)],
        "/note": [(T0, make("std_msgs/msg/String", data="begin"))],
    }
    path = write_bag2(tmp_path / "bag", topics, storage)
    (inside,) = (p for p in path.iterdir() if p.suffix in (".db3", ".mcap"))
    for target in (path, inside):
        source = open_source(Location(target))
        assert sorted(source.streams) == ["note", "wrench"]
        assert source.streams["wrench"].timeline.ns.tolist() == [T0 + k * STEP for k in range(60)]
        with closing(source.units("wrench")) as units:
            assert units.unit(0)["wrench.torque.z"].tolist() == [-float(k) for k in range(60)]
        with closing(source.units("note")) as units:
            assert units.unit(0)["value"].tolist() == ["begin"]
        source.close()


def test_ros_2_bags_before_iron_hold_no_definitions(tmp_path: Path) -> None:
    path = write_bag2(tmp_path / "bag", {"/wrench": [wrench(k, ROS2) for k in range(5)]})
    with closing(sqlite3.connect(path / "bag.db3")) as database:
        database.execute("DROP TABLE message_definitions")
        database.commit()
    assert columns(open_bag(path), "wrench")["wrench.force.x"].tolist() == [0, 1, 2, 3, 4]


def test_a_split_bag_is_one_recording(tmp_path: Path) -> None:
    parts = [
        write_bag2(tmp_path / f"part{n}", {"/wrench": [wrench(k, ROS2) for k in range(a, b)]})
        for n, (a, b) in enumerate([(0, 4), (4, 9)])
    ]
    whole = tmp_path / "whole"
    shutil.copytree(parts[0], whole)
    shutil.copy(parts[1] / "part1.db3", whole / "part1.db3")
    metadata = (whole / "metadata.yaml").read_text()
    assert "- part0.db3" in metadata
    (whole / "metadata.yaml").write_text(
        metadata.replace("- part0.db3", "- part0.db3\n  - part1.db3", 1)
    )
    source = open_bag(whole)
    assert columns(source, "wrench")["wrench.force.x"].tolist() == list(map(float, range(9)))
    (whole / "part1.db3").unlink()
    with pytest.raises(OpenError, match=r"part1\.db3 is missing"):
        open_bag(whole)


def test_a_database_that_was_not_closed(tmp_path: Path) -> None:
    """Its last messages are in the write-ahead log beside it."""
    path = write_bag2(tmp_path / "bag", {"/wrench": [wrench(k, ROS2) for k in range(5)]})
    database = sqlite3.connect(path / "bag.db3")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("DELETE FROM messages WHERE id > 3")
    database.commit()
    try:
        assert len(open_bag(path / "bag.db3").streams["wrench"].timeline) == 3
    finally:
        database.close()


def test_a_damaged_database_gives_what_can_be_read(tmp_path: Path) -> None:
    path = write_bag2(tmp_path / "bag", {"/wrench": [wrench(k, ROS2) for k in range(400)]})
    file = path / "bag.db3"
    data = bytearray(file.read_bytes())
    at = len(data) // 2 // 4096 * 4096  # pages of 4096 bytes
    data[at : at + 4096] = b"\xa5" * 4096
    file.write_bytes(data)
    source = open_bag(path)
    stream = source.streams["wrench"]
    assert 0 < len(stream.timeline) < 400
    assert any("the database is read up to" in note for note in stream.info.report.notes)


def test_declared_times_and_misspelt_streams(tmp_path: Path) -> None:
    path = write_bag1(tmp_path / "a.bag", {"/wrench": [wrench(k, ROS1) for k in range(3)]})
    options = OpenOptions(streams={"wrench": {"time": {"from": "log"}, "zero_ns": 7}})
    source = open_source(Location(path), options)
    assert source.streams["wrench"].timeline.start_ns == T0 + 500 + 7
    with pytest.raises(LayoutError, match="wrench"):
        open_source(Location(path), OpenOptions(streams={"wrenhc": {"time": {"from": "log"}}}))


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.bag", b"", "not a ROS 1 bag"),
        ("a.bag", b"#ROSBAG V1.2\n" + bytes(40), "version 1.2"),
        ("a.bag", b"#ROSBAG V2.0\n", "holds no messages"),
        ("a.bag", b"#ROSBAG V2.0\n" + b"\xff" * 100, "holds no messages.*damaged"),
        ("a.db3", b"", "not a sound ROS 2 bag"),
        ("a.db3", b"SQLite format 3\0" + bytes(200), "not a sound ROS 2 bag"),
        ("a.db3", b"text", "not a sound ROS 2 bag"),
    ],
)
def test_what_cannot_be_opened(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(OpenError, match=message) as caught:
        open_bag(path)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ("rosbag2_bagfile_information: [", "cannot be read"),
        ("rosbag2_bagfile_information: 3", "cannot be read"),
        ("rosbag2_bagfile_information: {}", "lists no files"),
        ("rosbag2_bagfile_information: {relative_file_paths: [x.db3.zstd]}", "zstd -d"),
        ("rosbag2_bagfile_information: {relative_file_paths: [x.db3.tar]}", "not known"),
    ],
)
def test_metadata_that_is_wrong(tmp_path: Path, metadata: str, message: str) -> None:
    for name in ("x.db3.zstd", "x.db3.tar"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "metadata.yaml").write_text(metadata)
    with pytest.raises(OpenError, match=message):
        open_source(Location(tmp_path))


def test_compressed_messages_are_refused(tmp_path: Path) -> None:
    writer = rosbag2.Writer(tmp_path / "bag", version=9)
    writer.set_compression(rosbag2.CompressionMode.MESSAGE, rosbag2.CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/s", "std_msgs/msg/String", typestore=ROS2)
        writer.write(connection, 5, encode(make("std_msgs/msg/String", data="a" * 99)))
    with pytest.raises(OpenError, match="compression_mode: none"):
        open_bag(tmp_path / "bag")


def test_an_encrypted_bag_is_refused(tmp_path: Path) -> None:
    path = write_bag1(tmp_path / "a.bag", {"/wrench": [wrench(0, ROS1)]})
    data = path.read_bytes()
    fields = b"encryptor=rosbag/AesCbcEncryptor"
    field = len(fields).to_bytes(4, "little") + fields
    at = len(b"#ROSBAG V2.0\n")
    size = int.from_bytes(data[at : at + 4], "little") + len(field)
    path.write_bytes(data[:at] + size.to_bytes(4, "little") + field + data[at + 4 :])
    with pytest.raises(OpenError, match="encrypted"):
        open_bag(path)


def test_a_database_in_memory_and_one_far_away(tmp_path: Path) -> None:
    path = write_bag2(tmp_path / "bag", {"/wrench": [wrench(k, ROS2) for k in range(5)]})
    source = open_source(Location.of((path / "bag.db3").read_bytes()))
    assert len(source.streams["wrench"].timeline) == 5
    with pytest.raises(OpenError, match="local disk"):
        open_bag(Location("memory://a.db3"))
