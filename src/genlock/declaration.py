"""What a recording.toml, or a caller of `open`, declares of streams and clocks: read and checked.

`RecordingDeclaration` is a whole file, `StreamDeclaration` one `[streams.NAME]` table. The format
is written down in docs/recording-toml.md. Whatever is wrong raises LayoutError naming the file,
the stream and the key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, Literal, get_args

from genlock._checked import (
    Place,
    Reader,
    by_name,
    integer,
    mapping,
    meant,
    one_of,
    positive,
    read_table,
    several,
    table,
    text,
)
from genlock._depth_encoding import DepthEncoding
from genlock._nanoseconds import UNIT_NS
from genlock.errors import LayoutError
from genlock.stream import MODALITIES, Extrinsics, Intrinsics, Modality, Stamp

FILE_NAME = "recording.toml"
CALLER = "streams="
"""Stands for the file in messages about what the caller of `open` declares."""


@dataclass(frozen=True)
class TimeRule:
    """Where a stream's times come from: a column, the names of its files, a log, or a rate.

    path: another table that holds them, a sidecar or a listing. column, unit: of that table or
    the stream's own. from_: "name" of each file, or "log", when a recorder wrote each message.
    rate: Hz. first: number of the file at 0, for a rate. wrap: bits of a counter that overflows.
    zone: time zone of datetimes that state none.
    """

    path: str | None = None
    column: str | None = None
    unit: str | None = None
    from_: Literal["name", "log"] | None = None
    rate: Fraction | None = None
    first: int | None = None
    wrap: int | None = None
    zone: str | None = None

    def __post_init__(self) -> None:
        sources = {"column": self.column or self.path, "from": self.from_, "rate": self.rate}
        given = [key for key, value in sources.items() if value is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are alternatives: keep one")
        if self.wrap is not None and not (1 < self.wrap < 63 and self.unit):
            raise ValueError("wrap is a number of bits, 2 to 62, of a counter with a unit")


_UNIT = one_of(*UNIT_NS)
_SIDECAR: dict[str, Reader] = {
    "path": text,
    "column": text,
    "unit": _UNIT,
    "wrap": integer,
    "zone": text,
}
_TIME: dict[str, Reader] = _SIDECAR | {
    "from": one_of("name", "log"),
    "rate": positive,
    "first": integer,
}
_CALIBRATION: dict[str, Reader] = {
    "model": text,
    "size": several(Integral, int, 2),
    "focal": several(Real, float, 2),
    "center": several(Real, float, 2),
    "distortion": several(Real, float),
}
_EXTRINSICS: dict[str, Reader] = {
    "parent": text,
    "position": several(Real, float, 3),
    "quaternion": several(Real, float, 4),
}


def _frames(parent: str, child: str) -> tuple[str, str]:
    return parent, child


def _depth(value: Any, place: Place) -> str:
    try:
        return str(DepthEncoding.declared(value))
    except LayoutError as error:
        raise place.error(error.message) from error


_KEYS: dict[str, Reader] = {
    "kind": one_of(*MODALITIES),
    "path": text,
    "time": table(TimeRule, _TIME),
    "depth": _depth,
    "columns": several(str, str),
    "position": several(str, str, 3),
    "quaternion": several(str, str, 4),
    "start": text,
    "end": text,
    "value": text,
}
"""How to read a stream's files."""

_PLACING_KEYS: dict[str, Reader] = {
    "track": text,
    "zero_ns": integer,
    "times": table(TimeRule, _SIDECAR, "path"),
    "clock": text,
    "stamp": one_of(*get_args(Stamp)),
    "exposure_ns": integer,
    "frames": table(_frames, {"parent": text, "child": text}, "parent child"),
    "calibration": table(Intrinsics, _CALIBRATION, "model size focal center"),
    "extrinsics": table(Extrinsics, _EXTRINSICS, "parent"),
}
"""Where a stream stands in time and space, whatever its files are."""

_ONLY_FOR: dict[str, tuple[Modality, ...]] = {
    "depth": ("depth",),
    "columns": ("sensor", "pose", "labels"),
    "position": ("pose",),
    "quaternion": ("pose",),
    "start": ("labels",),
    "end": ("labels",),
    "value": ("labels",),
    "calibration": ("video", "depth"),
}


@dataclass(frozen=True)
class StreamDeclaration:
    """One `[streams.NAME]` table: its keys, None where they are absent.

    depth: as in `StreamInfo`. quaternion: columns in x, y, z, w order. values: the table as it
    was written.
    """

    place: Place
    kind: Modality | None = None
    path: str | None = None
    time: TimeRule = field(default_factory=TimeRule)
    depth: str | None = None
    columns: tuple[str, ...] = ()
    position: tuple[str, str, str] | None = None
    quaternion: tuple[str, str, str, str] | None = None
    start: str | None = None
    end: str | None = None
    value: str | None = None
    track: str | None = None
    zero_ns: int = 0
    times: TimeRule | None = None
    clock: str | None = None
    stamp: Stamp | None = None
    exposure_ns: int | None = None
    frames: tuple[str, str] | None = None
    calibration: Intrinsics | None = None
    extrinsics: Extrinsics | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, values: Any, file: str = CALLER) -> StreamDeclaration:
        """Read a table. Raises LayoutError."""
        place = Place(file, ("streams", name))
        found = read_table(values, _KEYS | _PLACING_KEYS, place)
        kind = found.get("kind")
        for key in found:
            if kind is not None and kind not in _ONLY_FOR.get(key, (kind,)):
                raise place.at(key).error(f"is not for a stream of kind {kind!r}")
        return cls(place, **found, values=values)

    @property
    def reading(self) -> dict[str, Any]:
        """The keys, as written, that say how to read the stream's files.

        Where a sidecar will give the times, the files' own are not looked for.
        """
        keys = {key: value for key, value in self.values.items() if key in _KEYS}
        return keys | {"time": {"rate": 1}} if self.times else keys


@dataclass(frozen=True)
class ClockDeclaration:
    """One `[clocks.NAME]` table: t_recording = offset_ns + scale * t, or a table of knots."""

    offset_ns: int = 0
    scale: Fraction = Fraction(1)
    knots: TimeRule | None = None


def _knots(value: Any, place: Place) -> Any:
    values = {"path": value} if isinstance(value, str) else value
    return table(TimeRule, {"path": text, "unit": _UNIT}, "path")(values, place)


def _clock(value: Any, place: Place) -> Any:
    readers: dict[str, Reader] = {"offset_ns": integer, "scale": positive, "knots": _knots}
    if isinstance(value, Mapping) and "knots" in value and len(value) > 1:
        raise place.error("knots stand alone: leave offset_ns and scale out")
    return table(ClockDeclaration, readers)(value, place)


@dataclass(frozen=True)
class RecordingDeclaration:
    """A whole recording.toml with the caller's tables merged over its own."""

    clock: str
    streams: Mapping[str, StreamDeclaration]
    clocks: Mapping[str, ClockDeclaration]

    @classmethod
    def read(
        cls, data: bytes, file: str, over: Mapping[str, Mapping[str, Any]]
    ) -> RecordingDeclaration:
        """Read the bytes of a recording.toml.

        file: names it in messages. over: by stream, keys that replace the file's or join them.
        Raises LayoutError.
        """
        try:
            root = tomllib.loads(data.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LayoutError(f"{file}: {error}", recording=file) from error
        readers: dict[str, Reader] = {
            "recording": table(dict, {"clock": text}),
            "streams": by_name(mapping),
            "clocks": by_name(_clock),
        }
        found = read_table(root, readers, Place(file))
        written = found.get("streams", {})
        streams = {
            name: StreamDeclaration.of(name, {**written.get(name, {}), **over.get(name, {})}, file)
            for name in dict.fromkeys((*written, *over))
        }
        clock = found.get("recording", {}).get("clock", "recording")
        declared = cls(clock, streams, found.get("clocks", {}))
        declared._check(Place(file))
        return declared

    def _check(self, place: Place) -> None:
        if not self.streams:
            raise place.error("declares no stream: add a [streams.NAME] table")
        for stream in self.streams.values():
            for key in ("kind", "path"):
                if key not in stream.values:
                    raise stream.place.error(f"needs {key!r}")
        used = {stream.clock for stream in self.streams.values() if stream.clock}
        for name in self.clocks:
            if name == self.clock:
                raise place.at("clocks", name).error("is the recording's own clock")
            if name not in used:
                hint = meant(name, used)
                raise place.at("clocks", name).error(f"no stream is on this clock{hint}")
