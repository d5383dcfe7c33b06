"""Results of Aria's Machine Perception Services, checked against the text of the files."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genlock.decoders.table import TableDecoder
from genlock.errors import OpenError
from genlock.interfaces import Source
from genlock.location import Location
from genlock.sources import open_source
from vrs_writer import Layout, Track, write_vrs

IMU = Layout({"capture_timestamp_ns": "int64_t", "accelerometer": "float[3]"})


@pytest.fixture(scope="module")
def results(real: Path) -> Iterator[Source]:
    with closing(open_source(Location(real / "aria-mps"))) as source:
        yield source


def text(real: Path, name: str) -> list[dict[str, str]]:
    with (real / "aria-mps" / name).open() as file:
        return list(csv.DictReader(file))


def columns(source: Source, stream: str) -> Any:
    with closing(TableDecoder(source.units(stream), source.streams[stream])) as decoder:
        return decoder.columns()


def test_a_folder_of_results_alone(results: Source) -> None:
    assert {name: s.info.modality for name, s in results.streams.items()} == {
        "mps-trajectory": "pose", "mps-gaze": "sensor", "mps-hands": "sensor",
    }  # fmt: skip
    assert {s.info.clock for s in results.streams.values()} == {results.clock} == {"device"}


def test_trajectory(results: Source, real: Path) -> None:
    rows = text(real, "closed_loop_trajectory_geo_available.csv")
    stream, held = results.streams["mps-trajectory"], columns(results, "mps-trajectory")
    assert stream.timeline.ns.tolist() == [1000 * int(r["tracking_timestamp_us"]) for r in rows]
    assert (stream.info.frames, stream.info.quaternion) == (("world", "device"), "xyzw")
    for axis in "xyz":
        assert held[f"t{axis}"].tolist() == [float(r[f"t{axis}_world_device"]) for r in rows]
    stored = np.array([[float(r[f"q{axis}_world_device"]) for axis in "xyzw"] for r in rows])
    read = np.stack([held[f"q{axis}"] for axis in "xyzw"], axis=1)
    assert read == pytest.approx(stored / np.linalg.norm(stored, axis=1, keepdims=True), abs=1e-12)


def test_gaze(results: Source, real: Path) -> None:
    rows = text(real, "generalized_eye_gaze.csv")
    stream, held = results.streams["mps-gaze"], columns(results, "mps-gaze")
    assert stream.timeline.ns.tolist() == [1000 * int(r["tracking_timestamp_us"]) for r in rows]
    assert held["pitch_rads_cpf"].tolist() == [float(r["pitch_rads_cpf"]) for r in rows]
    assert "depth_m" not in held  # empty in every row of this file
    assert stream.info.units["yaw_rads_cpf"] == "rad"


def test_a_hand_that_was_not_tracked_is_no_value(results: Source, real: Path) -> None:
    rows = text(real, "wrist_and_palm_poses_v2.csv")
    stream, held = results.streams["mps-hands"], columns(results, "mps-hands")
    right = np.array([float(r["right_tracking_confidence"]) > 0 for r in rows])
    assert right.sum() == 6
    assert np.isfinite(held["tx_right_wrist_device"]).tolist() == right.tolist()
    assert np.isnan(held["left_tracking_confidence"]).all()
    assert stream.timeline.valid is not None
    assert stream.timeline.valid.tolist() == right.tolist()
    first = int(np.flatnonzero(right)[0])
    assert held["nz_right_wrist_device"][first] == float(rows[first]["nz_right_wrist_device"])


class TestBesideARecording:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        track = Track((1202, 1), layout=IMU, flavor="device/aria").add(0, capture_timestamp_ns=9)
        write_vrs(tmp_path / "one.vrs", [track])
        return tmp_path

    def streams(self, path: Path) -> set[str]:
        with closing(open_source(Location(path))) as source:
            return set(source.streams) - {"imu-right"}

    @pytest.mark.parametrize("place", ["", "mps/slam", "MPS/trajectory", "mps_one_vrs/slam"])
    def test_in_every_place_that_tools_put_them(self, folder: Path, real: Path, place: str) -> None:
        (folder / place).mkdir(parents=True, exist_ok=True)
        name = "closed_loop_trajectory_geo_available.csv"
        shutil.copy(real / "aria-mps" / name, folder / place / "closed_loop_trajectory.csv")
        assert self.streams(folder) == self.streams(folder / "one.vrs") == {"mps-trajectory"}

    def test_of_two_recordings_each_has_its_own(self, folder: Path, real: Path) -> None:
        shutil.copy(folder / "one.vrs", folder / "two.vrs")
        shutil.copy(real / "aria-mps/generalized_eye_gaze.csv", folder / "general_eye_gaze.csv")
        own = folder / "mps_two_vrs/eye_gaze"
        own.mkdir(parents=True)
        shutil.copy(real / "aria-mps/generalized_eye_gaze.csv", own / "general_eye_gaze.csv")
        with closing(open_source(Location(folder / "one.vrs"))) as source:
            problem = source.streams["mps-gaze"].problem
            assert isinstance(problem, OpenError)
            assert "general_eye_gaze.csv" in str(problem) and "mps_one_vrs/" in str(problem)
        with closing(open_source(Location(folder / "two.vrs"))) as source:
            assert source.streams["mps-gaze"].problem is None

    def test_results_named_after_another_recording_are_not_taken(
        self, folder: Path, real: Path
    ) -> None:
        other = folder / "mps_two_vrs"
        other.mkdir()
        shutil.copy(real / "aria-mps/generalized_eye_gaze.csv", other)
        with closing(open_source(Location(folder))) as source:
            assert "mps_one_vrs/" in str(source.streams["mps-gaze"].problem)
        (folder / "one.vrs").unlink()
        with closing(open_source(Location(folder))) as source:
            assert source.streams["mps-gaze"].problem is None
        shutil.copytree(other, folder / "mps_three_vrs")
        with pytest.raises(OpenError, match="mps_three_vrs, mps_two_vrs"):
            open_source(Location(folder))

    def test_a_damaged_result_does_not_hide_the_recording(self, folder: Path) -> None:
        (folder / "open_loop_trajectory.csv").write_text("tracking_timestamp_us,tx\n1,2\n")
        with closing(open_source(Location(folder))) as source:
            problem = source.streams["mps-trajectory-open-loop"].problem
            assert "open_loop_trajectory.csv" in str(problem)
            with pytest.raises(type(problem)):
                source.units("mps-trajectory-open-loop")

    def test_speech_in_milliseconds(self, folder: Path) -> None:
        (folder / "speech.csv").write_text(
            'startTime_ms,endTime_ms,written,confidence\n1500,1750,"well, yes",0.5\n'
        )
        with closing(open_source(Location(folder))) as source:
            timeline = source.streams["speech"].timeline
            assert columns(source, "speech")["value"].tolist() == ["well, yes"]
        assert timeline.durations_ns is not None
        assert (timeline.ns.tolist(), timeline.durations_ns.tolist()) == (
            [1_500_000_000], [250_000_000],
        )  # fmt: skip


def test_other_files_named_alike_are_no_results(tmp_path: Path) -> None:
    (tmp_path / "speech.csv").write_text("start_s,end_s,written\n0,1,hello\n")
    (tmp_path / "notes.txt").write_text("hello")
    with closing(open_source(Location(tmp_path))) as source:
        assert list(source.streams) == ["speech"]
        assert source.streams["speech"].info.clock != "device"
    with pytest.raises(OpenError):
        open_source(Location(tmp_path / "absent.vrs"))
