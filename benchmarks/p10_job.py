"""P10: the whole job as a user writes it: video, sound, IMU and pose in overlapping windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import inputs
import peers
from harness import Batches, faster

TITLE = (
    "video 10 fps at 224x224, 16 kHz audio, 200 Hz IMU, pose; 2 s every 0.5 s, shuffled, batch 8"
)
UNIT = "windows"
SIZE = (224, 224)
DURATION, SECONDS, SOUND = 2.0, 60, 16_000
Start = tuple[str, float]


def prepare(quick: bool) -> list[str]:
    return [str(path) for path in inputs.recordings(2 if quick else 8, SECONDS)]


def genlock(work: list[str], extra: dict[str, float], stride: float = 0.5) -> Batches:
    import genlock as gl

    windows = gl.Windows(work, duration=DURATION, stride=stride, shuffle="blocks")
    fields = {
        "rgb": gl.Video("rgb", rate=10, size=SIZE),
        "audio": gl.Audio("mic", rate=SOUND, channels=1),
        "imu": gl.Sensor("imu", rate=200),
        "pose": gl.Pose("pose", at="rgb"),
    }
    with gl.Loader(windows, fields, batch_size=peers.BATCH) as loader:
        for batch in loader:
            yield len(batch.windows), None


def starts(paths: list[str], stride: float = 0.5) -> list[Start]:
    times = np.arange(0, SECONDS - DURATION, stride).tolist()
    listed = [(path, time) for path in paths for time in times]
    return [listed[i] for i in np.random.default_rng(0).permutation(len(listed))]


class ByHand:
    """What a dataset's `__getitem__` does with PyAV, soundfile, pandas and NumPy."""

    def __init__(self) -> None:
        self._video = peers.PerThread()
        self._tables: dict[str, Any] = {}

    def __call__(self, start: Start, size: tuple[int, int]) -> dict[str, Any]:
        folder, first = start
        frame = round(first * inputs.FPS)
        step, length = inputs.FPS // 10, round(DURATION * inputs.FPS)
        grid = first + np.arange(round(DURATION * 200)) / 200
        imu = self._table(folder, "imu")
        pose = self._table(folder, "pose")
        at = np.searchsorted(pose[:, 0], (first + np.arange(round(DURATION * 10)) / 10) - 1e-6)
        return {
            "rgb": self._video((f"{folder}/rgb.mp4", range(frame, frame + length, step)), size),
            "audio": self._sound(folder, first),
            "imu": np.stack([np.interp(grid, imu[:, 0], c) for c in imu[:, 1:].T], 1).astype("f4"),
            "pose": pose[at, 1:].astype("f4"),
        }

    def _sound(self, folder: str, first: float) -> Any:
        import soundfile
        import soxr

        with soundfile.SoundFile(f"{folder}/mic.wav") as file:
            file.seek(round(first * file.samplerate))
            sound = file.read(round(DURATION * file.samplerate), "float32", always_2d=True)
            return soxr.resample(sound.mean(axis=1), file.samplerate, SOUND)[None]

    def _table(self, folder: str, name: str) -> Any:
        import pandas

        path = f"{folder}/{name}.csv"
        if path not in self._tables:
            table = pandas.read_csv(path).to_numpy(np.float64)
            table[:, 0] /= 1e9
            self._tables[path] = table
        return self._tables[path]


def by(run: Callable[..., Batches], stride: float) -> Callable[..., Batches]:
    return lambda work, _: run(ByHand(), starts(work, stride), SIZE)


CONTESTANTS = {
    "genlock": genlock,
    "DataLoader by hand": by(peers.in_data_loader, 0.5),
    "SPDL, same stages": by(peers.in_spdl, 0.5),
    "genlock, stride 2 s": partial(genlock, stride=DURATION),
    "DataLoader, stride 2 s": by(peers.in_data_loader, DURATION),
    "SPDL, stride 2 s": by(peers.in_spdl, DURATION),
}
LONGER = {"genlock": 20.0}
GOALS = [
    ("4x DataLoader, aiming at 5x", faster("genlock", "DataLoader by hand"), 4.0),
    ("4x SPDL", faster("genlock", "SPDL, same stages"), 4.0),
    (
        "stride = duration, 1.3x the best",
        faster("genlock, stride 2 s", "DataLoader, stride 2 s", "SPDL, stride 2 s"),
        1.3,
    ),
]
