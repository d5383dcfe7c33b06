"""A topic of a message log: where its messages are and when, and what every kind of it shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from genlock._logs import MessageLog, Place
from genlock._messages import Codec, Message
from genlock._messages.codec import NO_STAMP
from genlock.errors import DecodeError, error_context
from genlock.interfaces import Units
from genlock.stream import Stream
from genlock.timeline import SECOND_NS, Nanoseconds, Report, Timeline, settle

T = TypeVar("T")

BATCH_MESSAGES = 4096
BATCH_BYTES = 1 << 24
LOOKED_AT = 8
LARGEST_NS = int(np.iinfo(np.int64).max)
APART_NS = 60 * SECOND_NS
"""Stamps and log times that differ by more than this are probably on different clocks."""


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
    """Rows of a topic, in the order of the log: 64 bytes each."""

    def __init__(self) -> None:
        self._values = array("q")

    def add(self, entry: Entry) -> None:
        codec, log_ns, stamp_ns, place, item = entry
        self._values.extend((codec, min(log_ns, LARGEST_NS), stamp_ns, item, *place))

    def __len__(self) -> int:
        return len(self._values) // 8

    def table(self) -> NDArray[np.int64]:
        """int64 [N, 8]: codec, log_ns, stamp_ns, item, and the four of `Place`."""
        return np.array(self._values, np.int64).reshape(-1, 8)


class When(NamedTuple):
    """The times of entries. kept: which of them are rows, in order. ns: int64 [N], sorted."""

    kept: NDArray[np.intp]
    ns: Nanoseconds
    report: Report

    @property
    def rate(self) -> float | None:
        """Hz, from the median step between rows."""
        period = Timeline(self.ns).period_ns
        return SECOND_NS / period if period else None


def times_of(table: NDArray[np.int64], from_log: bool) -> When:
    """Settle the times of entries: their own stamp, or the log's where they have none."""
    log_ns, stamp_ns = table[:, 1], table[:, 2]
    absent = stamp_ns == NO_STAMP
    raw = stamp_ns
    notes: tuple[str, ...] = ()
    if from_log:
        raw, notes = log_ns, ("times are those of the log, as declared",)
    elif absent.all():
        raw, notes = log_ns, ("messages state no time of their own: times are those of the log",)
    else:
        raw = np.where(absent, log_ns, stamp_ns)
        if absent.any():
            notes = (f"{absent.sum()} messages state no time of their own: the log's stands in",)
        differences = np.sort((stamp_ns - log_ns)[~absent])
        apart = int(differences[len(differences) // 2])
        if abs(apart) > APART_NS:
            notes += (f"stamps are {apart} ns from the times of the log: another clock?",)
    kept, report = settle(raw)
    return When(kept, raw[kept], report.noting(*notes))


@dataclass(frozen=True)
class Messages:
    """The messages that a stream's rows are in, and how to read them. Thread-safe.

    table: as `Entries.table`, one line for each row.
    """

    log: MessageLog
    stream: str
    codecs: tuple[Codec, ...]
    table: NDArray[np.int64]
    ns: Nanoseconds

    def __len__(self) -> int:
        return len(self.table)

    def open(self) -> MessageCursor:
        return MessageCursor(self)


class MessageCursor:
    """Reads messages by row. One thread at a time; close it explicitly.

    Errors name the log, the stream and the time.
    """

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._cursor = messages.log.cursor()

    def data(self, row: int) -> bytes:
        """A message's bytes."""
        with error_context(self._uri, self._messages.stream, int(self._messages.ns[row])):
            return self._cursor.read(Place(*self._messages.table[row, 4:].tolist()))

    def message(self, row: int) -> Message:
        data = self.data(row)
        codec = self._messages.codecs[self._messages.table[row, 0]]
        with error_context(self._uri, self._messages.stream, int(self._messages.ns[row])):
            return Message.read(codec, data)

    def batches(self) -> Iterator[tuple[NDArray[np.intp], Codec, list[bytes]]]:
        """All messages in the order of the log, some at a time: rows, their codec, their bytes."""
        table = self._messages.table
        rows: list[int] = []
        found: list[bytes] = []
        size = 0
        for row in np.lexsort((table[:, 5], table[:, 4], table[:, 7], table[:, 0])).tolist():
            changed = bool(rows) and table[row, 0] != table[rows[0], 0]
            if changed or len(rows) >= BATCH_MESSAGES or size >= BATCH_BYTES:
                yield np.array(rows), self._messages.codecs[table[rows[0], 0]], found
                rows, found, size = [], [], 0
            rows.append(row)
            found.append(self.data(row))
            size += len(found[-1])
        if rows:
            yield np.array(rows), self._messages.codecs[table[rows[0], 0]], found

    @property
    def _uri(self) -> str:
        return self._messages.log.location.uri

    def close(self) -> None:
        self._cursor.close()


@dataclass(frozen=True)
class Track:
    """One stream of a log. units: opens a cursor. frame: its coordinate frame, if stated."""

    stream: Stream
    units: Callable[[], Units]
    frame: str = ""


@dataclass(frozen=True)
class TopicSpec:
    """What is known of a topic before it is scanned.

    name: of its stream. type: of its messages, as `Schema.type`. declared: what the caller says
    of the stream, keys as in recording.toml.
    """

    log: MessageLog
    name: str
    type: str
    clock: str
    declared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def from_log(self) -> bool:
        """Whether times are wanted from the log instead of the messages."""
        return dict(self.declared.get("time", {})).get("from") == "log"


class Topic(ABC):
    """Collects the messages of one topic and type while the log is scanned, then describes them."""

    reads_all = False
    """Whether every message is needed whole while scanning."""

    def __init__(self, spec: TopicSpec) -> None:
        self.spec = spec
        self.codecs: list[Codec] = []
        self.entries = Entries()
        self.damaged = 0
        self.reason = ""

    def connect(self, codec: Codec) -> ChannelSink:
        """What takes the messages of one more channel of the topic."""
        self.codecs.append(codec)
        return ChannelSink(self, len(self.codecs) - 1, codec)

    def add(self, entry: Entry, codec: Codec, data: bytes) -> None:
        """One message; data is whole if `reads_all`. Raises DecodeError if it is damaged."""
        self.entries.add(entry)

    def note_damage(self, count: int, reason: str) -> None:
        """Count messages that are left out."""
        self.damaged += count
        self.reason = self.reason or reason

    def tracks(self) -> Sequence[Track]:
        """The streams of the topic. Raises DecodeError if its messages cannot be read."""
        if not len(self.entries):
            if self.damaged:
                raise DecodeError(f"none of its messages can be read: {self.reason}")
            return ()
        return [self.describe(*self.rows(self.spec.name, self.entries))]

    def rows(self, stream: str, entries: Entries) -> tuple[Messages, When]:
        """Where and when the rows of a stream are."""
        table = entries.table()
        when = times_of(table, self.spec.from_log)
        if self.damaged:
            note = f"{self.damaged} messages are damaged and left out ({self.reason})"
            when = when._replace(report=when.report.noting(note))
        if not len(when.kept):
            raise DecodeError(f"none of its {len(table)} messages has a usable time")
        messages = Messages(self.spec.log, stream, tuple(self.codecs), table[when.kept], when.ns)
        return messages, when

    @abstractmethod
    def describe(self, messages: Messages, when: When) -> Track:
        """The stream of these rows. Raises DecodeError."""


class ChannelSink:
    """Takes the messages of one channel of a topic."""

    def __init__(self, topic: Topic, number: int, codec: Codec) -> None:
        self._topic = topic
        self._number = number
        self._codec = codec
        self.head = None if topic.reads_all else codec.head

    def add(self, log_ns: int, place: Place, data: bytes) -> None:
        try:
            stamp_ns = self._codec.stamp_ns(data)
            entry = Entry(self._number, log_ns, stamp_ns, place)
            self._topic.add(entry, self._codec, data)
        except DecodeError as error:
            self._topic.note_damage(1, error.message)


def first_of(messages: Messages, look: Callable[[Message], T]) -> T:
    """What `look` says of the first message that it can be said of, among the first few.

    Raises DecodeError: that of the first message, if it fails for all.
    """
    problem: DecodeError | None = None
    with closing(messages.open()) as cursor:
        for row in range(min(len(messages), LOOKED_AT)):
            try:
                return look(cursor.message(row))
            except DecodeError as error:
                problem = problem or error
    assert problem is not None, "there are rows"
    raise problem


def frame_of(message: Message) -> str:
    """The coordinate frame that a message states, "" if none."""
    stated = message.get("header.frame_id", message.get("frame_id", ""))
    return stated.lstrip("/") if isinstance(stated, str) else ""
