"""A log that was split into several files, as ROS 2 does by size or duration."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from genlock._logs import Channel, Connect, Cursor, MessageLog, Place, Sink
from genlock.errors import error_context
from genlock.location import Location


class SplitLog:
    """Logs one after the other. Thread-safe."""

    def __init__(self, location: Location, logs: Sequence[MessageLog]) -> None:
        self.location = location
        self._logs = tuple(logs)

    def scan(self, connect: Connect) -> tuple[str, ...]:
        notes: list[str] = []
        for number, log in enumerate(self._logs):
            with error_context(log.location.uri):
                found = log.scan(partial(_numbered, connect, number))
            notes += (f"{log.location.name}: {note}" for note in found)
        return tuple(notes)

    def cursor(self) -> SplitCursor:
        return SplitCursor(self._logs)


def _numbered(connect: Connect, number: int, channel: Channel) -> Sink:
    return _FileSink(connect(channel), number)


class _FileSink:
    def __init__(self, sink: Sink, number: int) -> None:
        self._sink = sink
        self._number = number
        self.head = sink.head

    def add(self, log_ns: int, place: Place, data: bytes) -> None:
        self._sink.add(log_ns, place._replace(file=self._number), data)


class SplitCursor:
    """A cursor for each file, opened when it is first read."""

    def __init__(self, logs: Sequence[MessageLog]) -> None:
        self._logs = logs
        self._open: dict[int, Cursor] = {}

    def read(self, place: Place) -> bytes:
        if place.file not in self._open:
            self._open[place.file] = self._logs[place.file].cursor()
        return self._open[place.file].read(place)

    def close(self) -> None:
        with ExitStack() as stack:
            for cursor in self._open.values():
                stack.callback(cursor.close)
            self._open = {}
