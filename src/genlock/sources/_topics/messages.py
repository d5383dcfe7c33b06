"""Where the messages of a stream are in their log, and how they are read by row."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from genlock._logs import MessageLog, Place
from genlock._messages import Codec, Message
from genlock._nanoseconds import Nanoseconds
from genlock.errors import DecodeError, error_context

T = TypeVar("T")
Rows = NDArray[np.intp]

BATCH_MESSAGES = 4096
BATCH_BYTES = 1 << 24
LOOKED_AT = 8
LARGEST_NS = int(np.iinfo(np.int64).max)

ENTRY = np.dtype(
    [(name, np.int64) for name in ("codec", "log_ns", "stamp_ns", "item", *Place._fields)]
)
"""What is kept of each row, 64 bytes: as in `Entry`, and the fields of its place."""


class Entry(NamedTuple):
    """One row of a topic. codec: number of the one that reads it. item: number of the element
    that the row is, where one message holds several.
    """

    codec: int
    log_ns: int
    stamp_ns: int
    place: Place
    item: int = 0


class Entries:
    """Collects rows of a topic in the order of the log."""

    def __init__(self) -> None:
        self._values = array("q")

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Entries:
        """The rows that had this state."""
        table = np.zeros(state["count"], ENTRY)
        for name, column in state["columns"].items():
            table[name] = column
        entries = cls()
        entries._values.frombytes(table.tobytes())
        return entries

    def state(self) -> Mapping[str, Any]:
        """Their columns in the smallest integers that hold them, one alone where all are equal."""
        table = self.table()
        columns = {name: _small(table[name]) for name in ENTRY.names or ()}
        return {"count": len(table), "columns": columns}

    def add(self, entry: Entry) -> None:
        codec, log_ns, stamp_ns, place, item = entry
        # log times are unsigned; what is beyond int64 is no time, and is dropped as a sentinel
        self._values.extend((codec, min(log_ns, LARGEST_NS), stamp_ns, item, *place))

    def __len__(self) -> int:
        return len(self._values) // len(ENTRY.fields or ())

    def table(self) -> NDArray[np.void]:
        """All of them, [N] of `ENTRY`."""
        return np.array(self._values, np.int64).view(ENTRY)


def _small(column: NDArray[np.int64]) -> NDArray[np.signedinteger[Any]]:
    if (column == column[:1]).all():
        return column[:1]
    low, high = int(column.min()), int(column.max())
    kinds = (np.int8, np.int16, np.int32, np.int64)
    fitting = (k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    return column.astype(next(fitting))


@dataclass(frozen=True)
class Messages:
    """The messages that a stream's rows are in. Thread-safe.

    table: [N] of `ENTRY`, one for each row. ns: int64 [N], the rows' times, named in errors.
    """

    log: MessageLog
    stream: str
    codecs: tuple[Codec, ...]
    table: NDArray[np.void]
    ns: Nanoseconds

    def __len__(self) -> int:
        return len(self.table)

    def open(self) -> MessageCursor:
        return MessageCursor(self)

    def errors(self, row: int) -> AbstractContextManager[None]:
        """Give errors that pass the place of a row: log, stream and time."""
        return error_context(self.log.location.uri, self.stream, int(self.ns[row]))


class MessageCursor:
    """Reads messages by row. One thread at a time; close it explicitly.

    Errors name the log, the stream and the time.
    """

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._cursor = messages.log.cursor()

    def read(self, row: int, make: Callable[[Message], T]) -> T:
        """What `make` makes of a message. Raises DecodeError, OpenError."""
        data = self._data(row)
        codec = self._messages.codecs[self._messages.table["codec"][row]]
        with self._messages.errors(row):
            return make(Message.read(codec, data))

    def _data(self, row: int) -> bytes:
        place = Place(*self._messages.table[row].item()[-len(Place._fields) :])
        with self._messages.errors(row):
            return self._cursor.read(place)

    def batches(self) -> Iterator[tuple[Rows, Codec, list[bytes]]]:
        """All messages in the order of the log, some at a time: rows, their codec, their bytes."""
        for number, codec in enumerate(self._messages.codecs):
            rows = np.flatnonzero(self._messages.table["codec"] == number)
            table = self._messages.table[rows]
            in_order = rows[np.lexsort((table["offset"], table["block"], table["file"]))]
            for batch in self._split(in_order):
                yield batch, codec, [self._data(row) for row in batch.tolist()]

    def _split(self, rows: Rows) -> list[Rows]:
        """Runs of rows that are read at once, limited in number and in bytes."""
        sizes = np.cumsum(self._messages.table["size"][rows])
        part = np.maximum(np.arange(len(rows)) // BATCH_MESSAGES, sizes // BATCH_BYTES)
        return np.split(rows, np.flatnonzero(np.diff(part)) + 1) if len(rows) else []

    def close(self) -> None:
        self._cursor.close()


def first_of(messages: Messages, look: Callable[[Message], T]) -> T:
    """What `look` says of the first message that it can be said of, among the first few.

    Raises DecodeError: that of the first message, if it fails for all.
    """
    problem: DecodeError | None = None
    with closing(messages.open()) as cursor:
        for row in range(min(len(messages), LOOKED_AT)):
            try:
                return cursor.read(row, look)
            except DecodeError as error:
                problem = problem or error
    assert problem is not None, "there are rows"
    raise problem


def frame_of(message: Message) -> str:
    """The coordinate frame that a message states, "" if none."""
    stated = message.get("header.frame_id", message.get("frame_id", ""))
    return stated.lstrip("/") if isinstance(stated, str) else ""
