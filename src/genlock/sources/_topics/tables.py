"""Topics whose messages are rows of a table: sensors and poses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._messages import Message
from genlock._messages.codec import STAMPS, Group, parse_sound
from genlock.sources._topics.columns import Arrays, Columnar, TableUnits
from genlock.sources._topics.labels import label_track
from genlock.sources._topics.messages import Messages, first_of, frame_of
from genlock.sources._topics.topic import StreamTopic, TopicSpec, Track, When
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

POSITION = ("tx", "ty", "tz")
QUATERNION = ("qx", "qy", "qz", "qw")
UNCOUNTED = (*STAMPS, "header.seq")
FRAMES = ("frame_id", "child_frame_id", "parent_frame_id")
LONGEST = 1024
"""The most values that one column of a table holds in a row."""


@dataclass(frozen=True)
class Column:
    """One column of a table. path: of the value in a message, "[#]" standing for the row's item.
    dtype: NumPy's. count: values in a row, None for one.
    """

    path: str
    dtype: str = "float64"
    count: int | None = None


class Table(Columnar):
    """Numbers of messages; NaN where a message lacks a value."""

    def __init__(self, messages: Messages, columns: Mapping[str, Column]) -> None:
        super().__init__()
        self._messages = messages
        self._columns = columns

    def read(self) -> Arrays:
        filled = {name: _Filled(len(self._messages), one) for name, one in self._columns.items()}
        with closing(self._messages.open()) as cursor:
            for rows, codec, found in cursor.batches():
                items = self._messages.table["item"][rows]
                for group in parse_sound(codec, found):
                    for item in np.unique(items[group.rows]).tolist():
                        which = np.flatnonzero(items[group.rows] == item)
                        for one in filled.values():
                            one.fill(group, which, rows[group.rows[which]], item)
        return MappingProxyType({name: one.finish() for name, one in filled.items()})


class _Filled:
    """One column while it is filled."""

    def __init__(self, rows: int, column: Column) -> None:
        self._column = column
        shape = (rows,) if column.count is None else (rows, column.count)
        self._values = np.zeros(shape, column.dtype)
        self._found = np.zeros(rows, np.bool_)

    def fill(
        self, group: Group, which: NDArray[np.intp], rows: NDArray[np.intp], item: int
    ) -> None:
        """Take values of some messages of a group into rows; what has another shape is left."""
        path = self._column.path.replace("[#]", f"[{item}]")
        if path not in group.columns:
            return
        values = group.columns[path]
        if values.shape[1:] == self._values.shape[1:] and values.dtype != object:
            if not np.can_cast(values.dtype, self._values.dtype, "same_kind"):
                self._values = self._values.astype(np.float64)  # JSON writes 1 and 1.5
            self._values[rows] = values[which]
            self._found[rows] = True

    def finish(self) -> NDArray[Any]:
        values = self._values
        if not self._found.all():
            values = values if values.dtype.kind == "f" else values.astype(np.float64)
            values[~self._found] = np.nan
        values.flags.writeable = False
        return values


def table_track(
    stream: Stream, messages: Messages, columns: Mapping[str, Column], frame: str = ""
) -> Track:
    """A stream of these columns."""
    table = Table(messages, columns)
    return Track(stream, partial(TableUnits, table, stream.info.codec), frame)


class TableTopic(StreamTopic):
    """The numbers of each message as a row; labels where messages hold no numbers.

    units: by the start of a column's name. optional: by the start of columns' names, the path of
    a covariance whose first value is -1 where a device does not measure them (REP 145).
    """

    def __init__(
        self,
        spec: TopicSpec,
        units: Mapping[str, str] = MappingProxyType({}),
        optional: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(spec)
        self._units = units
        self._optional = optional

    def describe(self, messages: Messages, when: When) -> Track:
        first = first_of(messages, lambda first: first)
        columns, left_out = _columns(first)
        absent = tuple(
            name for name, path in self._optional.items() if _is_absent(first, name, path)
        )
        columns = {name: one for name, one in columns.items() if not name.startswith(absent)}
        if not columns or self.spec.declaration(messages.stream).get("kind") == "labels":
            return label_track(self.spec, messages, when)
        notes = [f"not measured by the device: {', '.join(absent)}"] if absent else []
        if left_out:
            notes.append(_not_columns(left_out))
        info = table_info(self.spec, "sensor", columns, when, self._units, notes)
        stream = Stream(self.spec.name, info, Timeline(when.ns))
        return table_track(stream, messages, columns, frame_of(first))


class PoseTopic(StreamTopic):
    """Each message is a pose. position, orientation: their paths in a message."""

    def __init__(self, spec: TopicSpec, position: str, orientation: str) -> None:
        super().__init__(spec)
        self._position = position
        self._orientation = orientation

    def describe(self, messages: Messages, when: When) -> Track:
        first = first_of(messages, lambda first: first)
        others, left_out = _columns(first)
        columns = pose_columns(self._position, self._orientation)
        paths = {column.path for column in columns.values()}
        columns |= {name: one for name, one in others.items() if name not in paths}
        notes = [_not_columns(left_out)] if left_out else []
        info = table_info(self.spec, "pose", columns, when, POSE_UNITS, notes)
        child = first.get("child_frame_id", "")
        frames = (frame_of(first), child.lstrip("/") if isinstance(child, str) else "")
        info = with_frames(info, frames)
        stream = Stream(self.spec.name, info, Timeline(when.ns))
        return table_track(stream, messages, columns)


POSE_UNITS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(POSITION, "m") | {"twist.twist.linear": "m/s", "twist.twist.angular": "rad/s"}
)


def pose_columns(position: str, orientation: str) -> dict[str, Column]:
    """The seven columns of a pose, by where a message holds them."""
    names = zip((*POSITION, *QUATERNION), "xyzxyzw", strict=True)
    return {
        name: Column(f"{orientation if name in QUATERNION else position}.{axis}")
        for name, axis in names
    }


def with_frames(info: StreamInfo, frames: tuple[str, str]) -> StreamInfo:
    """The same info with its frames, if any is stated, and x, y, z, w as the file's order."""
    return replace(info, quaternion="xyzw", frames=frames if any(frames) else None)


def table_info(
    spec: TopicSpec,
    modality: Any,
    columns: Mapping[str, Column],
    when: When,
    units: Mapping[str, str] = MappingProxyType({}),
    notes: list[str] | None = None,
) -> StreamInfo:
    """Describe a table. units: by the start of a column's name."""
    dtypes = {np.dtype(column.dtype).name for column in columns.values()}
    return StreamInfo(
        modality,
        encoding="columns",
        codec=spec.type,
        shape=(sum(column.count or 1 for column in columns.values()),),
        dtype=dtypes.pop() if len(dtypes) == 1 else "float64",
        rate=when.rate,
        clock=spec.clock,
        columns=tuple(columns),
        units={
            name: unit
            for name in columns
            for start, unit in units.items()
            if name.startswith(start)
        },
        report=when.report.noting(*(notes or ())),
    )


def _columns(first: Message) -> tuple[dict[str, Column], list[str]]:
    """The columns that a table of such messages has, and what of them it leaves out.

    Lists of numbers have the length that they have in the first message. Covariances are left
    out, as are bytes, texts and what is inside of lists.
    """
    columns: dict[str, Column] = {}
    left_out: list[str] = []
    for path, values in first.columns.items():
        if path in UNCOUNTED or path.split(".")[-1] in FRAMES:
            continue
        row = values[0]
        octets = values.ndim > 1 and values.dtype == np.uint8
        numeric = values.dtype.kind in "biuf" and not octets and "[" not in path
        if numeric and 0 < row.size <= LONGEST and not path.endswith("covariance"):
            dtype = values.dtype.newbyteorder("=").name
            columns[path] = Column(path, dtype, row.size if row.ndim else None)
        else:
            left_out.append(path.partition("[")[0])
    return columns, list(dict.fromkeys(left_out))


def _not_columns(paths: list[str]) -> str:
    return f"no columns are made of {', '.join(paths)}"


def _is_absent(first: Message, name: str, covariance: str) -> bool:
    """Whether a device does not measure something: so marked, or an orientation of norm 0."""
    marks = first.get(covariance)
    if marks is not None and len(marks) and marks[0] == -1:
        return True
    parts = [first.get(f"{name}.{axis}") for axis in "xyzw"]
    return None not in parts and not any(parts)
