"""Topics of point clouds: a table of points for each row, of a length of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from genlock._messages.clouds import point_columns, point_names
from genlock.interfaces import CodecSpec
from genlock.sources._topics.messages import Messages, first_of, frame_of
from genlock.sources._topics.topic import StreamTopic, Track, When
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

ENCODING = "points"


class CloudTopic(StreamTopic):
    """Point clouds. Their units are read with `Source.units`; no field samples them."""

    def describe(self, messages: Messages, when: When) -> Track:
        names, frame = first_of(messages, lambda first: (point_names(first), frame_of(first)))
        note = "clouds differ in length: read them one by one from the source's units"
        info = StreamInfo(
            "sensor",
            encoding=ENCODING,
            codec=self.spec.type,
            rate=when.rate,
            clock=self.spec.clock,
            columns=names,
            units={name: "m" for name in names if name in ("x", "y", "z")},
            report=when.report.noting(note),
        )
        stream = Stream(self.spec.name, info, Timeline(when.ns))
        return Track(stream, partial(CloudUnits, messages), frame)


class CloudUnits:
    """Clouds by row: [P] or [P, k] by field, as stored. One thread at a time; close explicitly."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._cursor = messages.open()
        self.spec = CodecSpec(ENCODING, options={"uri": messages.log.location.uri})

    def unit(self, index: int) -> Mapping[str, NDArray[Any]]:
        """The points of one row. Raises DecodeError naming log, stream and time."""
        return self._cursor.read(index, point_columns)

    def units(self, first: int) -> Iterator[tuple[int, Mapping[str, NDArray[Any]]]]:
        return ((index, self.unit(index)) for index in range(first, len(self._messages)))

    def close(self) -> None:
        self._cursor.close()
