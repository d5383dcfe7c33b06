"""Point clouds whose values tell their row, point and column, packed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ros_types import ROS2, header, make

ROS_TYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")
"""sensor_msgs/PointField: INT8 = 1 … FLOAT64 = 8."""


def packed(
    points: NDArray[np.void], padding: int = 0, big_endian: bool = False, height: int = 1
) -> dict[str, Any]:
    """The fields of a PointCloud2 that hold structured points [height * width], in rows with
    bytes of padding after each.
    """
    dtype = points.dtype
    order = ">" if big_endian else "<"
    width = len(points) // height
    step = dtype.itemsize + 3  # bytes that no field covers
    data = np.full((height, width * step + padding), 0xA5, np.uint8)
    fields = []
    for name in dtype.names or ():
        kind, shape = dtype[name].base, dtype[name].shape
        offset, count = int((dtype.fields or {})[name][1]), int(np.prod(shape))
        fields.append(
            {
                "name": name,
                "offset": offset,
                "datatype": 1 + ROS_TYPES.index(kind.str[1:]),
                "count": count,
            }
        )
        for at, point in enumerate(points):
            start = at % width * step + offset
            value = np.atleast_1d(point[name]).astype(kind.newbyteorder(order)).tobytes()
            data[at // width, start : start + len(value)] = np.frombuffer(value, np.uint8)
    return {
        "height": height,
        "width": width,
        "fields": fields,
        "is_bigendian": big_endian,
        "point_step": step,
        "row_step": width * step + padding,
        "data": data.ravel(),
    }


def cloud(ns: int, points: NDArray[np.void], store: Any = ROS2, **how: Any) -> Any:
    """A PointCloud2 of points."""
    kind = "sensor_msgs/msg/PointCloud2"
    return make(kind, store, header=header(ns, "lidar"), **packed(points, **how))


XYZ = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("ring", "<u2"), ("normal", "<f8", 3)])


def numbered(row: int, count: int) -> NDArray[np.void]:
    """Points of a row: x tells the row, y the point, z both; ring and normal too."""
    points = np.zeros(count, XYZ)
    at = np.arange(count)
    points["x"], points["y"], points["z"] = row, at, row + at / 1024
    points["ring"] = at % 64
    points["normal"] = at[:, None] + np.array([0.25, 0.5, 0.75])
    return points
