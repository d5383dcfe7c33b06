"""The rows of a table in time: stamps read and settled, or what keeps them from it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._checked import Place
from genlock._nanoseconds import UNIT_NS, Nanoseconds
from genlock.declaration import FILE_NAME, StreamDeclaration, TimeRule
from genlock.errors import GenlockError, LayoutError, OpenError, TimeUnitError
from genlock.location import Location
from genlock.tables.files import Table, open_table
from genlock.tables.layout import Layout
from genlock.tables.names import Column, find, read_columns, time_column
from genlock.tables.times import NO_TIME_NS, regular_ns, stamps_ns, undeclared, unwrapped
from genlock.timeline import Report, Timeline, settle


@dataclass(frozen=True)
class Rows:
    """The timeline of a table's rows, and which rows of the file they are.

    kept: rows of the file in the timeline's order, None where they are all of them in their own.
    problem: why there is no timeline, with what to add.
    """

    timeline: Timeline
    report: Report
    kept: NDArray[np.intp] | None = None
    problem: GenlockError | None = None

    def select(self, values: NDArray[Any]) -> NDArray[Any]:
        """The timeline's rows of a column of the file."""
        return values if self.kept is None else values[self.kept]


def read_rows(
    uri: str, table: Table, declaration: StreamDeclaration, layout: Layout, unit: str | None
) -> Rows:
    """Place a table's rows in time.

    unit: of the times where the declaration states none. Raises OpenError for stamps that are no
    times, LayoutError for an unknown unit.
    """
    rule, place = declaration.time, declaration.place.at("time")
    if unit is not None and unit not in UNIT_NS:
        raise LayoutError(f"unit={unit!r} is not one of {', '.join(UNIT_NS)}", recording=uri)
    if layout.time is None and rule.rate is not None:
        return Rows(Timeline(regular_ns(table.rows, rule.rate)), Report())
    try:
        if layout.time is None:
            raise LayoutError(_no_time(uri, place), recording=uri)
        starts = read_stamps(uri, table, layout.time, rule, place, unit)
        ends = read_stamps(uri, table, layout.end, rule, place, unit) if layout.end else starts
    except (TimeUnitError, LayoutError) as problem:
        return Rows(Timeline([]), Report(), problem=problem)
    named = rule.column or declaration.start
    notes = [] if named else [f"times guessed to be in column {layout.time.name!r}"]
    endless = ends < starts
    if endless.any():
        notes.append(f"dropped {endless.sum()} that have no end, or one before their start")
    kept, report = settle(np.where(endless, NO_TIME_NS, starts))
    in_order = len(kept) == len(starts) and not report.reordered
    durations = (ends - starts)[kept] if layout.modality == "labels" else None
    timeline = Timeline(starts[kept], durations)
    return Rows(timeline, report.noting(*notes), None if in_order else kept)


def read_stamps(
    uri: str, table: Table, column: Column, rule: TimeRule, place: Place, unit: str | None = None
) -> Nanoseconds:
    """Read a column of times: int64 [M] ns in the order of the file.

    place: of the rule in recording.toml. Raises TimeUnitError, whose message holds the line to
    add, and OpenError for what is not a time.
    """
    stamps = table.stamps(column.index)
    unit = rule.unit or unit or column.time_unit
    missing = undeclared(stamps, unit, rule.zone)
    if missing:
        raise TimeUnitError(_no_unit(uri, column, rule, place, missing), recording=uri)
    try:
        stamps_in_ns = stamps_ns(stamps, unit, rule.zone)
    except ValueError as error:
        message = f"{uri}: times in column {column.name!r}: {error}"
        raise OpenError(message, recording=uri) from error
    if rule.wrap is not None and rule.unit is not None:
        return unwrapped(stamps_in_ns, rule.wrap, rule.unit)
    return stamps_in_ns


def read_sidecar(location: Location, rule: TimeRule, place: Place) -> Nanoseconds:
    """Read the times that a table holds for the rows of another file, in the table's order.

    Raises as `read_stamps` does, OpenError for a file that cannot be read, and LayoutError if it
    has no such column.
    """
    table = open_table(location, [rule.column or "t"])
    columns = read_columns(table.headers)
    try:
        column = find(columns, rule.column) if rule.column else time_column(columns)
    except LookupError as error:
        raise place.at("column").error(str(error.args[0])) from None
    if column is None and len(columns) > 1:
        raise place.error(f"which column of {location.name} holds the times? Add column = ...")
    return read_stamps(location.uri, table, column or columns[0], rule, place)


def _no_unit(uri: str, column: Column, rule: TimeRule, place: Place, missing: str) -> str:
    what, value = {"unit": ("unit", "ns"), "zone": ("time zone", "UTC")}[missing]
    shown = None if place.keys[-1] == "knots" else column.name
    stated = {"path": rule.path, "column": shown, missing: value}
    keys = ", ".join(f"{key} = {json.dumps(item)}" for key, item in stated.items() if item)
    others = ", ".join(json.dumps(u) for u in UNIT_NS if u != value)
    alone = f" (or {others}, as they are); alone, the file opens with gl.open({uri!r}, unit=...)"
    return (
        f"{uri}: nothing says the {what} of the times in column {column.name!r}. "
        f"{_add_line(place, f'{{ {keys} }}')}{alone if missing == 'unit' else ''}"
    )


def _no_time(uri: str, place: Place) -> str:
    return (
        f"{uri}: no column is named like a time. "
        f"{_add_line(place, '{ column = ..., unit = ... }')}, or with {{ rate = ... }} in Hz"
    )


def _add_line(place: Place, value: str) -> str:
    table, name, key = place.keys[:3]
    name = name if re.fullmatch(r"[\w-]+", name) else json.dumps(name)
    return f"Add to {FILE_NAME}, under [{table}.{name}]: {key} = {value}"
