"""Each check speaks on a recording made to trigger it, names the place, and is quiet otherwise."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from damage import change_csv, change_parquet, copy_of, replace_text, scale_columns

import genlock as gl
from genlock import doctor, samples
from genlock.doctor import Finding


def findings(path: Path, check: str, decode: doctor.Decode = "none") -> list[Finding]:
    found = doctor.check_path(path, decode)
    assert all(finding.recording == str(path) for finding in found)
    return [finding for finding in found if finding.check == check]


def only(path: Path, check: str, decode: doctor.Decode = "none") -> Finding:
    (finding,) = findings(path, check, decode)
    return finding


@pytest.fixture
def damaged(sample: Path, tmp_path: Path) -> Path:
    return copy_of(sample, tmp_path)


@pytest.mark.parametrize("decode", ["none", "sample", "all"])
def test_the_sample_is_sound(sample: Path, decode: doctor.Decode) -> None:
    (note,) = doctor.check_path(sample, decode)
    stamps = samples.stamps_ns("gaze")
    blinks = samples.blinking(samples.seconds_after_zero(stamps))
    assert (note.check, note.severity, note.stream) == ("invalid-rows", "note", "gaze")
    assert (note.count, note.time_ns) == (blinks.sum(), stamps[np.argmax(blinks)])


def test_what_cannot_be_opened_is_a_finding(tmp_path: Path) -> None:
    finding = only(tmp_path / "absent.mp4", "open")
    assert finding.severity == "error"
    assert "does not exist" in finding.problem


def test_lost_rows_are_counted_where_they_are(damaged: Path) -> None:
    stamps = samples.stamps_ns("gaze")
    change_csv(damaged / "gaze.csv", lambda rows: rows[:100] + rows[101:300] + rows[302:])
    finding = only(damaged, "lost-rows")
    assert (finding.stream, finding.count, finding.time_ns) == ("gaze", 3, stamps[99])
    assert not findings(damaged, "gaps")


def test_gaps_say_how_long_they_are(damaged: Path) -> None:
    stamps = samples.stamps_ns("gaze")
    change_csv(damaged / "gaze.csv", lambda rows: rows[:100] + rows[160:])
    finding = only(damaged, "gaps")
    assert (finding.stream, finding.count, finding.time_ns) == ("gaze", 1, stamps[99])
    assert f"{(stamps[160] - stamps[99]) / 1e9:.3f} s" in finding.problem
    assert not findings(damaged, "lost-rows")


def test_holes_in_sound(real: Path) -> None:
    assert not findings(real / "audio" / "sine_mono_u8.wav", "gaps")
    with gl.open(real / "audio" / "bear_vorbis_gap.ogg") as recording:
        stream = recording.streams["audio"]
    holed = gl.Stream("audio", stream.info, _with_hole(stream.timeline, 4800, 9600))
    (finding,) = doctor.times.holes(holed)
    assert finding.time_ns == stream.timeline.start_ns + 100_000_000
    assert "1 hole in the sound, 0.100 s" in finding.problem


def _with_hole(timeline: gl.Timeline, start: int, stop: int) -> gl.Timeline:
    from genlock.timeline import SampledTimeline

    assert isinstance(timeline, SampledTimeline)
    segments = [(0, start), (stop, timeline.count)]
    return SampledTimeline(timeline.first_ns, timeline.rate, timeline.count, segments)


def test_jitter_and_a_varying_rate(damaged: Path) -> None:
    random = np.random.default_rng(0)

    def shaken(stamps: np.ndarray, share: float) -> np.ndarray:
        return np.sort(stamps + (random.uniform(-share, share, len(stamps)) * 10e6).astype(int))

    pose = damaged / "pose.parquet"
    change_parquet(pose, t_ns=lambda stamps: shaken(stamps, 0.15))
    assert only(damaged, "jitter").severity == "note"
    change_parquet(pose, t_ns=lambda stamps: shaken(stamps, 0.5))
    finding = only(damaged, "jitter")
    assert (finding.stream, finding.severity) == ("pose", "warning")


def test_duplicate_and_disordered_stamps(damaged: Path) -> None:
    stamps = samples.stamps_ns("gaze")
    change_csv(damaged / "gaze.csv", lambda rows: [*rows[:51], rows[50], *rows[51:]])
    finding = only(damaged, "duplicate-stamps")
    assert (finding.stream, finding.count, finding.time_ns) == ("gaze", 1, stamps[50])
    change_csv(damaged / "gaze.csv", lambda rows: [*rows[10:20], *rows[:10], *rows[20:]])
    assert only(damaged, "out-of-order").count == 20


def test_impossible_stamps(damaged: Path) -> None:
    change_csv(damaged / "gaze.csv", lambda rows: ["-1,0,0", "-1,0,0", *rows])
    finding = only(damaged, "bad-stamps")
    assert (finding.stream, finding.count) == ("gaze", 2)


def test_missing_files(damaged: Path, real: Path) -> None:
    with gl.open(real / "euroc-micro") as recording:
        valid = recording.streams["cam0"].timeline.valid
        first = recording.streams["cam0"].timeline.ns[np.argmin(valid)]
    finding = findings(real / "euroc-micro", "missing-files")[0]
    assert (finding.stream, finding.count, finding.time_ns) == ("cam0", 85, first)
    (damaged / "imu.csv").unlink()
    assert "imu" in str([f for f in doctor.check_path(damaged, "none") if f.severity == "error"])


def test_unknown_unit_of_time(damaged: Path) -> None:
    replace_text(damaged / "recording.toml", 'column = "t_us", unit = "us"', 'column = "t"')
    replace_text(damaged / "imu.csv", "t_us", "t")
    finding = only(damaged, "stream")
    assert (finding.stream, finding.severity) == ("imu", "error")


def test_unrelated_clocks(damaged: Path) -> None:
    toml = damaged / "recording.toml"
    toml.write_text(toml.read_text().split("[clocks.imu]")[0])
    finding = only(damaged, "clocks")
    assert "'imu'" in finding.problem
    assert not findings(damaged, "coverage")


def test_a_stream_that_ends_early(damaged: Path) -> None:
    change_csv(damaged / "gaze.csv", lambda rows: rows[:300])
    finding = only(damaged, "coverage")
    assert finding.stream == "gaze"
    assert "begins 0.016 s" in finding.problem  # 5 ms after the first row of the IMU: 21 - 5


@pytest.mark.parametrize(("factor", "unit"), [(1 / 9.80665, "in g:"), (1000 / 9.80665, "in mg:")])
def test_gravity_in_another_unit(damaged: Path, factor: float, unit: str) -> None:
    scale_columns(damaged / "imu.csv", slice(4, 7), factor)
    finding = only(damaged, "gravity")
    assert (finding.stream, finding.severity) == ("imu", "error")
    assert unit in finding.advice
    assert f"{1 / factor:.6g}" in finding.advice


def test_gravity_taken_out(damaged: Path) -> None:
    scale_columns(damaged / "imu.csv", slice(4, 7), 0.01)
    finding = only(damaged, "gravity")
    assert finding.severity == "warning"
    assert "taken out" in finding.advice


def test_degrees_are_seen_from_the_poses(damaged: Path) -> None:
    scale_columns(damaged / "imu.csv", slice(1, 4), 180 / np.pi)
    found = findings(damaged, "degrees")
    assert any("as fast as 'pose'" in finding.problem for finding in found)
    assert {finding.stream for finding in found} == {"imu"}
    assert not findings(damaged, "offset")


def test_degrees_are_seen_without_poses(damaged: Path) -> None:
    toml = damaged / "recording.toml"
    text = toml.read_text()
    start, end = text.index("[streams.pose]"), text.index("[streams.gaze]")
    toml.write_text(text[:start] + text[end:])
    assert not findings(damaged, "degrees")
    scale_columns(damaged / "imu.csv", slice(1, 4), 180 / np.pi)
    assert only(damaged, "degrees").stream == "imu"


def test_another_scale_of_the_gyroscope(damaged: Path) -> None:
    scale_columns(damaged / "imu.csv", slice(1, 4), 2.0)
    assert "2 times as fast" in only(damaged, "scale").problem


@pytest.mark.parametrize("late_ms", [40, -120])
def test_an_offset_between_poses_and_gyroscope(damaged: Path, late_ms: int) -> None:
    late_ns = late_ms * 1_000_000
    offset = int((damaged / "recording.toml").read_text().split("offset_ns = ")[1].split()[0])
    replace_text(damaged / "recording.toml", f"= {offset}", f"= {offset + late_ns}")
    finding = only(damaged, "offset")
    assert (finding.stream, finding.severity) == ("imu", "error")
    found_ms = float(finding.problem.split()[2])
    assert found_ms == pytest.approx(late_ms, abs=3)
    assert "[clocks.imu]" in finding.advice
    mended = int(re.search(r"offset_ns = (-?\d+)", finding.advice)[1])  # type: ignore[index]
    assert abs(mended - offset) < 3_000_000
    replace_text(damaged / "recording.toml", f"= {offset + late_ns}", f"= {mended}")
    assert not findings(damaged, "offset")


def test_drift_between_poses_and_gyroscope(damaged: Path) -> None:
    """A clock that runs 1 % fast over the recording, equal at its start."""
    toml = damaged / "recording.toml"
    first_us = samples.rig.imu_stamps_us()[0]
    scale, true_scale = 1.01, float(samples.rig.IMU_CLOCK_SCALE)
    offset = samples.rig.IMU_CLOCK_OFFSET_NS
    moved = offset + round(int(first_us) * 1000 * (true_scale - scale))
    replace_text(toml, f"offset_ns = {offset}", f"offset_ns = {moved}")
    replace_text(toml, f"scale = {true_scale!r}", f"scale = {scale}")
    finding = only(damaged, "drift")
    assert finding.stream == "imu"
    ppm = float(finding.problem.split("(")[1].split()[0])
    assert ppm == pytest.approx(1e6 * (scale / true_scale - 1), rel=0.15)
    offset_ns, mended = re.search(  # type: ignore[union-attr]
        r"\[clocks\.imu\] offset_ns = (-?\d+) scale = (\S+)", finding.advice
    ).groups()
    replace_text(toml, f"offset_ns = {moved}", f"offset_ns = {offset_ns}")
    replace_text(toml, f"scale = {scale}", f"scale = {mended}")
    assert not findings(damaged, "drift")


def test_columns_without_values(damaged: Path) -> None:
    def emptied(row: str) -> str:
        time, _, pitch = row.split(",")
        return f"{time},nan,{pitch}"

    change_csv(damaged / "gaze.csv", lambda rows: [emptied(row) for row in rows])
    finding = only(damaged, "empty-columns")
    assert (finding.stream, finding.count) == ("gaze", 1)
    assert finding.problem.endswith(": yaw")
    assert only(damaged, "invalid-rows").count == 36  # blinks, of the other column


def test_norms_of_quaternions(damaged: Path) -> None:
    def doubled(values: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(values)) == 7, 2 * values, values)

    change_parquet(damaged / "pose.parquet", **dict.fromkeys(("qx", "qy", "qz", "qw"), doubled))
    finding = only(damaged, "quaternions")
    assert (finding.stream, finding.count) == ("pose", 1)
    assert finding.time_ns == samples.stamps_ns("pose")[7]
    assert "such as 2)" in finding.problem


def test_positions_in_millimetres(damaged: Path) -> None:
    thousand = dict.fromkeys(("tx", "ty", "tz"), lambda values: 1000 * values)
    change_parquet(damaged / "pose.parquet", **thousand)
    assert only(damaged, "positions").stream == "pose"


def test_depth_read_as_metres(damaged: Path) -> None:
    replace_text(damaged / "recording.toml", "scale = 0.001", "scale = 1.0")
    finding = only(damaged, "depth-scale", "sample")
    assert (finding.stream, finding.severity) == ("depth", "error")


def test_a_damaged_picture_is_found_by_decoding_all(damaged: Path) -> None:
    stamps = samples.stamps_ns("depth")
    picture = damaged / "depth" / f"{stamps[31]}.png"
    picture.write_bytes(picture.read_bytes()[:200])
    finding = only(damaged, "unreadable", "all")
    assert (finding.stream, finding.count, finding.time_ns) == ("depth", 1, stamps[31])


def test_damaged_video(real: Path) -> None:
    path = real / "video-timing" / "corrupted.mp4"
    finding = only(path, "unreadable", "all")
    assert (finding.stream, finding.severity) == ("video", "error")
    assert finding.count > 3
    assert not findings(path, "unreadable", "none")


def write_media(path: Path, frames: int, seconds_of_sound: float, late: int = 0) -> Path:
    """Pictures at 10 Hz, the first one `late` frames after the sound."""
    with av.open(path, "w") as container:
        video = container.add_stream("mpeg4", rate=10, width=32, height=32, pix_fmt="yuv420p")
        audio = container.add_stream("pcm_s16le", rate=8000, layout="mono")
        for i in range(frames):
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), i, np.uint8), "rgb24")
            frame.pts, frame.time_base = i + late, Fraction(1, 10)
            container.mux(video.encode(frame))
        container.mux(video.encode(None))
        sound = np.zeros((1, round(8000 * seconds_of_sound)), np.int16)
        frame = av.AudioFrame.from_ndarray(sound, "s16", "mono")
        frame.sample_rate, frame.pts = 8000, 0
        container.mux(audio.encode(frame))
        container.mux(audio.encode(None))
    return path


def test_picture_and_sound_that_agree(tmp_path: Path) -> None:
    assert doctor.check_path(write_media(tmp_path / "fine.mkv", 20, 2.0), "all") == []


def test_sound_that_ends_before_the_picture(tmp_path: Path) -> None:
    finding = only(write_media(tmp_path / "short.mkv", 20, 1.7), "av-drift")
    assert finding.stream == "audio"
    assert "+300 ms" in finding.problem


def test_a_picture_that_is_late_throughout_does_not_drift(tmp_path: Path) -> None:
    path = write_media(tmp_path / "late.mkv", 20, 2.0, late=3)
    assert only(path, "av-offset").stream == "video"
    assert not findings(path, "av-drift")


def test_a_picture_that_begins_late(tmp_path: Path) -> None:
    finding = only(write_media(tmp_path / "late.mkv", 20, 2.3, late=3), "av-offset")
    assert (finding.stream, finding.time_ns) == ("video", 300_000_000)
    assert "+300 ms" in finding.problem


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    path = write_media(tmp_path / "whole.mkv", 100, 10.0)
    cut = tmp_path / "cut.mkv"
    data = path.read_bytes()
    cut.write_bytes(data[: len(data) // 2])
    assert not findings(path, "cut-off")
    finding = only(cut, "cut-off")
    assert finding.severity == "error"
    assert "claims 10.0" in finding.problem


def test_the_gravest_comes_first(damaged: Path) -> None:
    change_csv(damaged / "gaze.csv", lambda rows: rows[:100] + rows[101:])
    scale_columns(damaged / "imu.csv", slice(4, 7), 0.1)
    severities = [finding.severity for finding in doctor.check_path(damaged, "none")]
    assert severities == sorted(severities, key=doctor.SEVERITIES.index)
    assert set(severities) == {"error", "warning", "note"}
