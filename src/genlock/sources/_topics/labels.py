"""Topics whose messages are annotations: texts, and whatever holds no numbers."""

from __future__ import annotations

from contextlib import closing, suppress
from functools import partial
from typing import Any

import numpy as np

from genlock._messages import Message
from genlock._messages.codec import STAMPS
from genlock.errors import DecodeError
from genlock.sources._topics.columns import Arrays, Columnar, TableUnits
from genlock.sources._topics.messages import Messages, first_of
from genlock.sources._topics.topic import StreamTopic, TopicSpec, Track, When
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline


class LabelTable(Columnar):
    """One column, "value": texts, or mappings of a message's values by path; None where damaged."""

    def __init__(self, messages: Messages, path: str | None) -> None:
        super().__init__()
        self._messages = messages
        self._path = path

    def read(self) -> Arrays:
        values = np.empty(len(self._messages), object)
        with closing(self._messages.open()) as cursor:
            for rows, codec, found in cursor.batches():
                for row, data in zip(rows.tolist(), found, strict=True):
                    with suppress(DecodeError):
                        values[row] = self._value(Message.read(codec, data))
        values.flags.writeable = False
        return {"value": values}

    def _value(self, message: Message) -> Any:
        if self._path is not None:
            return message.get(self._path, "")
        held = {p: v for p, v in message.items() if p not in (*STAMPS, "header.seq")}
        return next(iter(held.values())) if len(held) == 1 else held


class TextTopic(StreamTopic):
    """Messages that are texts, as labels. path: of the text."""

    def __init__(self, spec: TopicSpec, path: str) -> None:
        super().__init__(spec)
        self._path = path

    def describe(self, messages: Messages, when: When) -> Track:
        first_of(messages, lambda first: first)  # a topic of which nothing can be read says so
        return label_track(self.spec, messages, when, self._path)


def label_track(spec: TopicSpec, messages: Messages, when: When, path: str | None = None) -> Track:
    """A stream of labels without duration. path: of the value, None for whole messages."""
    info = StreamInfo("labels", "columns", spec.type, clock=spec.clock, report=when.report)
    table = LabelTable(messages, path)
    stream = Stream(spec.name, info, Timeline(when.ns))
    return Track(stream, partial(TableUnits, table, spec.type))
