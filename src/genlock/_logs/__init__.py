"""Files that interleave messages of many topics: one file per storage, and what they share.

A **log** is read once from end to end (`scan`), which shows each message's head to the sink of its
channel. Afterwards a **cursor** reads single messages by the `Place` that the scan gave.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from genlock._messages.codec import Schema
from genlock.location import Location


class Place(NamedTuple):
    """Where a message is.

    block: offset of the compressed block that holds it, NO_BLOCK where none does; a row of a
    database. offset, size: bytes, in the decompressed block or the file. file: number of the file
    in a log of several.
    """

    block: int
    offset: int
    size: int
    file: int = 0


NO_BLOCK = -1


@dataclass(frozen=True)
class Channel:
    """A connection of a log: the topic that it writes to, and how."""

    topic: str
    schema: Schema


class Sink(Protocol):
    """Takes the messages of a channel, in the order in which they were written.

    head: how many bytes of each message `add` wants at least; None for all.
    """

    head: int | None

    def add(self, log_ns: int, place: Place, data: bytes) -> None: ...


Connect = Callable[[Channel], Sink]


class Cursor(Protocol):
    """Reads messages by their place. It serves one thread at a time and is closed explicitly."""

    def read(self, place: Place) -> bytes:
        """A message's bytes. Raises DecodeError, OpenError."""

    def close(self) -> None: ...


class MessageLog(Protocol):
    """One recorded log. Thread-safe."""

    location: Location

    def scan(self, connect: Connect) -> tuple[str, ...]:
        """Show every message to the sink of its channel; `connect` is called once for each.

        Returns sentences on what was damaged and left out. Raises OpenError, LimitError.
        """

    def cursor(self) -> Cursor:
        """A new cursor, with a file handle of its own."""
