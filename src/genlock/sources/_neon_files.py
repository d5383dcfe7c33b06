"""The files of a Pupil Labs Neon recording: parts of arrays with a time for each entry.

`gaze ps1.raw` holds entries whose types `gaze.dtype` states as a NumPy dtype, `gaze ps1.time` their
int64 ns; `ps2` and on are later parts. Copies may have underscores for blanks in their names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import Nanoseconds
from genlock.errors import OpenError
from genlock.location import Location
from genlock.sources._extimu import MOTION, read_packets

Entries = NDArray[np.void]

EYE = "pupil_diameter_{0}_mm eyeball_center_{0}_x eyeball_center_{0}_y eyeball_center_{0}_z "
AXIS = "optical_axis_{0}_x optical_axis_{0}_y optical_axis_{0}_z"
OLDER: Mapping[str, list[tuple[str, str]]] = MappingProxyType(
    {
        "gaze": [("x", "float32"), ("y", "float32")],
        "worn": [("worn", "uint8")],
        "imu": [(name, "float32") for name in MOTION],
        "eye_state": [
            (name.format(side), "float32")
            for side in ("left", "right")
            for name in (EYE + AXIS).split()
        ],
    }
)
"""Entries of recordings that were made before there were .dtype files."""

_PART = re.compile(r"(.+?)(?:_ps(\d+))?(\.\w+)")


class Part(NamedTuple):
    """One part of a series: its number, and its files by suffix."""

    number: int
    files: Mapping[str, Location]


class NeonFolder:
    """A recording's files, by name with underscores for blanks."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.files = {n.replace(" ", "_"): location.child(n) for n in location.names()}

    @cached_property
    def series(self) -> dict[str, list[Part]]:
        """The parts of each series in order; the name of a lone file is a series of one part."""
        found: dict[str, dict[int, dict[str, Location]]] = {}
        for name, location in self.files.items():
            match = _PART.fullmatch(name)
            if match is not None:
                parts = found.setdefault(match[1], {})
                parts.setdefault(int(match[2] or 1), {})[match[3]] = location
        return {
            name: [Part(number, parts[number]) for number in sorted(parts)]
            for name, parts in found.items()
        }

    def tables(self) -> list[str]:
        """The series of entries. extimu is the same as imu, and is named only where that is not."""
        found = [name for name, (first, *_) in self.series.items() if ".raw" in first.files]
        return [name for name in found if name != "extimu" or "imu" not in found]

    def dtype(self, name: str) -> np.dtype[np.void]:
        """What the entries of a series are: by its own .dtype, or by that of what it is one of.

        gaze_right is one of gaze. Raises OpenError where nothing says it.
        """
        kind = name
        while kind:
            file = self.files.get(f"{kind}.dtype")
            if file is not None:
                return _read_dtype(file)
            if kind in OLDER:
                return np.dtype(OLDER[kind])
            kind = kind.rpartition("_")[0]
        raise OpenError(f"{self.location.uri}: nothing says what the entries of {name} are")

    def entries(self, name: str) -> tuple[Entries, Nanoseconds, tuple[str, ...]]:
        """All entries of a series, their times, and notes.

        Entries without a time, and times without an entry, are left out.
        """
        arrays, stamps, notes = [], [], []
        for number, part in enumerate(self.series[name]):
            times = read_times(self._clock_of(name, number))
            found = self._read(name, part.files[".raw"])
            count = min(len(times), len(found))
            if count < max(len(times), len(found)):
                file = part.files[".raw"].name
                notes.append(
                    f"{file}: {count} of {len(found)} entries, {len(times)} times are used"
                )
            arrays.append(found[:count])
            stamps.append(times[:count])
        return np.concatenate(arrays), np.concatenate(stamps), tuple(notes)

    def _read(self, name: str, location: Location) -> Entries:
        if name == "extimu":
            return read_packets(location.read())
        dtype, data = self.dtype(name), location.read()
        return np.frombuffer(data, dtype, len(data) // dtype.itemsize)

    def _clock_of(self, name: str, number: int) -> Location:
        """The times of a part; worn is stated for every gaze, without times of its own."""
        for owner in (name, name.replace("worn", "gaze")):
            parts = self.series.get(owner, [])
            if number < len(parts) and ".time" in parts[number].files:
                return parts[number].files[".time"]
        raise OpenError(f"{self.location.uri}: there are no times of {name}")


def read_times(location: Location) -> Nanoseconds:
    """The int64 ns since 1970 of a .time file."""
    data = location.read()
    return np.frombuffer(data, "<i8", len(data) // 8).astype(np.int64)


def _read_dtype(location: Location) -> np.dtype[np.void]:
    try:
        fields: Any = ast.literal_eval(location.read().decode())
        return np.dtype([(str(name), np.dtype(kind).newbyteorder("<")) for name, kind in fields])
    except (ValueError, TypeError, SyntaxError) as error:
        raise OpenError(f"{location.uri} is no list of names and types: {error}") from error
