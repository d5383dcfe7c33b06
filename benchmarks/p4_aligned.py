"""P4: what aligning and batching cost on top of decoding the same units."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

import inputs
import peers
from harness import Batches, thriftier

TITLE = "video, stereo sound, 800 Hz IMU, 100 Hz pose and depth, aligned, 1 s windows, batch 8"
UNIT = "windows"
SIZE, SECONDS = (224, 224), 60


def prepare(quick: bool) -> list[str]:
    return [str(path) for path in inputs.recordings(2, SECONDS)]


def genlock(work: list[str], extra: dict[str, float]) -> Batches:
    import genlock as gl

    fields = {
        "rgb": gl.Video("rgb", rate=10, size=SIZE),
        "audio": gl.Audio("mic"),
        "imu": gl.Sensor("imu", rate=800),
        "pose": gl.Pose("pose", rate=100),
        "depth": gl.Depth("depth", at="rgb", tolerance=0.06),
    }
    windows = gl.Windows(work, duration=1.0)
    with gl.Loader(windows, fields, batch_size=peers.BATCH, threads=1) as loader:
        begun: dict[str, float] = {}
        opened: set[str] = set()
        for batch in chain(loader, loader):
            spent = {stage.name: stage.cpu_s for stage in loader.stats().stages}
            if len(opened) < len(work):  # tables are read when a recording is opened
                opened.update(window.recording for window in batch.windows)
                begun = spent
            since = {name: seconds - begun[name] for name, seconds in spent.items()}
            light = since["plan"] + since["table"]
            extra["plan and table share"] = light / (sum(since.values()) or 1.0)
            yield len(batch.windows), None


def bare(work: list[str], extra: dict[str, float]) -> Batches:
    """The same units decoded and converted in file order, nothing aligned or kept."""
    tables = {f: [_table(f"{f}/{name}.csv") for name in ("imu", "pose")] for f in work}
    yield peers.BATCH, None
    for folder in work:
        yield from _bare(folder, *tables[folder])


def _table(path: str) -> Any:
    return np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.float32)


def _bare(folder: str, imu: Any, pose: Any) -> Batches:
    import av
    import cv2
    import soundfile

    with av.open(f"{folder}/rgb.mp4") as container, soundfile.SoundFile(f"{folder}/mic.wav") as mic:
        container.streams.video[0].thread_type = "NONE"
        frames = container.decode(video=0)
        for second in range(SECONDS):
            held: list[Any] = [imu[800 * second : 800 * second + 800].copy()]
            held += [pose[100 * second : 100 * second + 100].copy()]
            for number in range(inputs.FPS):
                frame = next(frames)
                if number % 3 == 0:
                    held.append(frame.to_ndarray(format="rgb24", height=SIZE[0], width=SIZE[1]))
            held.append(mic.read(48_000, "float32").T)
            for number in range(10 * second, 10 * second + 10):
                depth = cv2.imread(f"{folder}/depth/{number:05}.png", cv2.IMREAD_UNCHANGED)
                held.append(depth.astype(np.float32) * 0.001)
            yield 1, None


CONTESTANTS = {"genlock": genlock, "bare loop": bare}
LONGER = dict.fromkeys(CONTESTANTS, 15.0)
GOALS = [
    ("CPU at most 1.10 of the bare loop", thriftier("genlock", "bare loop"), 1.1),
    (
        "planning and tables, share of CPU, at most 0.03",
        lambda results: (results["genlock"].extra or {})["plan and table share"],
        0.03,
    ),
]
