"""ROS 1 bags of version 2.0: https://wiki.ros.org/Bags/Format/2.0. Read from start to end, so that
a bag that was not closed (.bag.active) or has no index gives all that it holds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from genlock._logs import NO_BLOCK, Channel, Connect, Place, Sink
from genlock._logs.blocks import BlockCursor, FileWindow, MemoryWindow, Window, decompress
from genlock._messages.codec import Schema
from genlock._nanoseconds import SECOND_NS
from genlock.errors import DecodeError, OpenError
from genlock.location import Location

MAGIC = b"#ROSBAG V"
VERSION = b"2.0\n"
MESSAGE, BAG_HEADER, CHUNK, CONNECTION = 0x02, 0x03, 0x05, 0x07

_LENGTH = struct.Struct("<I")
_TIME = struct.Struct("<II")
MAX_HEADER = 1 << 24
_DAMAGE = (DecodeError, KeyError, struct.error)


class Bag1Log:
    """A ROS 1 bag. Thread-safe."""

    def __init__(self, location: Location) -> None:
        self.location = location

    def scan(self, connect: Connect) -> tuple[str, ...]:
        file = FileWindow(self.location)
        try:
            _check_version(self.location.uri, file.bytes(0, len(MAGIC + VERSION)))
            return _Scan(connect).run(file, len(MAGIC + VERSION))
        finally:
            file.close()

    def cursor(self) -> BlockCursor:
        return BlockCursor(self.location, _open_chunk)


def _check_version(uri: str, start: bytes) -> None:
    if not start.startswith(MAGIC):
        raise OpenError(f"{uri} is not a ROS 1 bag: it starts with {start!r}", recording=uri)
    if start != MAGIC + VERSION:
        stated = start.removeprefix(MAGIC).decode("ascii", "replace").strip()
        message = f"{uri} is a ROS 1 bag of version {stated}, not 2.0: convert it with rosbag fix"
        raise OpenError(message, recording=uri)


Header = dict[str, bytes]


def _records(window: Window, start: int, stop: int) -> Iterator[tuple[Header, int, int]]:
    """Header of each record, and offset and length of its data, which may reach beyond stop.

    Raises DecodeError at a damaged header.
    """
    at = start
    while at + 2 * _LENGTH.size <= stop:
        (length,) = _LENGTH.unpack(window.bytes(at, _LENGTH.size))
        at += _LENGTH.size
        if length > min(MAX_HEADER, stop - at - _LENGTH.size):
            raise DecodeError(f"a record's header at byte {at} is cut off or damaged")
        fields = window.bytes(at, length + _LENGTH.size)
        (size,) = _LENGTH.unpack_from(fields, length)
        at += length + _LENGTH.size
        yield _header(fields[:length]), at, size
        at += size


def _header(data: bytes) -> Header:
    header: Header = {}
    at = 0
    while at + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        name, _, value = data[at + 4 : at + 4 + length].partition(b"=")
        header[name.decode("ascii", "replace")] = value
        at += 4 + length
    if "op" not in header or len(header["op"]) != 1:
        raise DecodeError("a record says nothing of what it is")
    return header


def _open_chunk(file: Window, at: int) -> MemoryWindow:
    """The records of the compressed chunk whose record starts at a byte."""
    header, offset, length = next(_records(file, at, file.size))
    return _decompressed(file, header, offset, length)


def _decompressed(file: Window, header: Header, offset: int, length: int) -> MemoryWindow:
    compression = header["compression"].decode("ascii", "replace")
    (size,) = _LENGTH.unpack(header["size"])
    return MemoryWindow(decompress(file.bytes(offset, length), compression, size))


class _Scan:
    """One pass over a bag."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._sinks: dict[bytes, Sink] = {}
        self._notes: list[str] = []

    def run(self, file: FileWindow, start: int) -> tuple[str, ...]:
        at = start
        try:
            for header, offset, length in _records(file, start, file.size):
                if offset + length > file.size:
                    raise DecodeError("it is cut off within a record")
                if header["op"][0] == CHUNK:
                    self._chunk(file, at, header, offset, length)
                else:
                    self._record(file, header, offset, length, NO_BLOCK)
                at = offset + length
        except _DAMAGE as error:
            self._notes.append(f"the bag is read up to byte {at}: {error}")
        return tuple(self._notes)

    def _chunk(self, file: FileWindow, at: int, header: Header, offset: int, length: int) -> None:
        try:
            if header.get("compression", b"none") == b"none":
                window: Window = file
                start, stop, block = offset, offset + length, NO_BLOCK
            else:
                window = _decompressed(file, header, offset, length)
                start, stop, block = 0, window.size, at
            for inner, begin, size in _records(window, start, stop):
                if begin + size > stop:
                    raise DecodeError("it ends within a record")
                self._record(window, inner, begin, size, block)
        except _DAMAGE as error:
            self._notes.append(f"the chunk at byte {at} is damaged: {error}")

    def _record(self, window: Window, header: Header, at: int, size: int, block: int) -> None:
        match header["op"][0]:
            case 2:
                self._message(window, header, at, size, block)
            case 7:
                self._connection(header, window.bytes(at, size))
            case 3 if header.get("encryptor"):
                name = header["encryptor"].decode("ascii", "replace")
                raise OpenError(f"the bag is encrypted ({name}): decrypt it with rosbag decrypt")

    def _message(self, window: Window, header: Header, at: int, size: int, block: int) -> None:
        sink = self._sinks.get(header["conn"])
        if sink is None:
            raise DecodeError("a message belongs to no connection")
        seconds, rest = _TIME.unpack(header["time"])
        head = size if sink.head is None else min(sink.head, size)
        log_ns = seconds * SECOND_NS + rest
        sink.add(log_ns, Place(block, at, size), window.bytes(at, head))

    def _connection(self, header: Header, data: bytes) -> None:
        if header["conn"] in self._sinks:
            return
        described = _header(b"\x04\0\0\0op=0" + data)
        name = described.get("type", b"").decode("utf-8", "replace")
        definition = described.get("message_definition", b"")
        topic = header["topic"].decode("utf-8", "replace")
        schema = Schema(name, "ros1", "ros1msg", definition)
        self._sinks[header["conn"]] = self._connect(Channel(topic, schema))
