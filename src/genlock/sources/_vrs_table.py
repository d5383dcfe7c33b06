"""Streams of VRS files that hold fields only: sensors, poses, and sightings as labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._vrs.chunks import Chunks
from genlock._vrs.file import Records
from genlock._vrs.stream import VrsStream
from genlock.interfaces import CodecSpec
from genlock.sources._vrs_profile import Profile, TableSpec
from genlock.sources._vrs_track import RecordUnits, Times, Track, nominal_rate, settled
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

Columns = Mapping[str, NDArray[Any]]
POSITION, QUATERNION = ("tx", "ty", "tz"), ("qx", "qy", "qz", "qw")


def table_tracks(stream: VrsStream, chunks: Chunks, name: str, profile: Profile) -> list[Track]:
    """Describe a stream of fields; several where a field tells several apart."""
    spec = profile.table(stream)
    times = settled(stream, stream.rows(chunks), spec.time)
    if not spec.by or not len(times.kept):
        return [_track(stream, name, profile, spec, times)]
    kinds = np.array([_text(stream, chunks, int(row), spec.by) for row in times.kept], object)
    tracks = []
    for kind in dict.fromkeys(kinds.tolist()):
        own = np.flatnonzero(kinds == kind)
        part = Times(times.ns[own], times.kept[own], times.report)
        tracks.append(_track(stream, f"{name}-{kind.lower()}", profile, spec, part))
    return tracks


def _text(stream: VrsStream, chunks: Chunks, row: int, field: str) -> str:
    return str(stream.values(chunks, stream.records, row)[field])


def _track(stream: VrsStream, name: str, profile: Profile, spec: TableSpec, times: Times) -> Track:
    records = stream.records.take(times.kept)
    fields = chosen(stream, spec)
    empty = columns(stream, np.zeros(0, stream.layout.fixed), spec, fields)
    _, extrinsics = profile.calibration(name, ())
    labels, report = spec.modality == "labels", times.report
    if others := [n for n in stream.layout.variable if n != spec.by and not labels]:
        report = report.noting(f"left out, since of variable size: {', '.join(others)}")
    dtypes = {str(values.dtype) for values in empty.values()}
    info = StreamInfo(
        spec.modality,
        encoding="columns",
        shape=() if labels else (sum(math.prod(v.shape[1:]) for v in empty.values()),),
        dtype="" if labels else dtypes.pop() if len(dtypes) == 1 else "float64",
        rate=nominal_rate(stream.configuration),
        clock=profile.clock,
        units=dict(spec.units),
        columns=("value",) if labels else tuple(empty),
        quaternion="xyzw" if spec.pose else None,
        frames=spec.frames,
        report=report,
    )
    result = Stream(name, info, Timeline(times.ns), None, extrinsics, stream.problem)
    return Track(result, partial(TableUnits, stream, records, spec))


def chosen(stream: VrsStream, spec: TableSpec) -> tuple[str, ...]:
    """The fields that become columns: those asked for that there are, or all but the time."""
    there = stream.layout.fixed.names or ()
    if spec.fields:
        return tuple(name for name in spec.fields if name in there)
    return tuple(name for name in there if name != spec.time and name not in spec.valid)


def columns(
    stream: VrsStream, rows: NDArray[np.void], spec: TableSpec, fields: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    """Columns [N] or [N, k] of some records; NaN where a flag says that there is nothing."""
    out: dict[str, NDArray[Any]] = {}
    for name in fields:
        shape = rows[name].shape
        values = rows[name].reshape(shape[0], math.prod(shape[1:])) if shape[1:] else rows[name]
        values = values != 0 if name in stream.layout.booleans else values
        values = values.astype(values.dtype.newbyteorder("="))
        if name in spec.scale:
            values = (values * spec.scale[name]).astype(values.dtype)
        out[name] = _masked(values, name, rows, spec)
    if spec.pose is not None:
        parts = zip((POSITION, QUATERNION), spec.pose, strict=True)
        pose = {
            name: out[field][:, i].astype(np.float64)
            for names, field in parts
            for i, name in enumerate(names)
        }
        out = pose | {name: values for name, values in out.items() if name not in spec.pose}
    return out


def _masked(
    values: NDArray[Any], name: str, rows: NDArray[np.void], spec: TableSpec
) -> NDArray[Any]:
    there = rows.dtype.names or ()
    flags = [f for f, start in spec.valid.items() if f in there and name.startswith(start)]
    if not flags:
        return values
    nothing = np.any([rows[flag] == 0 for flag in flags], axis=0)
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(np.float32)
    values[nothing] = np.nan
    return values


class TableUnits(RecordUnits):
    """The one unit of a table: all its columns, or all its labels."""

    def __init__(self, stream: VrsStream, records: Records, spec: TableSpec) -> None:
        super().__init__(stream)
        self._records = records
        self._table = spec
        self.spec = CodecSpec("columns", options={"uri": stream.file.location.uri})

    def unit(self, index: int) -> Columns:
        if self._table.modality == "labels":
            held = self._labels()
        else:
            stream, spec = self._stream, self._table
            rows = stream.rows(self._chunks, self._records)
            held = columns(stream, rows, spec, chosen(stream, spec))
        for values in held.values():
            values.flags.writeable = False
        return held

    def units(self, first: int) -> Iterator[tuple[int, Columns]]:
        yield 0, self.unit(0)

    def _labels(self) -> dict[str, NDArray[Any]]:
        """Each record as a mapping of its fields, in `value`: numbers, lists of them and texts."""
        values = np.empty(len(self._records), object)
        for row in range(len(self._records)):
            fields = self._stream.values(self._chunks, self._records, row)
            values[row] = {
                name: field.tolist() if isinstance(field, np.generic | np.ndarray) else field
                for name, field in fields.items()
            }
        return {"value": values}
