"""Point clouds → columns of points, by the fields that each message describes.

Sources: sensor_msgs/PointField.msg; Foxglove's PackedElementField, which numbers types otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._messages.codec import Message, octets
from genlock.errors import DecodeError

ROS_TYPES = ("", "i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "i8", "u8", "?")
FOXGLOVE_TYPES = ("", "u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8")


def point_columns(message: Message) -> Mapping[str, NDArray[Any]]:
    """The points of one cloud: [P], or [P, k] for a field of k values, by the field's name.

    Values are as stored, NaN included. Raises DecodeError for a message that does not fit itself.
    """
    data = octets(message["data"])
    dtype = point_dtype(message)
    if "point_step" in message:
        points = _in_rows(data, message, dtype)
    else:
        points = np.frombuffer(data[: len(data) // dtype.itemsize * dtype.itemsize], dtype)
    return PointColumns(points)


class PointColumns(Mapping[str, NDArray[Any]]):
    """Fields of points, in memory of their own: each is taken out when it is looked up."""

    def __init__(self, points: NDArray[np.void]) -> None:
        self._points = points

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in tuple(self):
            raise KeyError(name)
        values = self._points[name]
        return np.ascontiguousarray(values, values.dtype.newbyteorder("="))

    def __iter__(self) -> Iterator[str]:
        return iter(self._points.dtype.names or ())

    def __len__(self) -> int:
        return len(self._points.dtype.names or ())


def point_values(message: Message) -> dict[str, np.dtype[Any]]:
    """The values of a point and their types; those of a field of k are "name.0" to "name.(k-1)".

    Raises DecodeError.
    """
    dtype = point_dtype(message)
    values: dict[str, np.dtype[Any]] = {}
    for name in dtype.names or ():
        base, shape = dtype[name].base, dtype[name].shape
        names = [f"{name}.{number}" for number in range(shape[0])] if shape else [name]
        values |= dict.fromkeys(names, base.newbyteorder("="))
    return values


def is_moved(message: Message) -> bool:
    """Whether a cloud has a pose of its own in its frame, other than none."""
    unmoved = {"position.x": 0, "position.y": 0, "position.z": 0, "orientation.w": 1}
    return any(message.get(f"pose.{path}", value) != value for path, value in unmoved.items())


def stored_points(beginning: Message, size: int) -> int:
    """How many points a message stores, by what it says before them.

    size: bytes of the whole message; 0 if it claims more points than these can hold, since it
    cannot be read then. Raises DecodeError.
    """
    if "point_step" not in beginning:
        return len(octets(beginning["data"])) // max(1, int(beginning["point_stride"]))
    count = int(beginning["height"]) * int(beginning["width"])
    return count if count * max(1, int(beginning["point_step"])) <= size else 0


def _in_rows(data: NDArray[np.uint8], message: Message, dtype: np.dtype[Any]) -> NDArray[np.void]:
    """Points of a PointCloud2, whose rows may be padded."""
    height, width = message["height"], message["width"]
    length, step = width * dtype.itemsize, message["row_step"] or width * dtype.itemsize
    if step < length or len(data) < step * height:
        raise DecodeError(
            f"a cloud of {height} x {width} points of {dtype.itemsize} bytes has {len(data)} bytes"
        )
    packed = data[: step * height].reshape(height, step)[:, :length]
    points: NDArray[np.void] = np.ascontiguousarray(packed).view(dtype).ravel()
    return points


def point_dtype(message: Message) -> np.dtype[Any]:
    """How one point is stored. Raises DecodeError for fields that reach beyond a point."""
    is_ros = "point_step" in message
    size = int(message["point_step" if is_ros else "point_stride"])
    order = ">" if message.get("is_bigendian") else "<"
    names, formats, offsets = [], [], []
    for prefix in (f"fields[{index}]." for index in count()):
        if prefix + "name" not in message:
            break
        types, key = (ROS_TYPES, "datatype") if is_ros else (FOXGLOVE_TYPES, "type")
        number, repeats = int(message[prefix + key]), int(message.get(prefix + "count", 1))
        if not 0 < number < len(types):
            raise DecodeError(f"a point field is of unknown type {number}")
        names.append(str(message[prefix + "name"]))
        formats.append(f"{repeats if repeats > 1 else ''}{order}{types[number]}")
        offsets.append(int(message[prefix + "offset"]))
    if not names or size < 1:
        raise DecodeError("a cloud describes no fields")
    try:
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
    except ValueError as error:
        raise DecodeError(f"the fields of a cloud do not fit into its points: {error}") from error
