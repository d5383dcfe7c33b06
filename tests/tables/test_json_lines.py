"""JSON lines as tables, against what is written into them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl
from genlock.location import Location
from genlock.tables.files import open_table

EPOCH = 1_403_715_273_262_142_977
"""Nanoseconds that a float64 cannot hold."""


def write(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows) + "\n")
    return path


def columns(path: Path) -> Mapping[str, Any]:
    table = open_table(Location(path))
    values = table.values(range(len(table.headers)))
    return {name: array.tolist() for name, array in zip(table.headers, values, strict=True)}


def test_everything_inside_becomes_a_column(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl",
        {"t_ns": EPOCH, "hand": {"left": {"ok": True, "grip": 1}}, "v": [1, 2.5], "name": "a"},
        "",
        {"t_ns": EPOCH + 1, "hand": {"left": {"ok": False, "grip": 2}}, "v": [3, 4], "name": "b"},
    )
    assert columns(path) == {
        "t_ns": [EPOCH, EPOCH + 1],
        "hand.left.ok": [True, False],
        "hand.left.grip": [1, 2],
        "v.0": [1, 3],
        "v.1": [2.5, 4],
        "name": ["a", "b"],
    }


def test_what_a_row_does_not_say_is_no_value(tmp_path: Path) -> None:
    rows = ({"t": 1, "a": 1}, {"t": 2, "b": [0.5]}, {"t": 3, "a": None, "b": [1, 2]})
    found = columns(write(tmp_path / "a.jsonl", *rows))
    np.testing.assert_array_equal(found["a"], [1, np.nan, np.nan])
    np.testing.assert_array_equal(found["b.0"], [np.nan, 0.5, 1])
    np.testing.assert_array_equal(found["b.1"], [np.nan, np.nan, 2])


@pytest.mark.parametrize(
    "row",
    [
        {"position": {"x": 1, "y": 2, "z": 3}, "rotation": {"x": 0, "y": 0, "z": 0.6, "w": 0.8}},
        {"t_xyz": [1, 2, 3], "q_wxyz": [0.8, 0, 0, 0.6]},
        {"q_xyzw": [0, 0, 0.6, 0.8], "t_xyz": [1, 2, 3]},
        {"tx": 1, "ty": 2, "tz": 3, "qw": 0.8, "qx": 0, "qy": 0, "qz": 0.6},
    ],
)
def test_poses_by_names_whatever_their_order(tmp_path: Path, row: dict[str, Any]) -> None:
    path = write(tmp_path / "head.jsonl", *({"timestamp_ns": EPOCH + k, **row} for k in range(3)))
    with gl.open(path) as recording:
        stream = recording.streams["head"]
        assert (stream.info.modality, stream.info.codec) == ("pose", "jsonl")
        assert stream.timeline.ns.tolist() == [EPOCH, EPOCH + 1, EPOCH + 2]
        sample = recording.read({"pose": gl.Pose("head")}, EPOCH, 3e-9)
    np.testing.assert_allclose(sample["pose"], [[1, 2, 3, 0, 0, 0.6, 0.8]] * 3)


def test_real_times_lose_no_digit(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", *(f'{{"time_s": 1403715273.26214{k}977, "v": {k}}}' for k in "27")
    )
    with gl.open(path) as recording:
        expected = [1_403_715_273_262_142_977, 1_403_715_273_262_147_977]
        assert recording.streams["a"].timeline.ns.tolist() == expected


def test_a_folder_and_a_recording_toml_take_them_as_csv(tmp_path: Path) -> None:
    rows = [{"t_ms": 10 * k, "a": {"x": k, "y": -k}, "mode": "rest"} for k in range(5)]
    write(tmp_path / "sense.jsonl", *rows)
    events = [
        {"start_ms": 0, "end_ms": 20, "what": "reach"},
        {"start_ms": 20, "end_ms": 40, "what": "grasp"},
    ]
    write(tmp_path / "events.ndjson", *events)
    with gl.open(tmp_path) as recording:
        assert recording.streams["sense"].timeline.ns.tolist() == [k * 10_000_000 for k in range(5)]
        assert recording.streams["events"].info.modality == "labels"
    (tmp_path / "recording.toml").write_text(
        '[streams.imu]\nkind = "sensor"\npath = "sense.jsonl"\n'
        'time = { column = "t_ms", unit = "ms" }\ncolumns = ["a.y", "a.x"]\n'
        '[streams.did]\nkind = "labels"\npath = "events.ndjson"\n'
    )
    fields = {"imu": gl.Sensor("imu"), "did": gl.Labels("did")}
    with gl.open(tmp_path) as recording:
        sample = recording.read(fields, 0, 0.03)
    assert sample["imu"].tolist() == [[-k, k] for k in range(3)]
    assert sample["did"] == [(0, 20_000_000, "reach"), (20_000_000, 40_000_000, "grasp")]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (('{"t": 1}', '{"t": '), "line 2 is no JSON"),
        (('{"t": 1}', "[1, 2]"), "line 2 holds no JSON object"),
        (('{"t": 1}', "\xff"), "line 2 is no JSON"),
    ],
)
def test_damage_names_its_line(tmp_path: Path, lines: tuple[str, ...], why: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes("\n".join(lines).encode("latin-1"))
    with pytest.raises(gl.OpenError, match=why):
        gl.open(path)


def test_depth_and_keys_without_end_are_refused(tmp_path: Path) -> None:
    deep = write(tmp_path / "deep.jsonl", '{"a":' * 100_000)
    with pytest.raises(gl.OpenError, match=r"deep.jsonl"):
        gl.open(deep)
    wide = write(tmp_path / "wide.jsonl", *({f"k{k}": 1} for k in range(3000)))
    with pytest.raises(gl.OpenError, match="nearly all of them once"):
        gl.open(wide)


def test_numbers_beyond_int64_are_real(tmp_path: Path) -> None:
    lines = (f'{{"a": {value}}}' for value in (2**63 - 1, -(2**63) + 1))
    assert columns(write(tmp_path / "a.jsonl", *lines)) == {"a": [2**63 - 1, -(2**63) + 1]}
    lines = (f'{{"a": {value}}}' for value in (1, 2**63, 10**400, "NaN", "-Infinity"))
    found = columns(write(tmp_path / "b.jsonl", *lines))["a"]
    np.testing.assert_array_equal(found, [1, 2.0**63, np.inf, np.nan, -np.inf])


def test_a_time_without_a_unit_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"t": 1, "v": 2}, {"t": 2, "v": 3})
    with gl.open(path) as recording:
        assert isinstance(recording.streams["a"].problem, gl.TimeUnitError)
    with gl.open(path, unit="ms") as recording:
        assert recording.streams["a"].timeline.ns.tolist() == [1_000_000, 2_000_000]
