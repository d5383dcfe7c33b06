"""Redwood RGB-D sequences: numbered pairs of pictures and depth, and trajectories of 4x4 poses.

Format: "File format" of redwood-data.org (Choi, Zhou, Koltun, CVPR 2015), as Open3D reads it.
Frames have numbers and no times: their rate is asked for, once for all streams.
docs/formats/redwood.md says what becomes which stream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS, Nanoseconds, ticks_to_ns
from genlock._rotation import from_matrices
from genlock.declaration import CALLER, StreamDeclaration
from genlock.errors import LayoutError, OpenError, TimeUnitError
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._assembled import Assembly
from genlock.stream import Modality
from genlock.tables.names import POSE

CLOCK = "redwood"
PICTURES: Mapping[str, tuple[Modality, Mapping[str, Any]]] = {
    "color": ("video", {}),
    "depth": ("depth", {"depth": {"encoding": "mm"}}),
}
"""Folders of pictures, and how their files are read."""
PAIRS, TRAJECTORY = "rgbd.match", ".log"
POSE_NUMBERS = 3 + 16
"""Numbers of one pose in a trajectory: three of the frame, then a 4x4 matrix in rows."""

_NUMBER = re.compile(r"(\d{1,9})\.\w+")


def claims(location: Location, head: bytes) -> bool:
    """A folder with the folders color and depth, both of files with numbers for names."""
    return location.is_folder() and all(_numbered(location, name) for name in PICTURES)


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> Source:
    """Open the sequence; only trajectories and the first pictures' headers are read.

    options.streams: any stream's time = { rate = … } is the rate of all. Without it every stream is
    listed with a TimeUnitError as its problem. Raises OpenError if nothing can be read.
    """
    rate, options = _take_rate(location, options)
    frames = _Frames(location, rate, *_pairs(location))
    with Assembly(location, CLOCK, options, open_child) as assembly:
        for name, (modality, reading) in PICTURES.items():
            files, numbers = frames.pairs[name]
            times = {} if rate is None else {"time": {"ns": frames.times(numbers)}}
            part = assembly.file(name, modality, location, {**reading, "files": files, **times})
            assembly.add(part, **frames.stated(name))
        for file in location.names():
            if file.endswith(TRAJECTORY):
                _add_trajectory(assembly, location.child(file), frames)
        return assembly.source()


Numbered = tuple[Sequence[str], NDArray[np.int64]]


@dataclass(frozen=True)
class _Frames:
    """The frames of a sequence.

    pairs: files by folder, with each one's frame counted from the first. first: its number.
    """

    location: Location
    rate: Fraction | None
    pairs: Mapping[str, Numbered]
    first: int

    def times(self, numbers: NDArray[np.int64]) -> Nanoseconds:
        """Times of frames, the first being at 0; all 0 without a rate."""
        return ticks_to_ns(numbers, SECOND_NS / self.rate if self.rate else Fraction(0))

    def stated(self, name: str) -> dict[str, Any]:
        """What every stream says of its times: the rate, or a problem with what to add."""
        if self.rate is not None:
            return {"rate": float(self.rate)}
        line = f'streams={{"{name}": {{"time": {{"rate": 30}}}}}}'
        problem = TimeUnitError(
            f"{self.location.uri}: frames have numbers and no times. State their rate, on one "
            f"stream for all: gl.open(…, {line}), with the number that is right",
            recording=self.location.uri,
            stream=name,
        )
        return {"problem": problem}


def _take_rate(location: Location, options: OpenOptions) -> tuple[Fraction | None, OpenOptions]:
    """The rate that the caller declares, and the options without it."""
    rates, streams = set(), {}
    for name, values in options.streams.items():
        rate = StreamDeclaration.of(name, values, CALLER).time.rate
        if rate is not None:
            rates.add(rate)
            values = {key: value for key, value in values.items() if key != "time"}
        streams[name] = values
    if len(rates) > 1:
        raise LayoutError(f"{location.uri}: color and depth are pairs, so they have one rate")
    return next(iter(rates), None), replace(options, streams=streams)


def _numbered(location: Location, folder: str) -> dict[str, int]:
    """The files of a folder whose names are numbers."""
    place = location.child(folder)
    names = place.names() if place.is_folder() else []
    found = ((name, _NUMBER.fullmatch(name)) for name in names)
    return {f"{folder}/{name}": int(match[1]) for name, match in found if match}


def _pairs(location: Location) -> tuple[dict[str, Numbered], int]:
    """The frames by rgbd.match, else by the files' names, and the number of the first."""
    match = location.child(PAIRS)
    if match.exists():
        lines = [line.split() for line in match.read().decode("utf-8", "replace").splitlines()]
        listed = {
            folder: [name for line in lines for name in line if name.startswith(f"{folder}/")]
            for folder in PICTURES
        }
        if len({len(files) for files in listed.values()}) > 1:
            raise OpenError(f"{match.uri} does not name a picture of color and of depth per line")
        return {folder: (files, np.arange(len(files))) for folder, files in listed.items()}, 0
    named = {folder: _numbered(location, folder) for folder in PICTURES}
    first = min(number for files in named.values() for number in files.values())
    ordered = {folder: sorted(files, key=files.__getitem__) for folder, files in named.items()}
    counted: dict[str, Numbered] = {
        folder: (files, np.array([named[folder][file] for file in files], np.int64) - first)
        for folder, files in ordered.items()
    }
    return counted, first


def _add_trajectory(assembly: Assembly, file: Location, frames: _Frames) -> None:
    """Poses that take points of the camera to the world, as T_world_camera."""
    with assembly.reading(file.stem, "pose", file):
        values = np.array(file.read().split(), np.float64).reshape(-1, POSE_NUMBERS)
        transforms = values[:, 3:].reshape(-1, 4, 4)
        poses = np.concatenate([transforms[:, :3, 3], from_matrices(transforms[:, :3, :3])], axis=1)
        columns = dict(zip(POSE, poses.T, strict=True))
        numbers = values[:, 0].astype(np.int64)
        if len(numbers) and numbers[0] >= frames.first:  # else poses count from 0, files do not
            numbers -= frames.first
        part = assembly.table(file.stem, "pose", frames.times(numbers), columns, codec="log")
        assembly.add(part, frames=("world", "camera"), **frames.stated(file.stem))
