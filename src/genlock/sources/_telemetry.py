"""GoPro telemetry: the sensors in a media file's GPMF track, as streams on the video's clock.

A payload holds about a second of every sensor. Each device nests streams; of the entries of a
stream the last is the data, those before it describe it. `_payload_times` says how times follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS, UNIT_NS
from genlock.sources._arrays import ArrayTable, array_table
from genlock.sources._gpmf import Entry, entries, fields, numbers
from genlock.sources._payload_times import Block, sample_times

MAGIC = b"DEVC"
COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "GPS5": ("latitude", "longitude", "altitude", "speed_2d", "speed_3d"),
        "GPS9": (
            *("latitude", "longitude", "altitude", "speed_2d", "speed_3d"),
            *("days_since_2000", "seconds_of_day", "dop", "fix"),
        ),
        "CORI": ("w", "x", "y", "z"),
        "IORI": ("w", "x", "y", "z"),
    }
)
STICKY = (("GPSF", "fix", 1), ("GPSP", "dop", 100))
"""Numbers that hold for a whole payload of GPS5: key, the column they become, and divisor."""
AXES: Mapping[str, str] = MappingProxyType(
    {"right/left": "x", "forward/back": "y", "up/down": "z", "x": "x", "y": "y", "z": "z"}
)
"""What the names of streams call the camera's axes: x to the right, y ahead, z up."""

Columns = dict[str, NDArray[Any]]


@dataclass
class _Series:
    """One stream over all payloads. said: the descriptive entries of the last one."""

    key: str
    said: Mapping[str, Entry] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)
    values: list[list[NDArray[Any]]] = field(default_factory=list)
    sticky: list[dict[str, float]] = field(default_factory=list)
    count: int = 0

    def add(self, said: Mapping[str, Entry], data: Entry, kinds: str, span: range) -> None:
        """Take the data of one payload, which lasts over span (ns)."""
        self.said = said
        total = _number(said.get("TSMP"))
        before = self.count if total is None else max(self.count, int(total) - data.repeat)
        self.count = before + data.repeat
        values = numbers(data, kinds, _scale(said.get("SCAL")))
        if data.repeat and (not self.values or len(values) == len(self.values[0])):
            stamp = _number(said.get("STMP"))
            stamp_ns = None if stamp is None else int(stamp) * UNIT_NS["us"]
            self.blocks.append(Block(span.start, span.stop, before, data.repeat, stamp_ns))
            self.values.append(values)
            self.sticky.append(dict(_sticky(said)))


class Telemetry:
    """Collects payloads in order of time, then makes streams of them."""

    def __init__(self) -> None:
        self._series: dict[tuple[bytes, str], _Series] = {}

    def add(self, payload: bytes, start_ns: int, end_ns: int) -> None:
        """Take a packet of a data track and when it is; one that is no GPMF is left out."""
        if not is_payload(payload):
            return
        for device in entries(payload):
            parts = list(entries(device.data))
            identity = next((part.data for part in parts if part.key == "DVID"), b"")
            for part in parts:
                if part.key == "STRM":
                    self._add(identity, list(entries(part.data)), range(start_ns, end_ns))

    def _add(self, device: bytes, parts: Sequence[Entry], span: range) -> None:
        if not parts or [part.key for part in parts].count(parts[-1].key) > 1:
            return  # several entries are lists of things seen at a time, such as faces
        *before, data = parts
        said = {part.key: part for part in before}
        kinds = fields(data, said["TYPE"].text if "TYPE" in said else "")
        if kinds:
            series = self._series.setdefault((device, data.key), _Series(data.key))
            series.add(said, data, kinds, span)

    def tables(self) -> dict[str, ArrayTable]:
        """The streams by name: their key, with a number if several devices have the same."""
        found: dict[str, ArrayTable] = {}
        known = [series for series in self._series.values() if series.blocks]
        zero_ns = _zero_stamp(known)
        for series in known:
            number = sum(table.stream.name.startswith(series.key) for table in found.values())
            name = f"{series.key}{number or ''}"
            found[name] = _table(name, series, zero_ns)
        return found


def is_payload(packet: Any) -> bool:
    """Whether a packet of a data track, or its bytes, is GPMF."""
    return bytes(memoryview(packet)[: len(MAGIC)]) == MAGIC


def _zero_stamp(known: Sequence[_Series]) -> int:
    """The stamp at which the container's clock starts: of the first exposure, else the least."""
    stamps = {s.key: s.blocks[0].stamp_ns for s in known if s.blocks[0].stamp_ns is not None}
    return stamps.get("SHUT", min(stamps.values(), default=0))


def _table(name: str, series: _Series, zero_ns: int) -> ArrayTable:
    blocks = [
        block if block.stamp_ns is None else block._replace(stamp_ns=block.stamp_ns - zero_ns)
        for block in series.blocks
    ]
    late_s = _number(series.said.get("TIMO")) or 0
    times = sample_times(blocks) - round(late_s * SECOND_NS)
    values = [np.concatenate(cells) for cells in zip(*series.values, strict=True)]
    columns, units = _described(series, values)
    counts = [block.samples for block in blocks]
    for column in dict.fromkeys(key for sticky in series.sticky for key in sticky):
        each = [sticky.get(column, np.nan) for sticky in series.sticky]
        columns.setdefault(column, np.repeat(each, counts))
    title = _text(series.said, "STNM")
    notes = (f"the camera calls it {title!r}",) if title else ()
    return array_table(name, "sensor", times, columns, codec="gpmf", units=units, notes=notes)


def _described(series: _Series, values: list[NDArray[Any]]) -> tuple[Columns, dict[str, str]]:
    """The values by the names of what they are, in x, y, z order, and their units."""
    said = series.said
    units = next((said[key].texts for key in ("SIUN", "UNIT") if key in said), [])
    units = units * len(values) if len(units) == 1 else units
    title = re.search(r"\((.*)\)", _text(said, "STNM"))
    titles = [part.strip().lower() for part in title[1].split(",")] if title else []
    axes = _text(said, "ORIN") or "".join(AXES.get(part, "") for part in titles).upper()
    names = COLUMNS.get(series.key, ())
    if sorted(axes.lower()) == ["x", "y", "z"] and len(values) == 3:
        values = [-v if axis.islower() else v for axis, v in zip(axes, values, strict=True)]
        order = np.argsort(list(axes.lower()))
        values, names = [values[i] for i in order], ("x", "y", "z")
    elif len(names) != len(values):
        plain = [series.key] if len(values) == 1 else [str(i) for i in range(len(values))]
        names = tuple(titles if len(set(titles)) == len(values) > 1 else plain)
    columns = dict(zip(names, values, strict=True))
    return columns, {name: unit for name, unit in zip(names, units, strict=False) if unit}


def _text(said: Mapping[str, Entry], key: str) -> str:
    return said[key].text if key in said else ""


def _number(entry: Entry | None) -> float | int | None:
    kinds = fields(entry) if entry is not None and entry.repeat else ""
    if entry is None or not kinds:
        return None
    value: float | int = numbers(entry, kinds)[0][0].item()
    return value


def _scale(entry: Entry | None) -> list[float]:
    kinds = fields(entry) if entry is not None and entry.repeat else ""
    if entry is None or not kinds:
        return []
    return [float(v) or 1.0 for row in zip(*numbers(entry, kinds), strict=True) for v in row]


def _sticky(said: Mapping[str, Entry]) -> Iterator[tuple[str, float]]:
    for key, column, divisor in STICKY:
        value = _number(said.get(key))
        if value is not None:
            yield column, value / divisor
