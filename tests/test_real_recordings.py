"""Real recordings through the façade and the loader, against ffmpeg, OpenCV and NumPy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import genlock as gl

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg program")


def ffmpeg_frames(path: Path, track: int, height: int, width: int) -> NDArray[np.uint8]:
    """The luma planes of a 4:2:0 video track as stored, by the ffmpeg program."""
    command = ["ffmpeg", "-v", "error", "-i", path, "-map", f"0:v:{track}"]
    command += ["-fps_mode", "passthrough", "-f", "rawvideo", "-"]
    out = subprocess.run(command, capture_output=True)
    planes = np.frombuffer(out.stdout, np.uint8).reshape(-1, height * width * 3 // 2)
    return planes[:, : height * width].reshape(-1, height, width)


def ffmpeg_times(path: Path, track: int) -> NDArray[np.int64]:
    """Times of the frames of a video track in ns, by ffprobe."""
    command = ["ffprobe", "-v", "error", "-select_streams", f"v:{track}", "-show_entries"]
    out = subprocess.run(
        [*command, "frame=pts_time", "-of", "csv=p=0", path], capture_output=True, text=True
    )
    seconds = [line.strip(",") for line in out.stdout.split()]
    return np.array([round(float(s) * 1e9) for s in seconds], np.int64)


def ffmpeg_sound(path: Path, track: int, channels: int) -> NDArray[np.float32]:
    """All samples of an audio track [C, N], by the ffmpeg program."""
    command = ["ffmpeg", "-v", "error", "-i", path, "-map", f"0:a:{track}", "-f", "f32le", "-"]
    out = subprocess.run(command, capture_output=True)
    return np.frombuffer(out.stdout, np.float32).reshape(-1, channels).T


TRACKS = [
    ("gopro-gpmf/karma.mp4", "video", 0, (480, 854), "audio", 0),
    ("video-codecs/nasa_13013.mp4", "video", 0, (180, 320), "audio", 0),
    ("video-codecs/nasa_13013.mp4", "video1", 1, (270, 480), "audio1", 1),
]


@needs_ffmpeg
@pytest.mark.parametrize(("name", "video", "track", "size", "audio", "sound"), TRACKS)
def test_tracks_of_a_media_file_load_as_ffmpeg_decodes_them(
    real: Path, name: str, video: str, track: int, size: tuple[int, int], audio: str, sound: int
) -> None:
    path = real / name
    fields = {
        "frames": gl.Video(video, rate=6, color="gray"),
        "sound": gl.Audio(audio),
    }
    frames, times = ffmpeg_frames(path, track, *size), ffmpeg_times(path, track)
    whole = ffmpeg_sound(path, sound, 2)
    windows = gl.Windows(path, over=[video, audio], duration=1.0, shuffle=True)
    assert len(windows) >= 12
    with gl.Loader(windows, fields, batch_size=3) as loader:
        for batch in loader:
            assert batch.mask["frames"].all() and batch.mask["sound"].all()
            for i, window in enumerate(batch.windows):
                for k, used_ns in enumerate(batch.source_times["frames"][i].tolist()):
                    row = int(np.abs(times - used_ns).argmin())
                    assert abs(times[row] - used_ns) <= 1000  # ffprobe prints microseconds
                    grid_ns = int(batch.times["frames"][i, k])
                    assert np.abs(times - grid_ns).min() >= abs(used_ns - grid_ns) - 1000
                    assert np.array_equal(batch["frames"][i, k, 0].numpy(), frames[row])
                rate = batch["sound"].shape[2]
                first = round(window.start_ns * rate / 1e9)
                expected = whole[:, first : first + rate]
                np.testing.assert_allclose(batch["sound"][i].numpy(), expected, atol=1e-6)


@pytest.fixture
def redwood(real: Path, tmp_path: Path) -> Path:
    shutil.copytree(real / "rgbd-redwood", tmp_path / "redwood")
    (tmp_path / "redwood" / "recording.toml").write_text(
        """
[streams.color]
kind = "video"
path = "color/*.jpg"
time = { rate = 30.0 }

[streams.depth]
kind = "depth"
path = "depth/*.png"
time = { rate = 30.0 }
depth = { scale = 0.001, invalid = 0 }
"""
    )
    return tmp_path / "redwood"


def test_colour_and_depth_pairs(redwood: Path) -> None:
    fields = {"color": gl.Video("color"), "depth": gl.Depth("depth", at="color", tolerance=0.001)}
    windows = gl.Windows(redwood, duration=1 / 30, stride=1 / 30)
    with gl.Loader(windows, fields, batch_size=1) as loader:
        seen = 0
        for batch in loader:
            stem = f"{round(int(batch.times['color'][0, 0]) * 30 / 1e9):05d}"
            codes = cv2.imread(str(redwood / "depth" / f"{stem}.png"), cv2.IMREAD_UNCHANGED)
            color = cv2.imread(str(redwood / "color" / f"{stem}.jpg"), cv2.IMREAD_COLOR)
            assert np.array_equal(batch["color"][0, 0].numpy().transpose(1, 2, 0)[..., ::-1], color)
            np.testing.assert_allclose(batch["depth"][0, 0].numpy(), codes / 1000, atol=1e-6)
            assert batch.times["depth"].equal(batch.source_times["depth"])
            seen += 1
    assert seen == 5


@pytest.fixture
def euroc(real: Path, tmp_path: Path) -> Path:
    shutil.copytree(real / "euroc-micro" / "mav0", tmp_path / "euroc")
    (tmp_path / "euroc" / "recording.toml").write_text(
        """
[recording]
clock = "vehicle"

[streams.left]
kind = "video"
path = "cam0/data/*.png"
time = { from = "name", unit = "ns" }

[streams.right]
kind = "video"
path = "cam1/data/*.png"
time = { from = "name", unit = "ns" }

[streams.imu]
kind = "sensor"
path = "imu0/data.csv"
time = { column = "timestamp", unit = "ns" }
columns = ["w_RS_S_x", "w_RS_S_y", "w_RS_S_z", "a_RS_S_x", "a_RS_S_y", "a_RS_S_z"]
"""
    )
    return tmp_path / "euroc"


def test_stereo_and_imu_of_a_flying_robot(euroc: Path) -> None:
    rows = [line.split(",") for line in (euroc / "imu0/data.csv").read_text().splitlines()[1:]]
    stamps = np.array([int(row[0]) for row in rows])
    values = np.array([[float(v) for v in row[1:7]] for row in rows])
    fields = {
        "left": gl.Video("left", color="gray"),
        "right": gl.Video("right", at="left", color="gray"),
        "imu": gl.Sensor("imu", rate=333, dtype="float64"),
    }
    windows = gl.Windows(euroc, duration=0.1, stride=0.05)
    names = sorted(int(path.stem) for path in (euroc / "cam0" / "data").glob("*.png"))
    compared = 0
    with gl.Loader(windows, fields, batch_size=2) as loader:
        for batch in loader:
            for i, window in enumerate(batch.windows):
                inside = [n for n in names if 0 <= n - window.start_ns < 100_000_000]
                length = int(batch.lengths["left"][i])
                assert batch.source_times["left"][i, :length].tolist() == inside
                for k, name in enumerate(inside):
                    for side, camera in (("left", "cam0"), ("right", "cam1")):
                        picture = cv2.imread(str(euroc / camera / "data" / f"{name}.png"), 0)
                        assert np.array_equal(batch[side][i, k, 0].numpy(), picture)
                        compared += 1
                grid = batch.times["imu"][i].numpy()
                for column in range(6):
                    expected = np.interp(
                        (grid - stamps[0]).astype(float),
                        (stamps - stamps[0]).astype(float),
                        values[:, column],
                    )
                    np.testing.assert_allclose(batch["imu"][i, :, column], expected, atol=1e-9)
    assert compared > 10
