"""ROS 1 and ROS 2 (CDR) messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from genlock._messages import layout
from genlock._messages.codec import NO_STAMP, STAMPS, Group, Message, Schema
from genlock._messages.definitions import ros_types
from genlock._nanoseconds import SECOND_NS
from genlock.errors import DecodeError


class RosCodec:
    """Reads messages by the definition that their log holds; see `Codec`.

    Raises DecodeError for a definition that cannot be read, MissingExtraError.
    """

    def __init__(self, schema: Schema) -> None:
        self._types, self._name = ros_types(schema)
        self._wire = layout.ROS1 if schema.encoding == "ros1" else None
        self._stamp, self._at = self._find_stamp()
        self.head: int | None = 0
        if self._stamp:
            self.head = None if self._at is None else self._at + 8

    def _find_stamp(self) -> tuple[str, int | None]:
        """The path of the stamp, and its offset if that is the same in every message."""
        little_endian = bytes([0, 1]) + bytes(1 << 16)  # as good a message as any: all are zeros
        wire = self._wire or layout.Wire.of_cdr(little_endian)
        try:
            found = layout.lay_out(self._types, self._name, little_endian, wire)
        except DecodeError:
            return "", None
        path = next((p for p in STAMPS if p in found.leaves), "")
        if not path or found.leaves[path].dtype != "time":
            return "", None
        offset = found.leaves[path].offset
        return path, None if any(at < offset for at, _ in found.guards) else offset

    def stamp_ns(self, data: bytes) -> int:
        if not self._stamp:
            return NO_STAMP
        if self._at is None:
            return int(Message.read(self, data)[self._stamp])
        try:
            order = "<" if self._wire or data[1] & 1 else ">"
            seconds, rest = struct.unpack_from(f"{order}iI", data, self._at)
        except (struct.error, IndexError):
            raise DecodeError(f"the message is cut short: {len(data)} bytes") from None
        return int(seconds) * SECOND_NS + int(rest)

    def beginning(self, data: bytes) -> Message:
        wire = self._wire or layout.Wire.of_cdr(data)
        return Message(layout.beginning(self._types, self._name, data, wire))

    def parse(self, messages: Sequence[bytes]) -> Iterator[Group]:
        return layout.parse(self._types, self._name, messages, self._wire)
