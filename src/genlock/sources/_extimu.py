"""The motion packets of Pupil Labs recordings that have no imu.raw: extimu.raw.

Each is a length, 16 bits, and a message of Protocol Buffers as the imu.proto beside the file says:
the time, and messages of floats for acceleration, rate of turn and orientation. Their encoding:
protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

QUATERNION = ("quaternion_w", "quaternion_x", "quaternion_y", "quaternion_z")
MOTION = ("gyro_x", "gyro_y", "gyro_z", "accel_x", "accel_y", "accel_z", *QUATERNION)
"""The numbers of a packet, all float32."""

_ACCELERATION, _TURN_RATE, _ORIENTATION = 2, 3, 4
_ABSENT = bytes(4)
_FIXED = {1: 8, 5: 4}


def read_packets(data: bytes) -> NDArray[np.void]:
    """The packets, as far as they are whole. Raises ValueError for bytes that are none."""
    found, start = [], 0
    while start + 2 <= len(data):
        end = start + 2 + int.from_bytes(data[start : start + 2], "little")
        if end > len(data):
            break
        message = dict(_fields(data[start + 2 : end]))
        turn_rate, acceleration, orientation = (
            dict(_fields(message.get(key, b"")))
            for key in (_TURN_RATE, _ACCELERATION, _ORIENTATION)
        )
        for part, numbers in ((turn_rate, 3), (acceleration, 3), (orientation, 4)):
            found += [part.get(key, _ABSENT)[:4].ljust(4, b"\0") for key in range(1, numbers + 1)]
        start = end
    return np.frombuffer(b"".join(found), np.dtype([(name, "<f4") for name in MOTION]))


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message: number and bytes; a whole number's are left out."""
    start = 0
    while start < len(data):
        key, start = _varint(data, start)
        size = _FIXED.get(key & 7, 0)
        if key & 7 == 0:
            _, start = _varint(data, start)
            continue
        if key & 7 == 2:
            size, start = _varint(data, start)
        if not size and key & 7 != 2:
            raise ValueError(f"a message has a field of the unknown kind {key & 7}")
        yield key >> 3, data[start : start + size]
        start += size


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """A whole number of 7 bits a byte, the lowest first, and where it ends."""
    value = 0
    for position in range(start, min(start + 10, len(data))):
        value |= (data[position] & 0x7F) << 7 * (position - start)
        if data[position] < 0x80:
            return value, position + 1
    raise ValueError("a whole number is cut off")
