"""Results of Project Aria's Machine Perception Services: CSV files beside a recording.

Times are microseconds on the glasses' clock (speech: nanoseconds or milliseconds, as its header
says). Poses are T_world_device, in metres, with the quaternion in x, y, z, w. Point clouds are
left out, since they are no series in time.
Source: core/mps of github.com/facebookresearch/projectaria_tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock.declaration import StreamDeclaration
from genlock.errors import GenlockError, OpenError, error_context
from genlock.interfaces import CodecSpec, Units
from genlock.location import Location
from genlock.sources._aria_folder import listed, own_folder
from genlock.sources._vrs_track import Track
from genlock.stream import Stream, StreamInfo
from genlock.tables.files import open_table
from genlock.tables.series import Arrays, Series
from genlock.timeline import Timeline

CLOCK = "device"
TIME = {"column": "tracking_timestamp_us", "unit": "us"}
SIDES = ("left", "right")


def _pose(parent: str) -> dict[str, Any]:
    return {
        "kind": "pose",
        "time": TIME,
        "position": [f"t{axis}_{parent}_device" for axis in "xyz"],
        "quaternion": [f"q{axis}_{parent}_device" for axis in "xyzw"],
    }


@dataclass(frozen=True)
class Result:
    """A kind of result. stem: matches file names without their suffix. declared: how to read it,
    as in a recording.toml. frames: (parent, child) of a pose. hands: whether it has both."""

    name: str
    stem: str
    declared: Mapping[str, Any] = field(default_factory=lambda: {"kind": "sensor", "time": TIME})
    frames: tuple[str, str] | None = None
    hands: bool = False


SPEECH = Result("speech", "speech", {"kind": "labels", "value": "written"})
RESULTS = (
    Result(
        "mps-trajectory",
        "closed_loop_trajectory.*|aria_trajectory",
        _pose("world"),
        ("world", "device"),
    ),
    Result(
        "mps-trajectory-open-loop",
        "open_loop_trajectory.*",
        _pose("odometry"),
        ("odometry", "device"),
    ),
    Result("mps-gaze", "general(ized)?_eye_gaze|eyegaze"),
    Result("mps-gaze-personalized", "(personalized|calibrated)_eye_gaze"),
    Result("mps-hands", "wrist_and_palm_poses.*", hands=True),
    Result("mps-hand-landmarks", "hand_tracking_results.*", hands=True),
    SPEECH,
)
PARTS = ("slam", "trajectory", "eye_gaze", "hand_tracking")
"""Folders that results are in."""


def holds_results(folders: Iterable[Location]) -> bool:
    """Whether results of the glasses' sensors are in these folders: speech alone may be any."""
    return any(_result(location.name) != SPEECH for location in _files(folders))


def _result(name: str) -> Result | None:
    stem, _, suffix = name.rpartition(".")
    if suffix.lower() != "csv":
        return None
    return next((result for result in RESULTS if re.fullmatch(result.stem, stem)), None)


def result_tracks(folders: Iterable[Location]) -> dict[str, Track]:
    """Streams of the results in these folders and their parts; the first of a kind counts."""
    tracks: dict[str, Track] = {}
    for location in _files(folders):
        result = _result(location.name)
        if result is not None and result.name not in tracks:
            tracks[result.name] = _track(location, result)
    return tracks


def doubtful_tracks(folders: Iterable[Location], recording: Location) -> dict[str, Track]:
    """The results of which it is not known that they belong to the recording: each a problem."""
    tracks: dict[str, Track] = {}
    for location in _files(folders):
        result = _result(location.name)
        assert result is not None
        problem = OpenError(
            f"nothing says that {location.uri} is of {recording.name}: if it is, move it into "
            f"{own_folder(recording)}/ beside the recording",
            recording=location.uri,
            stream=result.name,
        )
        tracks.setdefault(result.name, _failed(result, problem))
    return tracks


def _files(folders: Iterable[Location]) -> Iterator[Location]:
    for folder in folders:
        names = listed(folder)
        yield from (folder.child(name) for name in names if _result(name))
        for part in (folder.child(name) for name in names if name in PARTS):
            yield from (part.child(name) for name in listed(part) if _result(name))


def _track(location: Location, result: Result) -> Track:
    """One result as a stream; with a problem if its file cannot be read."""
    try:
        with error_context(location.uri, result.name):
            declared = StreamDeclaration.of(result.name, result.declared, location.uri)
            series = Series(location.uri, result.name, open_table(location), declared)
            units = ResultUnits(series, result)
            return Track(_described(series, result, units), lambda: units)
    except GenlockError as error:
        return _failed(result, error)


def _failed(result: Result, problem: GenlockError) -> Track:
    info = StreamInfo(result.declared["kind"], "columns", clock=CLOCK)
    stream = Stream(result.name, info, Timeline([]), problem=problem)
    return Track(stream, partial(_failing, problem))


def _failing(problem: GenlockError) -> Units:
    raise problem


def _described(series: Series, result: Result, units: ResultUnits) -> Stream:
    stream, report = series.stream, series.stream.info.report
    info = replace(stream.info, clock=CLOCK, frames=result.frames)
    if units.empty:
        report = report.noting(f"left out, since no row has them: {', '.join(units.empty)}")
    if info.modality == "sensor":
        columns = tuple(name for name in info.columns if name not in units.empty)
        info = replace(info, columns=columns, shape=(len(columns),), report=report)
    info = replace(info, units={name: unit for name in info.columns if (unit := _unit(name))})
    timeline = stream.timeline
    if result.hands and stream.problem is None:
        arrays = units.unit(0)
        tracked = [np.isfinite(arrays[f"{side}_tracking_confidence"]) for side in SIDES]
        timeline = Timeline(timeline.ns.copy(), valid=np.logical_or(*tracked))
    return replace(stream, info=info, timeline=timeline)


def _unit(column: str) -> str:
    if "_rads_" in column:
        return "rad"
    return "m" if column.endswith("_m") or re.match("t[xyz](_|$)", column) else ""


class ResultUnits:
    """The one unit of a result: its columns. A hand that was not tracked is NaN. Thread-safe.

    empty: columns that no row has a value in; they are left out.
    """

    def __init__(self, series: Series, result: Result) -> None:
        self._series = series
        self._hands = result.hands
        self.spec = CodecSpec("columns", series.stream.info.codec)
        numbers = result.declared["kind"] == "sensor" and series.stream.problem is None
        arrays = series.arrays() if numbers else {}
        self.empty = tuple(name for name, values in arrays.items() if np.isnan(values).all())

    def unit(self, index: int) -> Arrays:
        """Raises the stream's problem, DecodeError."""
        held = self._series.arrays()
        arrays = {name: values for name, values in held.items() if name not in self.empty}
        if not self._hands:
            return arrays
        masked = dict(arrays)
        for side in SIDES:
            own = [name for name in arrays if re.search(f"(^|_){side}_", name)]
            lost = _lost(arrays, own, f"{side}_tracking_confidence")
            for name in own:
                masked[name] = np.where(lost, np.nan, arrays[name])
                masked[name].flags.writeable = False
        return masked

    def units(self, first: int) -> Iterator[tuple[int, Arrays]]:
        yield 0, self.unit(0)

    def close(self) -> None:
        """There is nothing to release: the source holds the columns."""


def _lost(arrays: Arrays, own: list[str], confidence: str) -> NDArray[np.bool_]:
    """Rows without that hand: of confidence -1, or with a wrist at the very origin, since in
    files of version 2 rows without a hand have their -1 in another column than the header says.
    """
    wrist = [arrays[name] == 0 for name in own if re.fullmatch("t[xyz]_.*wrist.*", name)]
    lost: NDArray[np.bool_] = (arrays[confidence] < 0) | (bool(wrist) & np.all(wrist, axis=0))
    return lost
