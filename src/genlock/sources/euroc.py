"""EuRoC / ASL data sets: a folder `mav0` with one folder for each sensor.

Format: Burri et al., "The EuRoC micro aerial vehicle datasets", IJRR 2016, and the supplement on
the ASL dataset format. Every sensor folder holds `data.csv`, whose first column is int64 ns on one
clock, and `sensor.yaml`. docs/formats/euroc.md says what becomes which stream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from genlock._checked import Place
from genlock.declaration import TimeRule
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._assembled import Assembly
from genlock.sources._calibration import extrinsics
from genlock.stream import Intrinsics, Modality
from genlock.tables.files import Table, open_table
from genlock.tables.names import pose_columns, read_columns
from genlock.tables.rows import read_stamps

CLOCK = "euroc"
TOP, DATA, SENSOR = "mav0", "data.csv", "sensor.yaml"
MODELS = {"radial-tangential": "pinhole", "radtan": "pinhole", "equidistant": "kannala-brandt"}
"""Distortion models of a pinhole camera, by the names that `Intrinsics` uses."""

_SENSORS = re.compile(r"(cam|imu|leica|vicon|mocap|gps|state_groundtruth_estimate)\d+")


def claims(location: Location, head: bytes) -> bool:
    """A folder `mav0`, or the folder above it; by its sensors' folders, not by its name."""
    return location.is_folder() and bool(_sensors(_root(location)))


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> Source:
    """Open the recording; only tables and the first picture's header are read.

    A sensor whose files are missing or unreadable is listed with a problem. Raises OpenError if
    none can be read.
    """
    root = _root(location)
    with Assembly(location, CLOCK, options, open_child) as assembly:
        for name in _sensors(root):
            _Sensor(assembly, root.child(name)).add()
        return assembly.source()


def _root(location: Location) -> Location:
    inside = location.child(TOP)
    return inside if inside.is_folder() else location


def _sensors(root: Location) -> list[str]:
    """The folders of sensors; none unless one of them has a table."""
    names = [name for name in root.names() if _SENSORS.fullmatch(name)]
    return names if any(root.child(f"{name}/{DATA}").exists() for name in names) else []


class _Sensor:
    """One sensor's folder, to become one stream, or two."""

    def __init__(self, assembly: Assembly, folder: Location) -> None:
        self._assembly = assembly
        self._name = folder.name
        self._pictures = folder.child("data")
        self._csv = folder.child(DATA)
        self._calibration = _read_calibration(folder.child(SENSOR))

    def add(self) -> None:
        """Add the streams to the assembly."""
        modality: Modality = "sensor"
        if self._name.startswith(("cam", "state")):
            modality = "video" if self._name.startswith("cam") else "pose"
        with self._assembly.reading(self._name, modality, self._csv):
            table = open_table(self._csv, self._assembly.declared(self._name).get("columns", ()))
            if modality == "video":
                self._add_pictures(table)
            else:
                self._add_table(table)

    def _add_pictures(self, table: Table) -> None:
        time, *others = read_columns(table.headers)
        place = Place(self._csv.uri, ("streams", self._name, "time"))
        stamps = read_stamps(self._csv.uri, table, time, TimeRule(unit="ns"), place)
        files = [f"{stamp}.png" for stamp in stamps.tolist()]
        if others:
            named = table.values([others[0].index])[0].tolist()
            files = [str(name or file) for name, file in zip(named, files, strict=True)]
        reading = {"files": files, "time": {"ns": stamps}}
        part = self._assembly.file(self._name, "video", self._pictures, reading)
        self._assembly.add(part, stamp="mid", **self._calibration)

    def _add_table(self, table: Table) -> None:
        time, *others = read_columns(table.headers)
        reading = {"time": {"column": time.name, "unit": "ns"}}
        pose = pose_columns(others)
        if pose is None:
            self._add_columns(self._name, "sensor", reading)
            return
        self._add_columns(self._name, "pose", reading)
        used = (*pose.position, *pose.quaternion)
        rest = [column.name for column in others if column not in used]
        if rest:
            self._add_columns(f"{self._name}-state", "sensor", {**reading, "columns": rest})

    def _add_columns(self, name: str, modality: Modality, reading: Mapping[str, Any]) -> None:
        part = self._assembly.file(name, modality, self._csv, reading)
        self._assembly.add(part, **{**self._calibration, "intrinsics": None})


def _read_calibration(location: Location) -> dict[str, Any]:
    """What a sensor.yaml states of its streams; a note where there is none that can be read."""
    if not location.exists():
        return {"notes": (f"no calibration: there is no {location.uri}",)}
    try:
        sensor = _read_yaml(location)
        rate, matrix = sensor.get("rate_hz"), sensor.get("T_BS")
        return {
            "rate": rate and float(rate),
            "intrinsics": _intrinsics(sensor),
            "extrinsics": matrix and extrinsics("body", matrix["data"]),
        }
    except (yaml.YAMLError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        return {"notes": (f"no calibration: {location.uri} cannot be read ({reason})",)}


def _read_yaml(location: Location) -> Any:
    """OpenCV writes "%YAML:1.0" where YAML has "%YAML 1.0", and has tags of its own."""
    text = location.read().decode("utf-8", "replace")
    return yaml.safe_load(re.sub(r"^%YAML:.*$|!!opencv-\w+", "", text, flags=re.MULTILINE))


def _intrinsics(sensor: Mapping[str, Any]) -> Intrinsics | None:
    """The camera model; None for one that is no pinhole with a known distortion."""
    model = MODELS.get(str(sensor.get("distortion_model")))
    if sensor.get("camera_model") != "pinhole" or model is None:
        return None
    fx, fy, cx, cy = map(float, sensor["intrinsics"])
    width, height = map(int, sensor["resolution"])
    distortion = tuple(map(float, sensor["distortion_coefficients"]))
    return Intrinsics(model, (height, width), (fx, fy), (cx, cy), distortion)
