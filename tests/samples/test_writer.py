"""The files hold the truth: stamps, indices, motion, depth and sound, byte for byte again."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import av
import cv2
import numpy as np
import pyarrow.parquet as pq
import pytest
from av.video.frame import PictureType
from scipy.spatial.transform import Rotation

from genlock import samples
from genlock.errors import GenlockError
from genlock.samples import trajectory, writer
from genlock.samples.rig import IMU_CLOCK_SCALE

ZERO_NS = samples.ZERO_NS
UP = np.array([0, 0, 9.81])


def manifest(folder: Path) -> dict:
    return tomllib.loads((folder / "recording.toml").read_text())


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_manifest_names_every_file_and_the_rig(sample: Path) -> None:
    said = manifest(sample)
    named = {found for stream in said["streams"].values() for found in sample.glob(stream["path"])}
    assert named == {path for path in sample.rglob("*.*") if path.name != "recording.toml"}
    for name, camera in samples.CAMERAS.items():
        calibration, extrinsics = (said["streams"][name][k] for k in ("calibration", "extrinsics"))
        assert tuple(calibration["size"]) == camera.size
        assert tuple(calibration["focal"]) == camera.focal
        assert tuple(calibration["center"]) == camera.center
        assert tuple(extrinsics["position"]) == camera.position
        assert tuple(extrinsics["quaternion"]) == camera.quaternion
    assert said["clocks"]["imu"]["scale"] == float(IMU_CLOCK_SCALE)


def test_every_video_frame_tells_its_index_at_every_size(sample: Path, seconds: float) -> None:
    stamps, zero_ns = [], manifest(sample)["streams"]["camera-rgb"]["zero_ns"]
    with av.open(sample / "camera-rgb.mp4") as container:
        kinds = []
        for index, frame in enumerate(container.decode(video=0)):
            image = frame.to_ndarray(format="rgb24")
            assert samples.frame_index(image) == index
            for size in (224, 64):
                for method in (cv2.INTER_AREA, cv2.INTER_LINEAR):
                    small = cv2.resize(image, (size, size), interpolation=method)
                    assert samples.frame_index(small.transpose(2, 0, 1)) == index
            stamps.append(zero_ns + round(frame.pts * frame.time_base * 10**9))
            kinds.append(PictureType(frame.pict_type).name)
    np.testing.assert_array_equal(stamps, samples.stamps_ns("camera-rgb", seconds))
    assert [n for n, kind in enumerate(kinds) if kind == "I"] == [0, 60]
    assert kinds.count("B") > 60


def test_video_frames_are_the_rendering_at_their_stamp(sample: Path, seconds: float) -> None:
    room = samples.Scene()
    t = samples.seconds_after_zero(samples.stamps_ns("camera-rgb", seconds))
    with av.open(sample / "camera-rgb.mp4") as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    for index in (0, 50, len(frames) - 1):
        errors = [
            np.abs(frames[index][64:].astype(int) - room.image(t[other])[64:]).mean()
            for other in range(max(0, index - 1), min(len(frames), index + 2))
        ]
        assert min(errors) == errors[min(index, 1)] < 8


def test_depth_files_are_the_rendering_in_millimetres(sample: Path, seconds: float) -> None:
    stamps = samples.stamps_ns("depth", seconds)
    files = sorted((sample / "depth").iterdir())
    assert [path.stem for path in files] == [str(stamp) for stamp in stamps]
    holes = 0
    for index, (path, t) in enumerate(zip(files, samples.seconds_after_zero(stamps), strict=True)):
        image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        assert image.dtype == np.uint16 and image.shape == (240, 320)
        assert samples.depth_index(image * np.float32(0.001)) == index
        off = np.abs(image / 1000 - samples.depth(t))
        off[:16, :160] = 0  # the index
        assert off.max() <= 0.0005 + 1e-9
        holes += np.count_nonzero(image == 0)
    assert holes > 1000


def test_imu_file_equals_differences_of_the_trajectory(sample: Path, seconds: float) -> None:
    table = np.loadtxt(sample / "imu.csv", delimiter=",", skiprows=1)
    clock = manifest(sample)["clocks"]["imu"]
    own_ns = np.rint(table[:, 0] * clock["scale"] * 1000).astype(np.int64)
    stamps = clock["offset_ns"] + own_ns
    np.testing.assert_array_equal(stamps, samples.stamps_ns("imu", seconds))
    t, step = (stamps - ZERO_NS) / 1e9, 1e-3
    before, after = (Rotation.from_quat(trajectory.quaternion(t + s)) for s in (-step, step))
    gyro = (before.inv() * after).as_rotvec() / (2 * step)
    behind, here, ahead = (trajectory.position(t + s) for s in (-step, 0, step))
    acceleration = (behind - 2 * here + ahead) / step**2
    body = Rotation.from_quat(trajectory.quaternion(t)).inv()
    np.testing.assert_allclose(table[:, 1:4], gyro, atol=1e-4)
    np.testing.assert_allclose(table[:, 4:], body.apply(acceleration + UP), atol=2e-4)


def test_pose_file_equals_the_trajectory(sample: Path, seconds: float) -> None:
    table = pq.read_table(sample / "pose.parquet").to_pydict()
    assert list(table) == ["t_ns", "tx", "ty", "tz", "qw", "qx", "qy", "qz"]
    stamps = samples.stamps_ns("pose", seconds)
    np.testing.assert_array_equal(table["t_ns"], stamps)
    t = (stamps - ZERO_NS) / 1e9
    position = np.stack([table[name] for name in ("tx", "ty", "tz")], axis=1)
    np.testing.assert_array_equal(position, trajectory.position(t))
    rotation = Rotation.from_quat(np.stack([table[f"q{axis}"] for axis in "xyzw"], axis=1))
    apart = (rotation.inv() * Rotation.from_quat(trajectory.quaternion(t))).magnitude()
    assert apart.max() < 1e-7
    assert min(table["qw"]) >= 0


def test_gaze_file_equals_the_truth_but_for_blinks(sample: Path, seconds: float) -> None:
    table = rows(sample / "gaze.csv")
    stamps = samples.stamps_ns("gaze", seconds)
    assert [row["t_ms"].replace(".", "") for row in table] == [str(stamp) for stamp in stamps]
    values = np.array([[float(row["yaw"]), float(row["pitch"])] for row in table])
    t = (stamps - ZERO_NS) / 1e9
    shut = np.isnan(values).all(axis=1)
    np.testing.assert_array_equal(shut, samples.blinking(t))
    runs = np.flatnonzero(np.diff(shut.astype(int)) == 1)
    assert len(runs) == 1 and shut.sum() == 9  # 0.15 s at 60 Hz, once in the first 3.4 s
    np.testing.assert_allclose(values[~shut], samples.gaze(t[~shut]), atol=1e-8)


@pytest.mark.parametrize("rate", [48_000, 16_000])
def test_chirps_land_on_whole_seconds_after_aac(sample: Path, seconds: float, rate: int) -> None:
    ffmpeg = shutil.which("ffmpeg")
    if ffmpeg is None:
        pytest.skip("the ffmpeg program is not on the PATH; it decodes independently of PyAV")
    command = [ffmpeg, "-v", "error", "-i", str(sample / "audio.m4a"), "-f", "f32le"]
    decoded = subprocess.run([*command, "-ar", str(rate), "-"], check=True, capture_output=True)
    left, right = np.frombuffer(decoded.stdout, "<f4").reshape(-1, 2).T
    count = len(samples.stamps_ns("audio", seconds))
    assert abs(len(left) - count * rate / 48_000) <= (rate != 48_000)
    zero_ns = manifest(sample)["streams"]["audio"]["zero_ns"]
    expected = [(ZERO_NS + k * 10**9 - zero_ns) * rate / 1e9 for k in (1, 2, 3)]
    for x, channel in ((left, "left"), (right, "right"), ((left + right) / 2, "left")):
        np.testing.assert_allclose(samples.chirp_starts(x, rate, channel), expected, atol=1)
    starts = samples.chirp_starts(left, rate)
    assert [samples.chirp_second(left, start, rate) for start in starts] == [1, 2, 3]
    assert samples.chirp_starts(right, rate, "left") == []


def test_labels_follow_one_another_and_say_what_is_faced(sample: Path, seconds: float) -> None:
    table = rows(sample / "labels.csv")
    starts, ends = ([int(row[key]) for row in table] for key in ("start_ns", "end_ns"))
    assert starts[0] == ZERO_NS and ends[-1] == ZERO_NS + round(seconds * 10) * 10**8
    assert starts[1:] == ends[:-1]
    assert [row["text"] for row in table] == ["the window", "the door"]
    for start, end, row in zip(starts, ends, table, strict=True):
        inside = (np.array([start, (start + end) // 2, end - 10**6]) - ZERO_NS) / 1e9
        assert samples.facing(inside) == [row["text"]] * 3


def test_the_same_arguments_give_the_same_bytes(sample: Path, seconds: float) -> None:
    again = sample.parent / "again"
    code = f"from genlock import samples; samples.write({str(again)!r}, seconds={seconds})"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}
        for folder in (sample, again)
    )
    assert one == two
    assert sum(map(len, one.values())) < 8_000_000 * seconds / 10


def test_nothing_is_overwritten_nor_left_behind(tmp_path: Path, sample: Path) -> None:
    before = sorted(sample.parent.iterdir())
    with pytest.raises(GenlockError, match="exists"):
        samples.write(sample)
    assert sorted(sample.parent.iterdir()) == before
    for seconds in (2.9, 300.0, float("nan")):
        with pytest.raises(GenlockError, match="3 to 273 s"):
            samples.write(tmp_path / "new", seconds=seconds)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "_write_audio", fail)
    monkeypatch.setattr(writer, "_write_video", lambda *_: None)
    monkeypatch.setattr(writer, "_write_depth", lambda *_: None)
    with pytest.raises(KeyboardInterrupt):
        samples.write(tmp_path / "new", seconds=3.0)
    assert list(tmp_path.iterdir()) == []


def test_the_cached_folder_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENLOCK_CACHE", str(tmp_path / "cache"))
    for part in ("_write_video", "_write_depth"):
        monkeypatch.setattr(writer, part, lambda *_: None)
    folder = samples.sample_folder(seconds=3.0)
    assert folder.is_relative_to(tmp_path / "cache") and (folder / "recording.toml").is_file()
    monkeypatch.setattr(writer, "write", None)  # a second writing would raise
    assert samples.sample_folder(seconds=3.0) == folder


def test_who_loses_the_race_takes_the_winners_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GENLOCK_CACHE", str(tmp_path))
    winner = []

    def write_while_another_finishes(folder: Path, *_: object) -> None:
        (folder / "mine").touch()
        target = folder.parent.parent / folder.name
        target.mkdir()
        (target / "theirs").touch()
        winner.append(target)

    monkeypatch.setattr(writer, "_write_streams", write_while_another_finishes)
    assert samples.sample_folder(seconds=3.0) == winner[0]
    assert [path.name for path in winner[0].iterdir()] == ["theirs"]
    assert list(winner[0].parent.iterdir()) == winner
