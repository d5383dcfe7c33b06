from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from genlock._messages import Message, codec_for
from genlock._messages.clouds import point_columns
from genlock.errors import DecodeError
from protobuf_types import POINT_CLOUD
from ros_types import encode, make, schema

FIELDS = [
    {"name": "x", "offset": 0, "datatype": 7, "count": 1},
    {"name": "ring", "offset": 4, "datatype": 4, "count": 1},
    {"name": "normal", "offset": 8, "datatype": 8, "count": 3},
]


def cloud(big_endian: bool = False, padding: int = 0, **changed: Any) -> Message:
    """Two rows of three points of 40 bytes, whose fields do not fill them."""
    order = ">" if big_endian else "<"
    data = np.zeros((2, 3 * 40 + padding), np.uint8)
    for row in range(2):
        for column in range(3):
            point, at = 3 * row + column, 40 * column
            for offset, dtype, value in (
                (0, "f4", [0.5 * point]),
                (4, "u2", [300 + point]),
                (8, "f8", [point, -point, 1]),
            ):
                octets = np.array(value, order + dtype).view(np.uint8)
                data[row, at + offset : at + offset + len(octets)] = octets
    values = {
        "height": 2,
        "width": 3,
        "fields": FIELDS,
        "is_bigendian": big_endian,
        "point_step": 40,
        "row_step": 120 + padding,
        "data": data.ravel(),
    }
    message = make("sensor_msgs/msg/PointCloud2", **(values | changed))
    return Message.read(codec_for(schema("sensor_msgs/msg/PointCloud2")), encode(message))


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("padding", [0, 7])
def test_points_of_ros(big_endian: bool, padding: int) -> None:
    columns = point_columns(cloud(big_endian, padding))
    assert list(columns) == ["x", "ring", "normal"]
    assert columns["x"].dtype == np.float32
    assert columns["x"].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert columns["ring"].dtype == np.uint16 and columns["ring"].tolist()[5] == 305
    assert columns["normal"].shape == (6, 3) and columns["normal"][4].tolist() == [4, -4, 1]


def test_points_of_foxglove_number_their_types_otherwise() -> None:
    data = np.zeros(2, np.dtype([("x", "<f4"), ("level", "<u2")]))
    data["x"], data["level"] = [1.5, 2.5], [7, 65535]
    message = POINT_CLOUD.make(
        point_stride=6,
        fields=[{"name": "x", "offset": 0, "type": 7}, {"name": "level", "offset": 4, "type": 3}],
        data=data.tobytes(),
    )
    codec = codec_for(POINT_CLOUD.schema)
    columns = point_columns(Message.read(codec, message.SerializeToString()))
    assert columns["x"].tolist() == [1.5, 2.5]
    assert columns["level"].tolist() == [7, 65535]


def test_an_empty_cloud_has_no_points() -> None:
    columns = point_columns(cloud(height=1, width=0, row_step=0, data=[]))
    assert columns["x"].shape == (0,) and columns["normal"].shape == (0, 3)


@pytest.mark.parametrize(
    "changed",
    [
        {"fields": []},
        {"point_step": 12},
        {"width": 4},
        {"height": 2**31},
        {"fields": [{"name": "x", "offset": 0, "datatype": 99, "count": 1}]},
        {"fields": [{"name": "x", "offset": 2**31, "datatype": 7, "count": 1}]},
        {"fields": [{"name": "x", "offset": 0, "datatype": 7, "count": 2**30}]},
        {"fields": FIELDS + FIELDS},
    ],
)
def test_clouds_that_do_not_fit_themselves(changed: dict[str, Any]) -> None:
    with pytest.raises(DecodeError):
        point_columns(cloud(**changed))
