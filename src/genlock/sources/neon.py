"""Pupil Labs Neon recordings in the native format, as the Companion app writes them.

Every file of data has a `.time` file beside it: int64 ns since 1970, which is the one clock of all.
Format: Pupil Labs' documentation of the native recording data, and of pl-neon-recording.
docs/formats/neon.md says what becomes which stream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from genlock._nanoseconds import Nanoseconds
from genlock.errors import OpenError
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._assembled import Assembly, shifted, with_times
from genlock.sources._calibration import extrinsics
from genlock.sources._composed import Part
from genlock.sources._extimu import QUATERNION
from genlock.sources._neon_files import Entries, NeonFolder, read_times
from genlock.stream import Extrinsics, Intrinsics
from genlock.tables.names import POSE

CLOCK = "neon"
VIDEOS = {"Neon_Scene_Camera_v1": "world", "Neon_Sensor_Module_v1": "eye"}
SCENE_SIZE = (1200, 1600)
"""Height and width of the scene camera's pictures."""
EVENTS: Mapping[int, str] = {0: "saccade", 1: "fixation", 4: "blink"}
"""Names of `event_type`."""
START, END, TYPE = "start_timestamp_ns", "end_timestamp_ns", "event_type"
NO_VALUES = ("timestamp_ns", START, END, TYPE)
UNITS = (
    (r"gyro_.", "deg/s"),
    (r"accel_.", "g"),
    (r".*_mm|eyeball_center_.*", "mm"),
    (r"eyelid_angle_.*", "rad"),
    (r".*gaze_[xy]|amplitude_pixels", "px"),
    (r"amplitude_angle_deg", "deg"),
    (r"(mean|max)_velocity", "px/s"),
)
"""Units of columns by their names; gaze itself is in pixels of the scene camera."""
CALIBRATION = np.dtype(
    [("version", "u1"), ("serial", "S6")]
    + [
        (f"{camera}_{part}", "<f8", shape)
        for camera in ("scene", "right", "left")
        for part, shape in (("matrix", (3, 3)), ("distortion", 8), ("extrinsics", (4, 4)))
    ]
    + [("crc", "<u4")]
)
"""The entry of calibration.bin."""


def claims(location: Location, head: bytes) -> bool:
    """A folder with info.json and the times of Neon's first gaze, motion or scene."""
    if not location.is_folder():
        return False
    names = {name.replace(" ", "_") for name in location.names()}
    first = ("gaze_ps1.time", "imu_ps1.time", "Neon_Scene_Camera_v1_ps1.time")
    return "info.json" in names and not names.isdisjoint(first)


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> Source:
    """Open the recording; tables are read, videos' packets are listed, nothing is decoded.

    A file that is missing or damaged makes its stream one with a problem. Raises OpenError if
    nothing can be read.
    """
    folder = NeonFolder(location)
    with Assembly(location, CLOCK, options, open_child) as assembly:
        for name, stream in VIDEOS.items():
            _add_videos(assembly, folder, name, stream)
        for name in folder.tables():
            _add_series(assembly, folder, name)
        if "event" in folder.series:
            _add_events(assembly, folder.series["event"][0].files)
        return assembly.source()


def _add_series(assembly: Assembly, folder: NeonFolder, name: str) -> None:
    stream = "imu" if name == "extimu" else name
    with assembly.reading(stream, "sensor", folder.series[name][0].files[".raw"]):
        entries, ns, notes = folder.entries(name)
        fields = entries.dtype.names or ()
        if START in fields and END in fields:
            _add_intervals(assembly, stream, entries, notes)
            return
        values = [field for field in fields if field not in (*NO_VALUES, *QUATERNION)]
        _add_columns(assembly, stream, entries, ns, values, notes)
        if set(QUATERNION) <= set(fields):
            turned = (*(np.zeros(len(ns)),) * 3, *(entries[q] for q in _XYZW))
            columns = dict(zip(POSE, (a.astype(np.float64) for a in turned), strict=True))
            part = assembly.table(f"{stream}-orientation", "pose", ns, columns, codec="neon")
            note = "no position: tx, ty and tz are 0"
            assembly.add(part, quaternion="wxyz", frames=("world", stream), notes=(note,))


_XYZW = (*QUATERNION[1:], QUATERNION[0])


def _add_columns(
    assembly: Assembly,
    stream: str,
    entries: Entries,
    ns: Nanoseconds,
    fields: list[str],
    notes: tuple[str, ...],
) -> None:
    columns = {field: entries[field] for field in fields}
    part = assembly.table(stream, "sensor", ns, columns, codec="neon")
    assembly.add(part, units=_units(stream, fields), notes=notes)


def _units(stream: str, fields: list[str]) -> dict[str, str]:
    if stream in ("gaze", "gaze_200hz"):
        return dict.fromkeys(fields, "px")
    found = {f: unit for f in fields for name, unit in UNITS if re.fullmatch(name, f)}
    return {field: found[field] for field in fields if field in found}


def _add_intervals(
    assembly: Assembly, stream: str, entries: Entries, notes: tuple[str, ...]
) -> None:
    """Labels over their intervals, and what is measured of them as a sensor at their starts."""
    starts, ends = entries[START].astype(np.int64), entries[END].astype(np.int64)
    kinds = entries[TYPE].tolist() if TYPE in (entries.dtype.names or ()) else []
    texts = [EVENTS.get(kind, f"{TYPE} {kind}") for kind in kinds] or [stream] * len(starts)
    columns = {"value": np.array(texts, object)}
    part = assembly.table(stream, "labels", starts, columns, ends - starts, codec="neon")
    assembly.add(part, notes=notes)
    measured = [field for field in entries.dtype.names or () if field not in NO_VALUES]
    if measured:
        _add_columns(assembly, f"{stream}-measures", entries, starts, measured, notes)


def _add_events(assembly: Assembly, files: Mapping[str, Location]) -> None:
    with assembly.reading("events", "labels", files[".txt"]):
        ns = read_times(files[".time"])
        texts = files[".txt"].read().decode("utf-8", "replace").splitlines()
        if len(texts) != len(ns):
            raise OpenError(f"{files['.txt'].uri} has {len(texts)} events and {len(ns)} times")
        columns = {"value": np.array(texts, object)}
        part = assembly.table("events", "labels", ns, columns, np.zeros_like(ns), codec="neon")
        assembly.add(part)


def _add_videos(assembly: Assembly, folder: NeonFolder, name: str, stream: str) -> None:
    """The parts of a video, each a stream, at the times beside them; sound if there is any."""
    calibration = _calibration(folder) if stream == "world" else {}
    for number, files in folder.series.get(name, []):
        numbered = stream if number == 1 else f"{stream}-ps{number}"
        if ".mp4" not in files:
            missing = OpenError(f"{folder.location.uri}: there is no {name} ps{number}.mp4")
            assembly.add(assembly.problem(numbered, "video", missing), **calibration)
            continue
        video = assembly.track(numbered, "video", files[".mp4"], "video")
        if video.source is not None:
            with assembly.reading(numbered, "video", files[".mp4"]):
                times = read_times(files[".time"])
                assembly.add(_timed(video, times), **calibration)
                if "audio" in video.source.streams:
                    audio = numbered.replace(stream, "audio")
                    sound = assembly.track(audio, "audio", files[".mp4"], "audio")
                    assembly.add(shifted(sound, int(times[0])))


def _timed(video: Part, times: Nanoseconds) -> Part:
    """A video at the times of its .time file, which may have a few more than there are pictures."""
    rows = len(video.stream.timeline)
    if len(times) < rows:
        raise OpenError(f"there are {len(times)} times for {rows} pictures")
    return with_times(video, times[:rows])


def _calibration(folder: NeonFolder) -> dict[str, Any]:
    """The scene camera's calibration; the eye cameras' two share one video, so they have none."""
    file = folder.files.get("calibration.bin")
    data = b"" if file is None else file.read()
    if file is None or len(data) != CALIBRATION.itemsize:
        return {"notes": (f"no calibration.bin of {CALIBRATION.itemsize} bytes",)}
    entry = np.frombuffer(data, CALIBRATION)[0]
    matrix = entry["scene_matrix"]
    focal, center = (matrix[0, 0], matrix[1, 1]), (matrix[0, 2], matrix[1, 2])
    placed: Extrinsics | None = extrinsics("module", entry["scene_extrinsics"])
    model = Intrinsics(
        "pinhole",
        SCENE_SIZE,
        (float(focal[0]), float(focal[1])),
        (float(center[0]), float(center[1])),
        tuple(entry["scene_distortion"].tolist()),
    )
    return {"intrinsics": model, "extrinsics": placed}
