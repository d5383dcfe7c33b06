"""What each column of a table is to a stream, by declaration first and by name second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genlock.declaration import StreamDeclaration
from genlock.stream import Modality
from genlock.tables.files import Table
from genlock.tables.names import (
    Column,
    PoseColumns,
    find,
    interval_columns,
    pose_columns,
    read_columns,
    time_column,
)

Interval = tuple[Column, Column]


@dataclass(frozen=True)
class Layout:
    """The columns of one stream.

    time: of the rows' times, None where no column holds them. end: of the labels' ends. values:
    by the name that the stream gives them. pose: where the values are one. notes: what was
    guessed, and what was left out.
    """

    modality: Modality
    time: Column | None
    values: Mapping[str, Column]
    end: Column | None = None
    pose: PoseColumns | None = None
    notes: tuple[str, ...] = ()


class Columns:
    """The columns of a table as one declaration sees them. Raises LayoutError where it is wrong."""

    def __init__(self, table: Table, declaration: StreamDeclaration) -> None:
        self.declared = declaration
        self.place = declaration.place
        self.all = read_columns(table.headers)
        self.dtypes = {column: table.holds(column.index)[0] for column in self.all}
        self.numeric = [c for c in self.all if self.dtypes[c] not in ("", "str")]
        self.texts = [c for c in self.all if self.dtypes[c] == "str"]

    def layout(self) -> Layout:
        """Decide what the columns are."""
        pose, interval = self._pose(), interval_columns(self.all)
        modality = self.declared.kind or self._guess_kind(pose, interval)
        if modality == "labels":
            return self._labels(interval)
        time = self._time()
        if modality == "pose":
            if pose is None:
                raise self.place.at("quaternion").error("name its columns in x, y, z, w order")
            return Layout(modality, time, pose.by_name, None, pose, self._pose_notes(pose, time))
        if modality != "sensor":
            raise self.place.at("kind").error(f"a table holds no {modality}")
        return self._sensor(time)

    def _guess_kind(self, pose: PoseColumns | None, interval: Interval | None) -> Modality:
        declared, time = self.declared, time_column(self.all)
        others = [c for c in self.numeric if c != time]
        if declared.start or declared.end or declared.value:
            return "labels"
        if pose and (pose.position or declared.quaternion or len(others) == len(pose.quaternion)):
            return "pose"
        if interval and not time:
            return "labels" if self._label_values(*interval) else "sensor"
        return "labels" if self.texts and not others else "sensor"

    def _time(self) -> Column | None:
        rule = self.declared.time
        if rule.path:
            raise self.place.at("time", "path").error("a table takes times of another by times = ")
        if rule.column:
            return self._find(rule.column, "time", "column")
        if rule.from_:
            raise self.place.at("time").error("a table's rows have no file names")
        return None if rule.rate else time_column(self.all)

    def _sensor(self, time: Column | None) -> Layout:
        names = self.declared.columns or tuple(c.name for c in self.numeric if c.header.strip())
        chosen = [c for name in names if (c := self._find(name, "columns")) != time]
        for column in chosen:
            if column not in self.numeric:
                raise self.place.at("columns").error(f"{column.name!r} does not hold numbers")
        left = [c.name for c in self.all if c not in self.numeric and c != time]
        notes = [f"left out, since they hold no numbers: {', '.join(left)}"] if left else []
        return Layout("sensor", time, {c.name: c for c in chosen}, notes=tuple(notes))

    def _labels(self, interval: Interval | None) -> Layout:
        start, end, value = (self._named(key) for key in ("start", "end", "value"))
        rule = self.declared.time
        if start is None and interval and not (rule.column or rule.rate):
            start = interval[0]
        time = start or self._time()
        end = end or (interval[1] if interval and interval[0] == time else None)
        values = [value] if value else self._label_values(time, end)
        if not values:
            raise self.place.at("value").error("no column is left to hold the labels")
        there = ", ".join(repr(column.name) for column in values)
        notes = (f"labels guessed to be the first of {there}",) if len(values) > 1 else ()
        return Layout("labels", time, {"value": values[0]}, end, notes=notes)

    def _label_values(self, *times: Column | None) -> list[Column]:
        """The columns that may hold labels: the texts, else any."""
        others = [c for c in self.all if c not in times and self.dtypes[c]]
        return [c for c in others if c in self.texts] or others

    def _pose(self) -> PoseColumns | None:
        position, quaternion = self.declared.position, self.declared.quaternion
        if quaternion is None:
            guessed = pose_columns(self.all)
            if position is None or guessed is None:
                return guessed
            found = tuple(self._find(name, "position") for name in position)
            return PoseColumns(found, guessed.quaternion)
        return PoseColumns(
            tuple(self._find(name, "position") for name in position or ()),
            tuple(self._find(name, "quaternion") for name in quaternion),
        )

    def _pose_notes(self, pose: PoseColumns, time: Column | None) -> tuple[str, ...]:
        notes = []
        if not pose.position:
            notes.append("no position: tx, ty and tz are 0")
        if pose.others and not self.declared.quaternion:
            notes.append(f"further poses, to be declared to be read: {', '.join(pose.others)}")
        used = (*pose.by_name.values(), time)
        left = [c.name for c in self.numeric if c not in used]
        if left:
            notes.append(f'left out of the pose; kind = "sensor" has them: {", ".join(left)}')
        return tuple(notes)

    def _named(self, key: str) -> Column | None:
        wanted = getattr(self.declared, key)
        return self._find(wanted, key) if wanted else None

    def _find(self, wanted: str, *keys: str) -> Column:
        try:
            return find(self.all, wanted)
        except LookupError as error:
            raise self.place.at(*keys).error(str(error.args[0])) from None
