"""MCAP files: https://mcap.dev/spec. Read from start to end, so that a file that was cut off or has
no summary gives all that it holds.

Messages in uncompressed chunks are read from the file one by one; of a compressed chunk, the
whole chunk is decompressed.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from genlock._logs import NO_BLOCK, Channel, Connect, Place, Sink
from genlock._logs.blocks import (
    BlockCursor,
    FileWindow,
    MemoryWindow,
    Window,
    check_crc,
    decompress,
)
from genlock._messages.codec import Schema
from genlock.errors import DecodeError, MissingExtraError, OpenError
from genlock.location import Location

MAGIC = b"\x89MCAP0\r\n"
NOTHING, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, DATA_END = 0, 2, 3, 4, 5, 6, 15

_RECORD = struct.Struct("<BQ")  # opcode, length
_MESSAGE = struct.Struct("<HIQQ")  # channel, sequence, log time, publish time
_CHUNK = struct.Struct("<QQQII")  # start, end, size, CRC, length of the compression's name


class McapLog:
    """An MCAP file. Thread-safe."""

    def __init__(self, location: Location) -> None:
        self.location = location

    def scan(self, connect: Connect) -> tuple[str, ...]:
        file = FileWindow(self.location)
        try:
            if file.bytes(0, len(MAGIC)) != MAGIC:
                uri = self.location.uri
                raise OpenError(f"{uri} is not an MCAP file of version 0", recording=uri)
            return _Scan(connect).run(file)
        finally:
            file.close()

    def cursor(self) -> BlockCursor:
        return BlockCursor(self.location, lambda file, at: _Chunk.read(file, at).decompressed(file))


class _Chunk(NamedTuple):
    """A chunk record. offset, length: of its records as stored."""

    size: int
    crc: int
    compression: str
    offset: int
    length: int

    @classmethod
    def read(cls, file: Window, at: int) -> _Chunk:
        """Read what stands before the records. Raises DecodeError."""
        head = file.bytes(at, 256)
        try:
            _, _, size, crc, name = _CHUNK.unpack_from(head)
            (length,) = struct.unpack_from("<Q", head, _CHUNK.size + name)
        except struct.error:
            raise DecodeError(f"the chunk at byte {at} is damaged") from None
        compression = head[_CHUNK.size : _CHUNK.size + name].decode("ascii", "replace")
        return cls(size, crc, compression, at + _CHUNK.size + name + 8, length)

    def decompressed(self, file: Window) -> MemoryWindow:
        """The records of a compressed chunk. Raises DecodeError, LimitError."""
        data = decompress(file.bytes(self.offset, self.length), self.compression, self.size)
        check_crc(data, self.crc)
        return MemoryWindow(data)


def _records(window: Window, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """(opcode, offset, length) of the contents of each record; the last may reach beyond stop."""
    at = start
    while at + _RECORD.size <= stop:
        opcode, length = _RECORD.unpack(window.bytes(at, _RECORD.size))
        at += _RECORD.size
        yield opcode, at, length
        at += length


class _Scan:
    """One pass over a file."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._schemas: dict[int, Schema] = {}
        self._sinks: dict[int, Sink] = {}
        self._unknown: set[int] = set()
        self._notes: list[str] = []

    def run(self, file: FileWindow) -> tuple[str, ...]:
        if not self._walk(file, len(MAGIC), file.size, NO_BLOCK):
            self._notes.append("the file has no end record: the recording was not finished")
        if self._unknown:
            numbers = ", ".join(map(str, sorted(self._unknown)))
            self._notes.append(f"messages of undescribed channels were left out: {numbers}")
        return tuple(self._notes)

    def _walk(self, window: Window, start: int, stop: int, block: int) -> bool:
        """Read records one after the other; whether the last one ends the messages."""
        for opcode, at, length in _records(window, start, stop):
            try:
                if at + length > stop:
                    raise DecodeError("it is cut off")
                if opcode in (DATA_END, FOOTER):
                    return True
                if opcode == NOTHING:
                    self._notes.append(f"nothing is written from byte {at} on")
                    return False
                if opcode == CHUNK and block == NO_BLOCK:
                    self._chunk(window, at, length)
                else:
                    self._record(window, opcode, at, length, block)
            except (DecodeError, struct.error) as error:
                self._notes.append(f"the record at byte {at} is left out: {error}")
        return False

    def _chunk(self, file: Window, at: int, length: int) -> None:
        chunk = _Chunk.read(file, at)
        if chunk.offset + chunk.length > at + length:
            raise DecodeError("the chunk claims more than its record holds")
        if chunk.compression:
            window = chunk.decompressed(file)
            self._walk(window, 0, window.size, at)
        else:
            self._walk(file, chunk.offset, chunk.offset + chunk.length, NO_BLOCK)

    def _record(self, window: Window, opcode: int, at: int, length: int, block: int) -> None:
        if opcode == MESSAGE:
            self._message(window, at, length - _MESSAGE.size, block)
        elif opcode == SCHEMA:
            record = _parsed("Schema", window.bytes(at, length))
            self._schemas[record.id] = Schema(record.name, "", record.encoding, record.data)
        elif opcode == CHANNEL:
            record = _parsed("Channel", window.bytes(at, length))
            if record.id not in self._sinks:
                found = self._schemas.get(record.schema_id, Schema("", ""))
                schema = Schema(
                    found.name, record.message_encoding, found.language, found.definition
                )
                self._sinks[record.id] = self._connect(Channel(record.topic, schema))

    def _message(self, window: Window, at: int, size: int, block: int) -> None:
        if size < 0:
            raise DecodeError("the message is cut short")
        channel, _, log_ns, _ = _MESSAGE.unpack(window.bytes(at, _MESSAGE.size))
        sink = self._sinks.get(channel)
        if sink is None:
            self._unknown.add(channel)
            return
        start = at + _MESSAGE.size
        head = size if sink.head is None else min(sink.head, size)
        sink.add(log_ns, Place(block, start, size), window.bytes(start, head))


def _parsed(kind: str, content: bytes) -> Any:
    """A record as the mcap package reads it."""
    try:
        from mcap import records
        from mcap.data_stream import ReadDataStream
    except ImportError as error:
        raise MissingExtraError("mcap", "mcap", "reading MCAP files") from error
    try:
        return getattr(records, kind).read(ReadDataStream(io.BytesIO(content)))
    except Exception as error:
        raise DecodeError(f"a {kind.lower()} record is damaged: {error}") from error
