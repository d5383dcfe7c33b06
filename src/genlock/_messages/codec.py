"""What every message encoding is reduced to: values by dotted path, many messages at a time."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from genlock.errors import DecodeError

NO_STAMP = 0
"""Stands for a stamp that is absent: zero, which is what ROS and protobuf write for none."""

TIME_DTYPE = np.dtype("m8[ns]")

STAMPS = ("header.stamp", "timestamp", "stamp")
"""Where messages state their own time, in order."""


@dataclass(frozen=True)
class Schema:
    """How a log describes the messages of a channel.

    name: of the type, as written. encoding: of the messages: "cdr", "ros1", "protobuf", "json".
    language: of the definition: "ros2msg", "ros2idl", "ros1msg", "protobuf", "jsonschema", "".
    """

    name: str
    encoding: str
    language: str = ""
    definition: bytes = b""

    @property
    def type(self) -> str:
        """The name in one spelling for all: "sensor_msgs/Imu", "foxglove/RawImage"."""
        parts = self.name.replace(".", "/").split("/")
        package = "foxglove" if parts[0] == "foxglove_msgs" else parts[0]
        return "/".join((package, *parts[1:])).replace("/msg/", "/").replace("/action/", "/")


class Group(NamedTuple):
    """Messages of one structure: which of those that were given, and their values by path.

    rows: int [n]. columns: [n] or [n, k] by path, such as "pose.position.x"; made when looked up.
    Texts are objects, bytes uint8 [n, k], times and durations `TIME_DTYPE`. Inside of a list that
    may differ from message to message a path has the element's number in brackets:
    "transforms[0].child_frame_id".
    """

    rows: NDArray[np.intp]
    columns: Mapping[str, NDArray[Any]]


class Codec(Protocol):
    """Reads the messages of one schema. Thread-safe.

    head: how many bytes from a message's start hold its stamp; None if all of it is needed.
    """

    head: int | None

    def stamp_ns(self, data: bytes) -> int:
        """The message's own time in ns, or NO_STAMP. data: its first `head` bytes or more.

        Raises DecodeError.
        """

    def beginning(self, data: bytes) -> Message:
        """What a message says in its first bytes; of those values that are whole in them.

        data: its first `head` bytes or more. Raises DecodeError.
        """

    def parse(self, messages: Sequence[bytes]) -> Iterator[Group]:
        """Read messages, grouped by their structure. Raises DecodeError."""


class UnreadableCodec:
    """Stands for a codec that could not be made: reading any message raises the reason."""

    head: int | None = 0

    def __init__(self, problem: DecodeError) -> None:
        self._problem = problem

    def stamp_ns(self, data: bytes) -> int:
        return NO_STAMP

    def beginning(self, data: bytes) -> Message:
        return Message.read(self, data)

    def parse(self, messages: Sequence[bytes]) -> Iterator[Group]:
        raise DecodeError(self._problem.message) from self._problem


def parse_sound(codec: Codec, messages: Sequence[bytes]) -> Iterator[Group]:
    """Read messages like `Codec.parse`, leaving out those that are damaged."""
    try:
        yield from list(codec.parse(messages))
    except DecodeError:
        for row, data in enumerate(messages):
            with suppress(DecodeError):
                for group in list(codec.parse([data])):
                    yield group._replace(rows=group.rows + row)


class AbsentError(DecodeError, KeyError):
    """A message lacks a value."""


class Message(Mapping[str, Any]):
    """One message: values by path; numbers are Python's, times int ns, arrays are NumPy's.

    Read-only. Looking up what is absent raises AbsentError.

    columns: the same as arrays [1] or [1, k], of the type that is stored.
    """

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self.columns = columns

    @classmethod
    def read(cls, codec: Codec, data: bytes) -> Message:
        """Read one message. Raises DecodeError."""
        return cls(next(iter(codec.parse([data]))).columns)

    def __getitem__(self, path: str) -> Any:
        if path not in self.columns:
            raise AbsentError(f"the message has no {path!r}")
        value = self.columns[path][0]
        return value.item() if isinstance(value, np.generic) else value

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def octets(value: Any) -> NDArray[np.uint8]:
    """The bytes that a field holds, uint8 [n]; JSON writes them as base64 or as numbers.

    Raises DecodeError.
    """
    if isinstance(value, str):
        try:
            value = np.frombuffer(base64.b64decode(value, validate=True), np.uint8)
        except ValueError as error:
            raise DecodeError(f"bytes that should be base64 are not: {error}") from error
    return np.asarray(value).astype(np.uint8, copy=False)
