"""Streams of several sources as one: renamed, placed on clocks, with times from a sidecar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._checked import Place
from genlock._nanoseconds import SECOND_NS, Nanoseconds
from genlock.clock import ClockMap
from genlock.declaration import StreamDeclaration
from genlock.errors import OpenError, StreamError
from genlock.interfaces import CodecSpec, Source, Units
from genlock.location import Location
from genlock.stream import Stream
from genlock.tables.rows import read_sidecar
from genlock.timeline import SampledTimeline, Timeline, settle

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Part:
    """One stream of a composed source.

    stream: as the composed source shows it. source: where it comes from, None if that could not
    be opened. inner: its name there. kept: its rows there, None if they are the same.
    """

    stream: Stream
    source: Source | None = None
    inner: str = ""
    kept: Rows | None = None


class ComposedSource:
    """Streams of one or more sources. Thread-safe; closing it closes `sources`."""

    def __init__(
        self,
        location: Location,
        clock: str,
        clocks: Mapping[str, ClockMap],
        parts: Sequence[Part],
        sources: ExitStack,
    ) -> None:
        self.location = location
        self.clock = clock
        self.clocks: Mapping[str, ClockMap] = {**clocks, clock: ClockMap()}
        self.streams: Mapping[str, Stream] = {part.stream.name: part.stream for part in parts}
        self._sources = sources
        self._parts = {part.stream.name: part for part in parts}

    def units(self, stream: str) -> Units:
        """A cursor over a stream's units. Raises StreamError, or what keeps it from being read."""
        part = self._parts.get(stream)
        if part is None:
            raise StreamError(f"{self.location.uri} has no stream {stream!r}")
        if part.source is None:
            raise part.stream.problem or StreamError(f"stream {stream!r} has no source")
        units = part.source.units(part.inner)
        return units if part.kept is None else _SelectedUnits(units, part.kept)

    def close(self) -> None:
        """Close every source, also if one fails to."""
        self._sources.close()


class _SelectedUnits:
    """Some rows of a stream, in an order of their own."""

    def __init__(self, units: Units, kept: Rows) -> None:
        self._units = units
        self._kept = kept
        spec, table = units.spec, units.spec.table
        if table is not None:
            spec = replace(spec, table=replace(table, row_unit=table.row_unit[kept]))
        self.spec: CodecSpec = spec

    def unit(self, index: int) -> Any:
        if self.spec.encoding == "columns":
            return {name: array[self._kept] for name, array in self._units.unit(index).items()}
        return self._units.unit(index if self.spec.table is not None else int(self._kept[index]))

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        if self.spec.table is not None:
            return self._units.units(first)
        count = 1 if self.spec.encoding == "columns" else len(self._kept)
        return ((index, self.unit(index)) for index in range(first, count))

    def close(self) -> None:
        self._units.close()


def inside(base: Location, relative: str, place: Place) -> Location:
    """A place below a folder. Raises LayoutError if it would lie outside."""
    try:
        return base.child(relative)
    except OpenError as error:
        raise place.error(error.message) from error


def place(
    source: Source,
    inner: str,
    name: str,
    declaration: StreamDeclaration,
    base: Location,
    clock: str | None = None,
) -> Part:
    """Place a source's stream as it is declared: its clock, zero, sidecar, and calibration.

    base: the folder that paths are relative to. clock: what the source's own recording clock is
    called here, and the stream's clock where none is declared; None leaves the stream on its own.
    Raises LayoutError for a sidecar of another length, OpenError for one that cannot be read.
    """
    stream, kept = source.streams[inner], None
    if clock is not None and stream.info.clock in source.clocks:
        stream = stream.on_clock(source.clocks[stream.info.clock])
    if declaration.times is not None:
        stream, kept = _retimed(stream, declaration, base)
    if declaration.zero_ns:
        stream = stream.on_clock(ClockMap(declaration.zero_ns))
    info = replace(
        stream.info,
        modality=declaration.kind or stream.info.modality,
        clock=declaration.clock or clock or stream.info.clock,
        stamp=declaration.stamp or stream.info.stamp,
        frames=declaration.frames or stream.info.frames,
        depth=declaration.depth or stream.info.depth,
    )
    if declaration.exposure_ns is not None:
        info = replace(info, exposure_ns=declaration.exposure_ns)
    stream = replace(
        stream,
        name=name,
        info=info,
        intrinsics=declaration.calibration or stream.intrinsics,
        extrinsics=declaration.extrinsics or stream.extrinsics,
    )
    return Part(stream, source, inner, kept)


def _retimed(
    stream: Stream, declaration: StreamDeclaration, base: Location
) -> tuple[Stream, Rows | None]:
    rule, where = declaration.times, declaration.place.at("times")
    assert rule is not None and rule.path is not None
    if isinstance(stream.timeline, SampledTimeline):
        raise where.error("the samples of audio are at a fixed rate: place them by zero_ns")
    raw_ns = read_sidecar(inside(base, rule.path, where.at("path")), rule, where)
    if len(raw_ns) != len(stream.timeline):
        raise where.error(
            f"{rule.path} holds {len(raw_ns)} times, {declaration.path or stream.name} has "
            f"{len(stream.timeline)} rows"
        )
    return retimed(stream, raw_ns)


def retimed(stream: Stream, raw_ns: Nanoseconds) -> tuple[Stream, Rows | None]:
    """A stream with other times, one for each of its rows, and its old rows in their new order.

    The order is None if nothing moved and nothing was dropped.
    """
    kept, report = settle(raw_ns)
    valid = stream.timeline.valid
    timeline = Timeline(raw_ns[kept], valid=None if valid is None else valid[kept])
    period = timeline.period_ns
    before = stream.info.report
    info = replace(
        stream.info,
        rate=SECOND_NS / period if period else None,
        report=replace(report, missing=before.missing, notes=before.notes),
    )
    in_order = np.array_equal(kept, np.arange(len(raw_ns)))
    counts = None if stream.counts is None else stream.counts[kept]
    moved = replace(stream, info=info, timeline=timeline, counts=counts)
    return moved, None if in_order else kept
