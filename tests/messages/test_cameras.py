from __future__ import annotations

from typing import Any

import pytest
from rosbags.typesys.store import Typestore

from genlock._messages import Message, codec_for
from genlock._messages.cameras import intrinsics
from genlock.stream import Intrinsics
from protobuf_types import CALIBRATION
from ros_types import ROS1, ROS2, encode, make, schema

K = [458.654, 0, 367.215, 0, 457.296, 248.375, 0, 0, 1]
D = [-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05, 0.0]


def camera(store: Typestore, model: str, **values: Any) -> Intrinsics | None:
    names = {name.lower(): name for name, _ in store.fielddefs["sensor_msgs/msg/CameraInfo"][1]}
    given = {"height": 480, "width": 752, "distortion_model": model, "k": K, "d": D} | values
    message = make("sensor_msgs/msg/CameraInfo", store, **{names[k]: v for k, v in given.items()})
    codec = codec_for(schema("sensor_msgs/msg/CameraInfo", store))
    return intrinsics(Message.read(codec, encode(message, store)))


@pytest.mark.parametrize("store", [ROS1, ROS2], ids=["ros1", "ros2"])
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("plumb_bob", "pinhole"),
        ("rational_polynomial", "pinhole"),
        ("", "pinhole"),
        ("equidistant", "kannala-brandt"),
        ("my_own", "my_own"),
    ],
)
def test_camera_info(store: Typestore, model: str, expected: str) -> None:
    assert camera(store, model) == Intrinsics(
        expected, (480, 752), (458.654, 457.296), (367.215, 248.375), tuple(D)
    )


def test_foxglove_calibration() -> None:
    message = CALIBRATION.make(width=752, height=480, distortion_model="plumb_bob", K=K, D=D)
    codec = codec_for(CALIBRATION.schema)
    found = intrinsics(Message.read(codec, message.SerializeToString()))
    assert found == camera(ROS2, "plumb_bob")


def test_uncalibrated_cameras_have_no_intrinsics() -> None:
    assert camera(ROS2, "plumb_bob", k=[0] * 9) is None
    codec = codec_for(CALIBRATION.schema)
    assert intrinsics(Message.read(codec, CALIBRATION.make(width=9).SerializeToString())) is None
