"""Checks of tables: do accelerations, turning rates, rotations and positions have sane units?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock.doctor.finding import Finding, Severity
from genlock.opened import POSE_COLUMNS, Opened
from genlock.stream import Stream, StreamInfo

GRAVITY = 9.80665
"""Standard gravity, m/s^2 (CGPM 1901)."""
BLOCK_NS = 250_000_000
QUIETEST = 0.2
"""Share of blocks, the quietest, in which a device counts as at rest."""
FASTEST_RAD_S = 2000 / 180 * np.pi
"""Full scale of nearly all gyroscopes in headsets and phones."""
USUALLY_BELOW_RAD_S = 2 * np.pi
DEGREES = 180 / np.pi

ACCELERATION_UNITS = frozenset({"m/s²", "m/s^2", "m/s2", "m s^-2", "g"})
RATE_UNITS = frozenset({"rad/s", "rad s^-1", "deg/s", "°/s", "dps"})
DEGREE_UNITS = frozenset({"deg/s", "°/s", "dps"})
_ACCELERATION = re.compile(r"(a|acc|accel|acceleration|accelerometer|linear_?acceleration)")
_RATE = re.compile(r"(g|w|gyr|gyro|gyroscope|omega|angular_?velocity)")
_AXIS = re.compile(r"(?P<what>.+?)(_rs_s)?[_. ]?(?P<axis>[xyz])", re.IGNORECASE)


class Axes(NamedTuple):
    """Three columns of a stream that hold one vector, and their unit as stated, else ""."""

    columns: tuple[str, ...]
    unit: str


def acceleration_axes(info: StreamInfo) -> Axes | None:
    """The columns of an accelerometer, by name or unit."""
    return _axes(info, _ACCELERATION, ACCELERATION_UNITS)


def rate_axes(info: StreamInfo) -> Axes | None:
    """The columns of a gyroscope, by name or unit."""
    return _axes(info, _RATE, RATE_UNITS)


def _axes(info: StreamInfo, name: re.Pattern[str], units: frozenset[str]) -> Axes | None:
    matches = [(column, _AXIS.fullmatch(column)) for column in info.columns]
    named = tuple(c for c, m in matches if m and name.fullmatch(m["what"].lower()))
    alone = len(info.columns) == 3 and {info.units.get(c) for c in info.columns} <= units
    columns = named if len(named) == 3 else info.columns if alone else ()
    return Axes(columns, info.units.get(columns[0], "")) if columns else None


@dataclass(frozen=True)
class _Scale:
    """A unit that values seem to be in: what they are multiplied by to be in the right one."""

    name: str
    factor: float


_GRAVITY_SCALES = (_Scale("g", GRAVITY), _Scale("mg", GRAVITY / 1000))


def accelerometer(opened: Opened) -> Iterator[Finding]:
    """An accelerometer at rest reads 1 g: 9.8 m/s^2, or 1 if its unit is g."""
    for stream in _tables(opened, "sensor"):
        if (axes := acceleration_axes(stream.info)) is None:
            continue
        rest = rest_norm(stream.timeline.ns, _whole(opened, stream, axes.columns))
        wanted = 1.0 if axes.unit == "g" else GRAVITY
        if rest is None or abs(rest / wanted - 1) < 0.15:
            continue
        found = next(
            (s for s in _GRAVITY_SCALES if abs(rest * s.factor / GRAVITY - 1) < 0.15), None
        )
        text = f"at rest the accelerometer reads {rest:.3g}, not {wanted:.3g} {axes.unit or 'm/s²'}"
        advice = "find out its unit and scale"
        severity: Severity = "warning"
        if rest < 0.3 * wanted and found is None:
            advice = "gravity seems to have been taken out: do not use it to find which way is up"
        if found is not None:
            advice = f"it seems to be in {found.name}: multiply by {found.factor:.6g} to get m/s²"
            severity = "error"
        yield Finding("gravity", severity, text, advice, stream.name)


def rest_norm(times: NDArray[np.int64], values: NDArray[Any]) -> float | None:
    """Median norm in the quietest quarters of a second; None with fewer than 20 rows.

    times: int64 ns [N]. values: [N, 3], NaN where invalid.
    """
    fine = np.isfinite(values).all(axis=1)
    times, values = times[fine], values[fine]
    if len(values) < 20:
        return None
    block = (times - times[0]) // BLOCK_NS
    firsts = np.flatnonzero(np.diff(block, prepend=-1))
    parts = [p for p in np.split(values, firsts[1:]) if len(p) > 1]
    if not parts:
        return float(np.median(np.linalg.norm(values, axis=1)))
    spread = [float(np.linalg.norm(part.std(axis=0))) for part in parts]
    quiet = np.argsort(spread)[: max(1, int(QUIETEST * len(parts)))]
    return float(np.median(np.linalg.norm(np.concatenate([parts[i] for i in quiet]), axis=1)))


def gyroscope(opened: Opened) -> Iterator[Finding]:
    """A gyroscope that turns faster than one can, or spins all the time, is in degrees."""
    for stream in _tables(opened, "sensor"):
        axes = rate_axes(stream.info)
        if axes is None or axes.unit in DEGREE_UNITS:
            continue
        norms = np.linalg.norm(_whole(opened, stream, axes.columns), axis=1)
        norms = norms[np.isfinite(norms)]
        if not len(norms):
            continue
        usual, fastest = np.median(norms), np.quantile(norms, 0.999)
        if fastest > FASTEST_RAD_S or usual > USUALLY_BELOW_RAD_S:
            text = f"the gyroscope turns at {usual:.3g} half the time and up to {fastest:.3g} rad/s"
            advice = f"it seems to be in degrees per second: divide by {DEGREES:.4f}"
            yield Finding("degrees", "error", text, advice, stream.name)


def quaternions(opened: Opened) -> Iterator[Finding]:
    """Rotations are unit quaternions, also before decoding makes them so."""
    for stream in _tables(opened, "pose"):
        with closing(opened.source.units(stream.name)) as units:
            stored = units.unit(0)
        norms = np.linalg.norm([stored[name] for name in POSE_COLUMNS[3:]], axis=0)
        wrong = np.flatnonzero(np.isfinite(norms) & (norms > 0) & (np.abs(norms - 1) > 0.01))
        if len(wrong):
            worst = norms[wrong[np.argmax(np.abs(norms[wrong] - 1))]]
            text = f"{len(wrong)} quaternions have a norm other than 1 (such as {worst:.3g})"
            advice = "check which columns are the quaternion; Genlock normalises them"
            first = int(stream.timeline.ns[wrong[0]])
            severity: Severity = "error" if len(wrong) > 0.5 * len(norms) else "warning"
            yield Finding("quaternions", severity, text, advice, stream.name, first, len(wrong))


def positions(opened: Opened) -> Iterator[Finding]:
    """Heads, hands and robots move at metres per second; hundreds mean millimetres."""
    for stream in _tables(opened, "pose"):
        where = _whole(opened, stream, POSE_COLUMNS[:3])
        steps = np.diff(stream.timeline.ns) / SECOND_NS
        moved = np.linalg.norm(np.diff(where, axis=0), axis=1)
        fine = np.isfinite(moved) & (steps > 0)
        if fine.sum() < 8:
            continue
        speed = float(np.median(moved[fine] / steps[fine]))
        if speed > 50:
            text = f"half the time it moves faster than {speed:.3g} m/s"
            advice = "positions seem to be in millimetres or centimetres: scale them to metres"
            yield Finding("positions", "error", text, advice, stream.name)


def empty_columns(opened: Opened) -> Iterator[Finding]:
    """Columns without any value: together with others they make every row invalid."""
    for stream in _tables(opened, "sensor"):
        columns = opened.columns(stream.name)
        if empty := [name for name, values in columns.items() if _is_empty(values)]:
            text = f"these columns hold no value: {', '.join(empty)}"
            advice = (
                "name the others with columns=[…]: a row counts if all it is asked for is there"
            )
            yield Finding("empty-columns", "warning", text, advice, stream.name, count=len(empty))


def _is_empty(values: NDArray[Any]) -> bool:
    return np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).any()


def invalid_rows(opened: Opened) -> Iterator[Finding]:
    """Rows with NaN or infinity, or quaternions of zero: they are masked."""
    for stream in (*_tables(opened, "sensor"), *_tables(opened, "pose")):
        columns: tuple[str, ...] = POSE_COLUMNS
        if stream.info.modality == "sensor":
            stored = opened.columns(stream.name)
            columns = tuple(name for name, values in stored.items() if not _is_empty(values))
        if not columns:
            continue
        whole = opened.table(stream.name, columns, "float64").whole
        if not whole.all():
            count = int((~whole).sum())
            text = f"{count} of {len(whole)} rows hold no usable value"
            advice = "they are masked, and interpolated over where gaps are short"
            first = int(stream.timeline.ns[np.argmin(whole)])
            severity: Severity = "warning" if count > 0.5 * len(whole) else "note"
            yield Finding("invalid-rows", severity, text, advice, stream.name, first, count)


def _tables(opened: Opened, modality: str) -> list[Stream]:
    return [
        stream
        for stream in opened.streams.values()
        if stream.info.modality == modality and stream.problem is None and len(stream.timeline)
    ]


def _whole(opened: Opened, stream: Stream, columns: tuple[str, ...]) -> NDArray[np.float64]:
    """Columns as float64 [N, D], NaN in rows that are not whole."""
    values, whole, _ = opened.table(stream.name, columns, "float64")
    return np.asarray(np.where(whole[:, None], values, np.nan), np.float64)
