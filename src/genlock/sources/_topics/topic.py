"""What every topic of a message log shares: it collects messages, and gives streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._logs import MessageLog, Place
from genlock._messages import Codec, Schema
from genlock._messages.codec import NO_STAMP
from genlock._nanoseconds import SECOND_NS, Nanoseconds
from genlock.errors import DecodeError
from genlock.interfaces import Units
from genlock.sources._topics.messages import Entries, Entry, Messages
from genlock.stream import Stream
from genlock.timeline import Report, Timeline, settle

APART_NS = 60 * SECOND_NS
"""Stamps and log times that differ by more than this are probably on different clocks."""

UNSOUND = (DecodeError, LookupError, ValueError, TypeError, ArithmeticError)
"""What reading a message may raise if it does not hold what its type should."""


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


def times_of(log_ns: Nanoseconds, stamp_ns: Nanoseconds, from_log: bool) -> When:
    """Settle the times of messages: their own stamp, or the log's where they have none.

    log_ns, stamp_ns: int64 [M] in the order of the log. from_log: whether the log's are wanted.
    """
    absent = stamp_ns == NO_STAMP
    raw, notes = np.where(absent, log_ns, stamp_ns), []
    if from_log:
        raw = log_ns
        notes.append("times are those of the log, as declared")
    elif absent.all():
        notes.append("messages state no time of their own: times are those of the log")
    else:
        if absent.any():
            notes.append(f"{absent.sum()} messages state no time of their own: the log's stands in")
        differences = np.sort((stamp_ns - log_ns)[~absent])
        apart = int(differences[len(differences) // 2])
        if abs(apart) > APART_NS:
            notes.append(f"stamps are {apart} ns from the times of the log: another clock?")
    kept, report = settle(raw)
    return When(kept, raw[kept], report.noting(*notes))


@dataclass(frozen=True)
class Track:
    """One stream of a log. units: opens a cursor; None where the stream has a problem. frame: its
    coordinate frame, if stated.
    """

    stream: Stream
    units: Callable[[], Units] | None = None
    frame: str = ""


@dataclass(frozen=True)
class TopicSpec:
    """What is known of a topic before it is scanned.

    name: of the topic. type: of its messages, as `Schema.type`. declared: what the caller says of
    streams, by name; keys as in recording.toml.
    """

    log: MessageLog
    name: str
    type: str
    clock: str
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def declaration(self, stream: str) -> Mapping[str, Any]:
        """What the caller says of a stream of the topic."""
        return self.declared.get(stream, {})


class Topic(ABC):
    """Collects the messages of one topic and type while the log is scanned, then describes them."""

    head: int | None = 0
    """How many bytes of each message `add` wants, besides those with its stamp; None for all."""

    def __init__(self, spec: TopicSpec) -> None:
        self.spec = spec
        self.schemas: list[Schema] = []
        self._codecs: list[Codec] = []
        self._damaged = 0
        self._reason = ""

    def connect(self, schema: Schema, codec: Codec) -> ChannelSink:
        """What takes the messages of one more channel of the topic."""
        self.schemas.append(schema)
        self._codecs.append(codec)
        return ChannelSink(self, len(self._codecs) - 1, codec)

    @abstractmethod
    def add(self, entry: Entry, codec: Codec, data: bytes) -> None:
        """Take one message; data: its first `head` bytes. Raises any of `UNSOUND`."""

    @abstractmethod
    def state(self) -> Mapping[str, Any]:
        """What the messages told: names, numbers and arrays; see `Resumable.state`."""

    @abstractmethod
    def resume(self, state: Mapping[str, Any]) -> None:
        """Know what the messages told without having seen them."""

    @abstractmethod
    def tracks(self) -> Sequence[Track]:
        """The streams of the topic. Raises DecodeError if its messages cannot be read."""

    def leave_out(self, count: int, reason: str) -> None:
        """Count messages that are damaged."""
        self._damaged += count
        self._reason = self._reason or reason

    def require_sound(self) -> None:
        """Raise DecodeError if every message so far was damaged."""
        if self._damaged:
            raise DecodeError(f"none of its messages can be read: {self._reason}")

    def rows(self, stream: str, entries: Entries) -> tuple[Messages, When]:
        """Where and when the rows of a stream are. Raises DecodeError if it has none."""
        table = entries.table()
        rule = self.spec.declaration(stream).get("time") or {}
        when = times_of(table["log_ns"], table["stamp_ns"], rule.get("from") == "log")
        if self._damaged:
            note = f"{self._damaged} messages are damaged and left out ({self._reason})"
            when = when._replace(report=when.report.noting(note))
        if not len(when.kept):
            raise DecodeError(f"none of its {len(table)} messages has a usable time")
        messages = Messages(self.spec.log, stream, tuple(self._codecs), table[when.kept], when.ns)
        return messages, when


class ChannelSink:
    """Takes the messages of one channel of a topic."""

    def __init__(self, topic: Topic, number: int, codec: Codec) -> None:
        self._topic = topic
        self._number = number
        self._codec = codec
        wanted = (topic.head, codec.head)
        self.head = None if None in wanted else max(filter(None, wanted), default=0)

    def add(self, log_ns: int, place: Place, data: bytes) -> None:
        try:
            entry = Entry(self._number, log_ns, self._codec.stamp_ns(data), place)
            self._topic.add(entry, self._codec, data)
        except UNSOUND as error:
            self._topic.leave_out(1, getattr(error, "message", repr(error)))


class StreamTopic(Topic):
    """A topic that is one stream, of the topic's name."""

    def __init__(self, spec: TopicSpec) -> None:
        super().__init__(spec)
        self.entries = Entries()

    def add(self, entry: Entry, codec: Codec, data: bytes) -> None:
        self.entries.add(entry)

    def state(self) -> Mapping[str, Any]:
        return {"entries": self.entries.state()}

    def resume(self, state: Mapping[str, Any]) -> None:
        self.entries = Entries.restored(state["entries"])

    def tracks(self) -> Sequence[Track]:
        if not len(self.entries):
            self.require_sound()
            return ()
        return [self.describe(*self.rows(self.spec.name, self.entries))]

    @abstractmethod
    def describe(self, messages: Messages, when: When) -> Track:
        """The stream of these rows. Raises DecodeError."""
