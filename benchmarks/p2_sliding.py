"""P2: overlapping windows, shuffled in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

import inputs
import peers
from harness import Batches, faster

TITLE = "windows of 2 s every 0.5 s at 10 fps, shuffled, 720p H.264 (GOP 60) to 224x224"
UNIT = "windows"
SIZE = (224, 224)
DURATION, STRIDE, RATE = 2.0, 0.5, 10
SECONDS = 60


def prepare(quick: bool) -> list[str]:
    return [str(path) for path in inputs.videos(2 if quick else 8, (720, 1280), SECONDS)]


def clips(paths: list[str], stride: float = STRIDE) -> list[peers.Clip]:
    """The same windows, fully shuffled."""
    starts = np.arange(0, SECONDS - DURATION + 1e-9, stride) * inputs.FPS
    step = inputs.FPS // RATE
    length = int(DURATION * inputs.FPS)
    listed = [
        (path, range(int(start), int(start) + length, step)) for path in paths for start in starts
    ]
    return [listed[i] for i in np.random.default_rng(0).permutation(len(listed))]


def genlock(work: list[str], extra: dict[str, float], stride: float = STRIDE) -> Batches:
    import genlock as gl

    windows = gl.Windows(work, duration=DURATION, stride=stride, shuffle="blocks")
    fields = {"rgb": gl.Video("video", rate=RATE, size=SIZE)}
    with gl.Loader(windows, fields, batch_size=peers.BATCH) as loader:
        done = 0
        for batch in loader:
            done += len(batch.windows)
            needed = len(work) * SECONDS * inputs.FPS * done / len(windows)
            extra["packets decoded / needed"] = loader.stats().packets / needed
            yield len(batch.windows), None


def torchcodec_sampler(work: list[str], extra: dict[str, float]) -> Batches:
    """Every clip of one file after another: not shuffled, one file's clips in memory."""
    from concurrent.futures import ThreadPoolExecutor

    from torchcodec.decoders import VideoDecoder
    from torchcodec.samplers import clips_at_regular_timestamps
    from torchcodec.transforms import Resize

    def whole(path: str) -> Any:
        decoder = VideoDecoder(path, num_ffmpeg_threads=1, transforms=[Resize(SIZE)])
        return clips_at_regular_timestamps(
            decoder,
            seconds_between_clip_starts=STRIDE,
            num_frames_per_clip=int(DURATION * RATE),
            seconds_between_frames=1 / RATE,
        ).data

    yield peers.BATCH, None
    with ThreadPoolExecutor(peers.WORKERS) as pool:
        for data in pool.map(whole, work):
            yield len(data), None


CONTESTANTS = {
    "genlock": genlock,
    "genlock, stride 2 s": lambda work, extra: genlock(work, extra, DURATION),
    "torchcodec's sampler": torchcodec_sampler,
    "PyAV, DataLoader": lambda work, _: peers.in_data_loader(peers.PerThread(), clips(work), SIZE),
    "PyAV, threads": lambda work, _: peers.in_threads(peers.PerThread(), clips(work), SIZE),
    "decord, threads": lambda work, _: peers.in_threads(peers.decord, clips(work), SIZE),
    "torchcodec, threads": lambda work, _: peers.in_threads(
        peers.PerThread(peers.torchcodec), clips(work), SIZE
    ),
    "SPDL": lambda work, _: peers.in_spdl(peers.spdl, clips(work), SIZE),
}
SHUFFLING = list(CONTESTANTS)[3:]
# a lane's first window decodes its way from a key frame, and the sampler gives a whole file at once
LONGER = {"genlock": 30.0, "genlock, stride 2 s": 10.0, "torchcodec's sampler": 30.0}
GOALS = [
    ("5x the best peer that shuffles", faster("genlock", *SHUFFLING), 5.0),
    ("2x torchcodec's sampler", faster("genlock", "torchcodec's sampler"), 2.0),
    (
        "packets decoded / needed, at most 1.1",
        lambda results: (results["genlock"].extra or {})["packets decoded / needed"],
        1.1,
    ),
    ("stride = duration, the best peer", faster("genlock, stride 2 s", *SHUFFLING), 1.0),
]
