"""HOT3D sequences: poses of a headset, hands and objects, boxes and masks, keyed by int64 ns.

Format: the data loaders and documentation of HOT3D (Banerjee et al., 2024), github.com/
facebookresearch/hot3d. docs/formats/hot3d.md says what becomes which stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._checked import Place
from genlock._nanoseconds import Nanoseconds
from genlock.declaration import TimeRule
from genlock.errors import OpenError
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._assembled import Assembly
from genlock.tables.files import open_table
from genlock.tables.names import POSE, Column, find, pose_columns, read_columns
from genlock.tables.rows import read_stamps

CLOCK = "hot3d"
TIME = "timestamp"
KEYS = ("stream_id", "hand_index", "object_uid")
"""Columns that say what a row is about: each of their values is a stream."""
TABLES = {
    "headset_trajectory.csv": "headset",
    "dynamic_objects.csv": "object",
    "dynamic_objects_v2.csv": "object",
    "box2d_hands.csv": "box2d_hands",
    "box2d_objects.csv": "box2d_objects",
}
"""Tables and what their streams are called, to which the keys are added."""
HANDS = {
    "mano_hand_pose_trajectory.jsonl": "mano",
    "umetrack_hand_pose_trajectory.jsonl": "umetrack",
}
"""Poses of hands and what their streams are called, to which the hand is added."""
UNITS = {"visibility_ratio": "1"}
"""Units where the header is wrong: this one says %, and is 0 to 1."""
SIDES = {"0": "left", "1": "right"}
WRIST, POSITION, QUATERNION = "wrist_xform", "t_xyz", "q_wxyz"
TIME_CODE = "timecode"
"""The clock of the tables, as an Aria's VRS file calls it (AriaDataProvider.py)."""
RECORDING, METADATA, QUEST = "recording.vrs", "metadata.json", "Quest3"


def claims(location: Location, head: bytes) -> bool:
    """A folder with a HOT3D table of poses, known by its name and first line."""
    if not location.is_folder():
        return False
    names = set(location.names())
    if names.intersection(HANDS):
        return True
    known = names.intersection(("headset_trajectory.csv", "dynamic_objects.csv"))
    return any(location.child(name).head().startswith(b"object_uid,timestamp") for name in known)


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> Source:
    """Open the sequence. A damaged file is a stream with a problem, an absent one is none.

    Raises OpenError if nothing can be read.
    """
    folders = [location] + [f for f in (location.child("masks"),) if f.is_folder()]
    files = {name: folder.child(name) for folder in folders for name in folder.names()}
    with Assembly(location, CLOCK, options, open_child) as assembly:
        for name, file in files.items():
            if name in TABLES:
                _add_table(assembly, TABLES[name], file)
            elif name.startswith("mask_") and file.suffix == ".csv":
                _add_table(assembly, file.stem, file)
            elif name in HANDS:
                _add_hands(assembly, HANDS[name], file)
        if RECORDING in files:
            is_quest = _headset(files) == QUEST
            assembly.include(files[RECORDING], None if is_quest else TIME_CODE)
        return assembly.source()


def _headset(files: Mapping[str, Location]) -> str | None:
    try:
        stated = json.loads(files[METADATA].read()) if METADATA in files else {}
        return str(stated.get("headset"))
    except (ValueError, AttributeError) as error:
        raise OpenError(f"cannot read {files[METADATA].uri}: {error}") from error


def _add_table(assembly: Assembly, called: str, file: Location) -> None:
    """A table, cut into one stream for each combination of its keys."""
    with assembly.reading(called, "pose" if called in ("headset", "object") else "sensor", file):
        table = open_table(file)
        columns = read_columns(table.headers)
        place = Place(file.uri, ("streams", called, "time"))
        ns = read_stamps(file.uri, table, find(columns, TIME), TimeRule(unit="ns"), place)
        keys = [column for column in columns if column.name in KEYS and called != "headset"]
        pose = pose_columns(columns)
        chosen = {c.name: c for c in columns if c.name not in (TIME, *KEYS)}
        chosen = dict(pose.by_name) if pose else chosen
        values = dict(zip(chosen, table.values([c.index for c in chosen.values()]), strict=True))
        cells = dict(zip(keys, table.values([column.index for column in keys]), strict=True))
        for name, rows in _grouped(called, cells, len(ns)):
            kept = {column: array[rows] for column, array in values.items()}
            if pose is not None:
                poses = {column: array.astype(np.float64) for column, array in kept.items()}
                part = assembly.table(name, "pose", ns[rows], poses, codec="csv")
                assembly.add(part, quaternion=pose.stored_order, frames=("world", name))
            else:
                units = {c.name: UNITS.get(c.name, c.unit) for c in chosen.values() if c.unit}
                part = assembly.table(name, "sensor", ns[rows], kept, codec="csv", units=units)
                assembly.add(part)


def _grouped(
    called: str, keys: Mapping[Column, NDArray[Any]], count: int
) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """The rows of each combination of keys, and the name of their stream."""
    named = [
        [SIDES.get(str(v), str(v)) if key.name == "hand_index" else str(v) for v in cells.tolist()]
        for key, cells in keys.items()
    ]
    names = ["-".join((called, *row)) for row in zip(*named, strict=True)] or [called] * count
    codes = {name: code for code, name in enumerate(dict.fromkeys(names))}
    code_of_row = np.array([codes[name] for name in names], np.int64)
    for name, code in codes.items():
        yield name, code_of_row == code


def _add_hands(assembly: Assembly, called: str, file: Location) -> None:
    """Each hand's wrist as a pose, and its shape, joints and confidence as a sensor."""
    with assembly.reading(called, "pose", file):
        hands: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
        for line in filter(None, file.read().splitlines()):
            row = json.loads(line)
            for hand, values in row["hand_poses"].items():
                hands.setdefault(hand, []).append((int(row["timestamp_ns"]), values))
        for hand, rows in sorted(hands.items()):
            ns = np.array([time for time, _ in rows], np.int64)
            _add_hand(assembly, f"{called}-{SIDES.get(hand, hand)}", ns, [v for _, v in rows])


def _add_hand(
    assembly: Assembly, name: str, ns: Nanoseconds, hands: Sequence[Mapping[str, Any]]
) -> None:
    wrists = np.array([[*h[WRIST][POSITION], *h[WRIST][QUATERNION]] for h in hands], np.float64)
    poses = wrists[:, [0, 1, 2, 4, 5, 6, 3]]
    part = assembly.table(name, "pose", ns, dict(zip(POSE, poses.T, strict=True)), codec="jsonl")
    assembly.add(part, quaternion="wxyz", frames=("world", name))
    columns = {
        key: np.array([hand[key] for hand in hands], np.float64) for key in hands[0] if key != WRIST
    }
    assembly.add(assembly.table(f"{name}-joints", "sensor", ns, columns, codec="jsonl"))
