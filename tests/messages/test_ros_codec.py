from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from rosbags.typesys.store import Typestore

from genlock._messages import Message, Schema, codec_for
from genlock._messages.codec import parse_sound
from genlock.errors import DecodeError
from ros_types import ROS1, ROS2, encode, header, leaves, make, random_message, schema

PLACEHOLDER = "structure_needs_at_least_one_member"
"""What an empty message holds in CDR. The rosbags package has it in ROS 1 as well, wrongly."""


def is_time(value: Any) -> bool:
    return isinstance(value, np.timedelta64)


def fields_of(name: str, store: Typestore) -> Any:
    return store.fielddefs[name][1]


def is_empty_inside(name: str, store: Typestore) -> bool:
    """Whether a message is empty, or one inside of it."""
    fields = fields_of(name, store)
    inner = [what[1] if what[0].name == "NAME" else what[1][0][1] for _, what in fields]
    return any(field == PLACEHOLDER for field, _ in fields) or any(
        is_empty_inside(other, store) for other in inner if other in store.fielddefs
    )


ORDERS = (("ros1", ROS1, True), ("ros2", ROS2, True), ("ros2-big-endian", ROS2, False))
CASES = [
    pytest.param(store, name, little_endian, id=f"{label}-{name}")
    for label, store, little_endian in ORDERS
    for name in sorted(store.fielddefs)
    if not (store is ROS1 and is_empty_inside(name, store))
]


@pytest.mark.parametrize(("store", "name", "little_endian"), CASES)
def test_every_type_of_ros_reads_as_rosbags_wrote_it(
    store: Typestore, name: str, little_endian: bool
) -> None:
    rng = np.random.default_rng(len(name))
    messages = [random_message(name, rng, store) for _ in range(8)]
    codec = codec_for(schema(name, store))
    coded = [encode(message, store, little_endian) for message in messages]
    seen = []
    for group in codec.parse(coded):
        for index, row in enumerate(group.rows.tolist()):
            seen.append(row)
            expected = dict(leaves(messages[row], fields_of(name, store), store))
            expected = {p: v for p, v in expected.items() if not p.endswith(PLACEHOLDER)}
            assert list(group.columns) == list(expected)
            for path, value in expected.items():
                found = group.columns[path][index]
                found = found.astype(int) if is_time(found) else found
                np.testing.assert_array_equal(found, value, path)
    assert sorted(seen) == list(range(8))


def test_messages_of_one_layout_are_one_group() -> None:
    codec = codec_for(schema("sensor_msgs/msg/Imu"))
    coded = [
        encode(make("sensor_msgs/msg/Imu", header=header(k, frame), angular_velocity={"x": k}))
        for k, frame in enumerate(["imu", "imu", "body", "imu", "lamb"])
    ]
    groups = list(codec.parse(coded))
    assert [group.rows.tolist() for group in groups] == [[0, 1, 3], [2, 4]]
    assert groups[0].columns["angular_velocity.x"].tolist() == [0.0, 1.0, 3.0]
    assert groups[1].columns["header.frame_id"].tolist() == ["body", "lamb"]


def test_equal_sizes_with_other_lengths_inside_are_other_groups() -> None:
    both = Schema("pkg/msg/Two", "cdr", "ros2msg", b"string a\nstring b\n")
    codec = codec_for(both)

    def two(a: bytes, b: bytes) -> bytes:
        parts = [bytes([0, 1, 0, 0])]
        for text in (a, b):
            parts.append(bytes(-sum(map(len, parts)) % 4))
            parts.append(struct.pack("<I", len(text) + 1) + text + b"\0")
        return b"".join(parts)

    coded = [two(b"abc", b"xyz"), two(b"a", b"xyz"), two(b"def", b"uvw")]
    assert len(set(map(len, coded))) == 1
    assert [g.rows.tolist() for g in codec.parse(coded)] == [[0, 2], [1]]


@pytest.mark.parametrize(
    ("name", "store", "head"),
    [
        ("sensor_msgs/msg/Image", ROS2, 12),
        ("sensor_msgs/msg/Image", ROS1, 12),
        ("geometry_msgs/msg/Twist", ROS2, 0),
        ("tf2_msgs/msg/TFMessage", ROS2, 0),
    ],
)
def test_stamps_are_read_from_the_head(name: str, store: Typestore, head: int) -> None:
    codec = codec_for(schema(name, store))
    assert codec.head == head
    if head:
        coded = encode(make(name, store, header=header(1_700_000_000_123_456_789)), store)
        assert codec.stamp_ns(coded[:head]) == 1_700_000_000_123_456_789
        with pytest.raises(DecodeError, match="cut short"):
            codec.stamp_ns(coded[: head - 1])


def test_big_endian_stamps() -> None:
    codec = codec_for(schema("sensor_msgs/msg/Imu"))
    message = make("sensor_msgs/msg/Imu", header=header(12_000_000_034))
    assert codec.stamp_ns(encode(message, little_endian=False)) == 12_000_000_034


def test_a_stamp_behind_a_text_needs_the_whole_message() -> None:
    text = b"string name\nbuiltin_interfaces/Time stamp\n"
    codec = codec_for(Schema("pkg/msg/Late", "cdr", "ros2msg", text))
    assert codec.head is None
    data = bytes([0, 1, 0, 0]) + struct.pack("<I3sxiI", 3, b"ab\0", 5, 6)
    assert codec.stamp_ns(data) == 5_000_000_006


def test_cdr2_aligns_to_four_bytes() -> None:
    codec = codec_for(Schema("pkg/msg/Wide", "cdr", "ros2msg", b"uint32 a\nfloat64 b\n"))
    plain = bytes([0, 1, 0, 0]) + struct.pack("<I4xd", 7, 2.5)
    cdr2 = bytes([0, 7, 0, 0]) + struct.pack("<Id", 7, 2.5)
    for data in (plain, cdr2):
        assert Message.read(codec, data)["b"] == 2.5


def test_a_byte_is_signed_in_ros_1_only() -> None:
    for encoding, language, head, value in (
        ("ros1", "ros1msg", b"", -1),
        ("cdr", "ros2msg", bytes([0, 1, 0, 0]), 255),
    ):
        codec = codec_for(Schema("pkg/msg/Small", encoding, language, b"byte b\n"))
        assert Message.read(codec, head + b"\xff")["b"] == value


def test_types_that_ros_ships_need_no_definition() -> None:
    codec = codec_for(Schema("sensor_msgs/msg/Temperature", "cdr"))
    message = make("sensor_msgs/msg/Temperature", header=header(3), temperature=36.5)
    assert Message.read(codec, encode(message))["temperature"] == 36.5


def test_unknown_types_are_named() -> None:
    with pytest.raises(DecodeError, match="no definition of my_pkg/msg/Thing"):
        codec_for(Schema("my_pkg/msg/Thing", "cdr"))
    with pytest.raises(DecodeError, match="definition of a/msg/B cannot be read"):
        codec_for(Schema("a/msg/B", "cdr", "ros2msg", b"!!"))
    codec = codec_for(Schema("a/msg/B", "cdr", "ros2msg", b"c/Missing field\n"))
    with pytest.raises(DecodeError, match="no definition of c/msg/Missing"):
        Message.read(codec, bytes(64))
    with pytest.raises(DecodeError, match="'xml' are not known"):
        codec_for(Schema("a/msg/B", "xml"))


@pytest.mark.parametrize("name", ["sensor_msgs/msg/Imu", "sensor_msgs/msg/PointCloud2"])
def test_cut_messages_are_damaged_wherever_they_end(name: str) -> None:
    codec = codec_for(schema(name))
    coded = encode(random_message(name, np.random.default_rng(1), ROS2))
    for end in range(len(coded) - 3):  # trailing bytes may be padding
        with pytest.raises(DecodeError):
            Message.read(codec, coded[:end])


def test_claimed_lengths_take_no_memory() -> None:
    codec = codec_for(schema("sensor_msgs/msg/PointCloud2"))
    coded = bytearray(encode(make("sensor_msgs/msg/PointCloud2", header=header(1))))
    at = 4 + 8 + 4 + 4 + 8  # behind stamp, frame and size: the number of fields
    struct.pack_into("<I", coded, at, 0xFFFFFFF0)
    with pytest.raises(DecodeError, match="do not fit"):
        Message.read(codec, bytes(coded))


def test_damaged_messages_are_left_out_of_many() -> None:
    codec = codec_for(schema("std_msgs/msg/Float64"))
    sound = [encode(make("std_msgs/msg/Float64", data=float(k))) for k in range(3)]
    groups = parse_sound(codec, [sound[0], b"\0\1\0\0", sound[1], b"", sound[2]])
    found: dict[int, float] = {}
    for group in groups:
        found |= dict(zip(group.rows.tolist(), group.columns["data"].tolist(), strict=True))
    assert found == {0: 0.0, 2: 1.0, 4: 2.0}


def test_a_picture_is_not_copied() -> None:
    codec = codec_for(schema("sensor_msgs/msg/Image"))
    coded = encode(make("sensor_msgs/msg/Image", data=np.arange(200, dtype=np.uint8)))
    pixels = Message.read(codec, coded)["data"]
    assert np.shares_memory(pixels, np.frombuffer(coded, np.uint8))
