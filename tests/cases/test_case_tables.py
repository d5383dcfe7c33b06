"""The shared cases of tables: exact times, dialects, gaps, poses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl

MS = 1_000_000


def open_table(path: Path, **options: Any) -> tuple[gl.Recording, str]:
    recording = gl.open(path, **options)
    (name,) = recording.streams
    return recording, name


@pytest.mark.case("S01")
def test_ns_never_pass_through_a_float(inputs: Path) -> None:
    recording, name = open_table(inputs / "s01_ns_int64.csv")
    with recording:
        expected = 1_700_000_000_123_456_789 + 5_000_001 * np.arange(40)
        assert recording.streams[name].timeline.ns.tolist() == expected.tolist()
        assert expected[-1] == 1_700_000_000_318_456_828
        sample = recording.read({"x": gl.Sensor(name)}, int(expected[0]), 1)
        assert sample.times["x"].tolist() == expected.tolist()
        assert np.allclose(sample["x"][:, 0], np.arange(40) * 0.01)


@pytest.mark.case("S04")
def test_duplicates_and_backward_steps(inputs: Path) -> None:
    recording, name = open_table(inputs / "s04_dup_backward.csv")
    with recording:
        stream = recording.streams[name]
        ns = stream.timeline.ns
        assert (len(ns), len(np.unique(ns))) == (13, 10)
        assert (np.diff(ns) >= 0).all()
        assert stream.info.report.ties == 3 and stream.info.report.reordered > 0
        field = gl.Sensor(name, offsets=[0], dtype="float64")
        sample = recording.read({"x": field}, 1_022 * MS, 1)
        assert sample["x"][0, 0] == pytest.approx(5.8) and sample.mask["x"].all()
        everywhere = recording.read({"x": gl.Sensor(name, rate=1_000)}, 990 * MS, 0.1)
        assert np.isfinite(everywhere["x"]).all()


@pytest.mark.case("S05")
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_are_stated_or_asked_for(inputs: Path, unit: str) -> None:
    path = inputs / f"s05_unit_{unit}.csv"
    recording, name = open_table(path, unit=unit)
    with recording:
        ns = recording.streams[name].timeline.ns
        assert ns[10] == 1_700_000_000_050_000_000
        sample = recording.read({"x": gl.Sensor(name, offsets=[0])}, int(ns[10]), 1)
        assert sample["x"].tolist() == [[10.0]]
    recording, name = open_table(path)
    with recording:
        with pytest.raises(gl.TimeUnitError, match=path.name) as raised:
            recording.read({"x": gl.Sensor(name)}, 0, 1)
        assert 'time = { column = "timestamp", unit = "ns" }' in str(raised.value)
        with pytest.raises(gl.GenlockError):
            gl.Windows(recording, duration=0.01)


@pytest.mark.case("S07")
def test_late_start_and_early_end(inputs: Path) -> None:
    recording, name = open_table(inputs / "s07_starts_late.csv")
    with recording:
        sample = recording.read({"x": gl.Sensor(name, offsets=[0.0, 1.5, 0.5])}, 0, 1)
        assert sample.mask["x"].tolist() == [False, False, True]
        assert sample["x"][:, 0].tolist() == [0.0, 0.0, 15.0]


@pytest.mark.case("S09")
@pytest.mark.parametrize(
    ("file", "order"), [("s09_pose_xyzw.csv", "xyzw"), ("s09b_pose_wxyz.csv", "wxyz")]
)
def test_quaternions_in_either_order(inputs: Path, file: str, order: str) -> None:
    recording, name = open_table(inputs / file)
    with recording:
        assert recording.streams[name].info.quaternion == order
        field = gl.Pose(name, offsets=[0.25], dtype="float64")
        (pose,) = recording.read({"x": field}, 0, 1)["x"]
        assert pose == pytest.approx([0, 0, 0, 0.130526192, 0, 0, 0.991444861], abs=1e-6)


@pytest.mark.case("S10")
def test_quaternions_whose_sign_flips(inputs: Path) -> None:
    recording, name = open_table(inputs / "s10_pose_signflip.csv")
    with recording:
        field = gl.Pose(name, offsets=[0.05], dtype="float64")
        (pose,) = recording.read({"x": field}, 0, 1)["x"]
        quaternion = pose[3:] * np.sign(pose[6])
        assert quaternion == pytest.approx([0.095845753, 0, 0, 0.995396198], abs=1e-6)
        assert np.linalg.norm(quaternion) == pytest.approx(1, abs=1e-12)


@pytest.mark.case("S12")
@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("s12_bom_crlf.csv", 10),
        ("s12b_semicolon_decimalcomma.csv", 10),
        ("s12c_hash_header_cr.csv", 10),
        ("s12d_no_final_newline_blank_lines.csv", 6),
    ],
)
def test_dialects(inputs: Path, file: str, rows: int) -> None:
    recording, name = open_table(inputs / file, unit="ns")
    with recording:
        stream = recording.streams[name]
        assert len(stream.timeline) == rows
        start_ns = int(stream.timeline.ns[0])
        assert start_ns == 1_403_636_579_758_555_392
        sample = recording.read({"x": gl.Sensor(name)}, start_ns, 1)
        assert sample["x"][5].tolist() == [0.5, -1.0]
        assert "column 'timestamp'" in " ".join(stream.info.report.notes)


@pytest.mark.case("S14")
def test_rows_that_are_not_numbers(inputs: Path) -> None:
    recording, name = open_table(inputs / "s14_gaze_nan.csv")
    with recording:
        native = recording.read({"x": gl.Sensor(name)}, 0, 1)
        assert native.mask["x"].sum() == 94 and len(native.mask["x"]) == 100
        assert np.isfinite(native["x"]).all()
        narrow = gl.Sensor(name, offsets=[0.30, 0.205], max_gap=0.02)
        sample = recording.read({"x": narrow}, 0, 1)
        assert sample.mask["x"].tolist() == [True, False]
        assert sample["x"][:, 0].tolist() == [30.0, 0.0]
        wide = gl.Sensor(name, offsets=[0.205], max_gap=0.04)
        assert recording.read({"x": wide}, 0, 1)["x"][0, 0] == pytest.approx(20.5)
        default = recording.read({"x": gl.Sensor(name, offsets=[0.205])}, 0, 1)
        assert default.mask["x"].tolist() == [False]


@pytest.mark.case("S17")
def test_a_ragged_row(inputs: Path) -> None:
    path = inputs / "s17_ragged.csv"
    with pytest.raises(gl.OpenError, match="line 7") as raised:
        gl.open(path)
    assert path.name in str(raised.value)
