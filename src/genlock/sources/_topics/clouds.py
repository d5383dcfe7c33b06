"""Topics of point clouds: a table of points for each row, of a length of its own."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._messages import Codec
from genlock._messages.clouds import is_moved, point_columns, point_values, stored_points
from genlock.interfaces import CodecSpec
from genlock.sources._topics.messages import Entry, Messages, first_of, frame_of
from genlock.sources._topics.topic import StreamTopic, TopicSpec, Track, When
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

ENCODING = "points"
MOVED = "messages give the pose of their points in the frame: it is not applied to them"


class CloudTopic(StreamTopic):
    """Point clouds, counted while the log is scanned, so that batches are planned by numbers."""

    head = 1 << 14
    """ROS describes a cloud before its points, in about 50 bytes and 20 for each field."""

    def __init__(self, spec: TopicSpec) -> None:
        super().__init__(spec)
        self._counts = array("q")

    def add(self, entry: Entry, codec: Codec, data: bytes) -> None:
        count = stored_points(codec.beginning(data), entry.place.size)
        super().add(entry, codec, data)
        self._counts.append(count)

    def state(self) -> Mapping[str, Any]:
        return {**super().state(), "counts": np.array(self._counts, np.int64)}

    def resume(self, state: Mapping[str, Any]) -> None:
        super().resume(state)
        self._counts = array("q", state["counts"].tobytes())

    def describe(self, messages: Messages, when: When) -> Track:
        values, frame, moved = first_of(
            messages, lambda first: (point_values(first), frame_of(first), is_moved(first))
        )
        counts = np.array(self._counts, np.int64)[when.kept]
        dtypes = set(values.values())
        info = StreamInfo(
            "points",
            encoding=ENCODING,
            codec=self.spec.type,
            shape=(int(counts.max()), len(values)),
            dtype=dtypes.pop().name if len(dtypes) == 1 else "float64",
            rate=when.rate,
            clock=self.spec.clock,
            columns=tuple(values),
            units={name: "m" for name in values if name in ("x", "y", "z")},
            report=when.report.noting(*[MOVED] * moved),
        )
        stream = Stream(self.spec.name, info, Timeline(when.ns), counts=counts)
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
