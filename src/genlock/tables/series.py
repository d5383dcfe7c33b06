"""One stream of a table: its times settled at once, its columns when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock.declaration import StreamDeclaration
from genlock.errors import error_context
from genlock.stream import Stream, StreamInfo
from genlock.tables.files import Table
from genlock.tables.layout import Columns, Layout
from genlock.tables.names import POSE, POSITION
from genlock.tables.rows import Rows, read_rows

Arrays = Mapping[str, NDArray[Any]]


class Series:
    """A stream of a table, and its columns with rows as in the stream's timeline. Thread-safe.

    uri: names the file in messages. unit: of the times, where the declaration states none. A
    stream whose times cannot be read has a `problem` and no rows. Raises LayoutError for a wrong
    declaration, OpenError for stamps that are no times.
    """

    def __init__(
        self,
        uri: str,
        name: str,
        table: Table,
        declaration: StreamDeclaration,
        unit: str | None = None,
    ) -> None:
        self._uri = uri
        self._layout = Columns(table, declaration).layout()
        self._rows = read_rows(uri, table, declaration, self._layout, unit)
        info = _info(table, self._layout, self._rows)
        self.stream = Stream(name, info, self._rows.timeline, problem=self._rows.problem)
        self._table: Table | None = table
        self._arrays: Arrays = {}
        if table.format in ("csv", "jsonl") and self._rows.problem is None:
            # parsed as a whole: the text of its cells need not stay in memory
            empty = [name for name, values in self.arrays().items() if _holds_nothing(values)]
            report = info.report.noting(*(f"column {name!r} holds no value" for name in empty))
            self.stream = replace(self.stream, info=info.with_report(report))

    def arrays(self) -> Arrays:
        """The columns, read-only: a sensor's own; a pose's tx … qw as float64; a label's value.

        Raises the stream's problem, DecodeError for columns that cannot be read.
        """
        if self.stream.problem is not None:
            raise self.stream.problem
        table = self._table
        if table is not None:
            with error_context(self._uri, self.stream.name):
                self._arrays = self._read(table)
            self._table = None
        return self._arrays

    def _read(self, table: Table) -> Arrays:
        layout, rows = self._layout, self._rows
        values = table.values([column.index for column in layout.values.values()])
        arrays = dict(zip(layout.values, map(rows.select, values), strict=True))
        if layout.modality == "pose":
            arrays = {name: array.astype(np.float64) for name, array in arrays.items()}
            zeros = dict.fromkeys(POSITION, np.zeros(len(rows.timeline)))
            arrays = {name: (zeros | arrays)[name] for name in POSE}
        for array in arrays.values():
            array.flags.writeable = False
        return arrays


def _holds_nothing(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and len(values) > 0 and bool(np.isnan(values).all())


def _info(table: Table, layout: Layout, rows: Rows) -> StreamInfo:
    held = [table.holds(column.index) for column in layout.values.values()]
    dtypes = {dtype for dtype, _ in held}
    units = {name: column.unit for name, column in layout.values.items() if column.unit}
    pose = layout.pose
    period = rows.timeline.period_ns
    rate = SECOND_NS / period if period else None
    shape: tuple[int, ...] = (sum(width for _, width in held),)
    columns = tuple(layout.values)
    if layout.modality == "pose":
        shape, columns, dtypes = (len(POSE),), POSE, {"float64"}
    elif layout.modality == "labels":
        shape, rate = (), None
    return StreamInfo(
        layout.modality,
        "columns",
        table.format,
        shape,
        dtypes.pop() if len(dtypes) == 1 else "float64",
        rate,
        units=units,
        columns=columns,
        quaternion=pose.stored_order if pose else None,
        frames=pose.frames if pose else None,
        report=rows.report.noting(*layout.notes),
    )
