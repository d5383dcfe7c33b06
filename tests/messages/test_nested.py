from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from genlock._messages import Message, Schema, codec_for
from genlock._messages.codec import octets
from genlock.errors import DecodeError
from protobuf_types import (
    BYTES,
    FLOAT,
    FLOATS,
    STRING,
    ProtoType,
    message_field,
    timestamp,
)

JSON = codec_for(Schema("anything", "json", "jsonschema", b"{}"))


def read(value: Any) -> Message:
    return Message.read(JSON, json.dumps(value).encode())


def test_json_objects_are_flattened() -> None:
    message = read(
        {
            "a": {"b": 1, "c": {"d": 2.5}},
            "list": [1, 2, 3],
            "mixed": [{"x": 1}, "text", [0.5]],
            "none": None,
            "yes": True,
        }
    )
    assert list(message) == [
        "a.b", "a.c.d", "list", "mixed[0].x", "mixed[1]", "mixed[2]", "yes",
    ]  # fmt: skip
    assert message["a.c.d"] == 2.5
    assert message["list"].tolist() == [1, 2, 3]
    assert message["mixed[1]"] == "text"
    assert message["yes"] is True


@pytest.mark.parametrize("keys", [("sec", "nsec"), ("sec", "nanosec"), ("secs", "nsecs")])
@pytest.mark.parametrize("path", ["timestamp", "header.stamp", "stamp"])
def test_json_times(keys: tuple[str, str], path: str) -> None:
    time: Any = dict(zip(keys, (1_700_000_000, 123_456_789), strict=True))
    for key in reversed(path.split(".")):
        time = {key: time}
    data = json.dumps(time).encode()
    assert JSON.stamp_ns(data) == 1_700_000_000_123_456_789
    assert Message.read(JSON, data)[path] == 1_700_000_000_123_456_789


@pytest.mark.parametrize("value", [{"x": 1}, {"timestamp": 12.5}, {"timestamp": "noon"}])
def test_json_without_a_time_of_known_unit_has_no_stamp(value: Any) -> None:
    assert JSON.stamp_ns(json.dumps(value).encode()) == 0


def test_json_values_that_are_no_object() -> None:
    assert read(4.5)["data"] == 4.5
    assert read([1, 2])["data"].tolist() == [1, 2]


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_what_is_not_json(data: bytes) -> None:
    with pytest.raises(DecodeError, match="not a JSON message"):
        Message.read(JSON, data)


def test_json_messages_of_other_structure_are_other_groups() -> None:
    coded = [json.dumps(v).encode() for v in ({"x": 1}, {"x": "one"}, {"x": 2.5}, {"y": 1})]
    groups = list(JSON.parse(coded))
    assert [group.rows.tolist() for group in groups] == [[0, 2], [1], [3]]
    assert groups[0].columns["x"].tolist() == [1.0, 2.5]


def test_bytes_as_base64_or_numbers() -> None:
    assert octets("AAEC").tolist() == [0, 1, 2]
    assert octets(np.array([0, 1, 2])).dtype == np.uint8
    with pytest.raises(DecodeError, match="base64"):
        octets("not base64!")


INNER = ProtoType("pkg.Inner", x=FLOAT, name=STRING)
OUTER = ProtoType(
    "pkg.Outer",
    timestamp=message_field("google.protobuf.Timestamp"),
    inner=message_field("pkg.Inner"),
    many=message_field("pkg.Inner", repeated=True),
    numbers=FLOATS,
    blob=BYTES,
    needs=(INNER,),
)


def test_protobuf_messages_are_flattened() -> None:
    message = OUTER.make(
        timestamp=timestamp(5_000_000_007),
        inner={"x": 1.5, "name": "a"},
        many=[{"x": 2.0}, {"x": 3.0}],
        numbers=[0.25, 0.5],
        blob=b"\x01\x02",
    )
    codec = codec_for(OUTER.schema)
    data = message.SerializeToString()
    found = Message.read(codec, data)
    assert codec.stamp_ns(data) == found["timestamp"] == 5_000_000_007
    assert (found["inner.x"], found["inner.name"]) == (1.5, "a")
    assert (found["many[0].x"], found["many[1].x"]) == (2.0, 3.0)
    assert found["numbers"].tolist() == [0.25, 0.5]
    assert found["blob"].tolist() == [1, 2]


def test_protobuf_messages_that_are_not_set_are_absent() -> None:
    codec = codec_for(OUTER.schema)
    assert codec.stamp_ns(b"") == 0
    assert list(Message.read(codec, b"")) == ["numbers", "blob"]


def test_damaged_protobuf() -> None:
    with pytest.raises(DecodeError, match="not a message of its schema"):
        Message.read(codec_for(OUTER.schema), b"\xff\xff\xff")
    with pytest.raises(DecodeError, match="cannot be read"):
        codec_for(Schema("pkg.Outer", "protobuf", "protobuf", b"\xff\xff"))
    with pytest.raises(DecodeError, match=r"cannot be read|no protobuf definition"):
        codec_for(Schema("pkg.Other", "protobuf", "protobuf", OUTER.schema.definition))


@pytest.mark.parametrize(
    ("name", "type"),
    [
        ("sensor_msgs/msg/Imu", "sensor_msgs/Imu"),
        ("sensor_msgs/Imu", "sensor_msgs/Imu"),
        ("foxglove.RawImage", "foxglove/RawImage"),
        ("foxglove_msgs/msg/RawImage", "foxglove/RawImage"),
    ],
)
def test_types_have_one_spelling(name: str, type: str) -> None:
    assert Schema(name, "cdr").type == type
