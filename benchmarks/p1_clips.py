"""P1: isolated random clips, no group of pictures used twice."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import inputs
import peers
from harness import Batches, faster, thriftier

TITLE = "isolated random clips of 16 frames at stride 2, 720p H.264 (GOP 60) to 224x224"
UNIT = "clips"
SIZE = (224, 224)
GROUP = 60


def prepare(quick: bool) -> list[peers.Clip]:
    """Clips that begin anywhere in a group of pictures, two groups apart, in random order."""
    files = inputs.videos(2 if quick else 8, (720, 1280), 60)
    draw = np.random.default_rng(0)
    firsts = np.arange(0, 60 * inputs.FPS - 3 * GROUP, 2 * GROUP)
    clips = [
        (str(path), first + int(draw.integers(GROUP)))
        for path in files
        for first in firsts.tolist()
    ]
    return [
        (path, range(first, first + 32, 2))
        for path, first in draw.permutation(np.array(clips, object)).tolist()
    ]


def genlock(work: list[peers.Clip], extra: dict[str, float], **options: Any) -> Batches:
    import genlock as gl

    table = [(path, round(numbers[0] * 1e9 / inputs.FPS), 1.06) for path, numbers in work]
    windows = gl.Windows.at(table, **options)
    fields = {"rgb": gl.Video("video", rate=15, size=SIZE)}
    with gl.Loader(windows, fields, batch_size=peers.BATCH, tail="pad", cache_bytes=0) as loader:
        for batch in loader:
            stats = loader.stats()
            extra["packets/frame"] = stats.packets / stats.frames
            # clips that were moved show other frames than the peers'
            yield len(batch.windows), None if options else batch["rgb"]


CONTESTANTS = {
    "genlock": genlock,
    "genlock, at key frames": partial(genlock, snap="keyframe"),
    "PyAV, one thread": lambda work, _: peers.in_turn(peers.PerThread(), work, SIZE),
    "PyAV, DataLoader": lambda work, _: peers.in_data_loader(peers.PerThread(), work, SIZE),
    "PyAV, threads": lambda work, _: peers.in_threads(peers.PerThread(), work, SIZE),
    "decord, threads": lambda work, _: peers.in_threads(peers.decord, work, SIZE),
    "torchcodec, threads": lambda work, _: peers.in_threads(
        peers.PerThread(peers.torchcodec), work, SIZE
    ),
    "SPDL": lambda work, _: peers.in_spdl(peers.spdl, work, SIZE),
}
PEERS = list(CONTESTANTS)[3:]
GOALS = [
    ("at key frames (P1k), 1.8x the best peer", faster("genlock, at key frames", *PEERS), 1.8),
    ("1.25x DataLoader with PyAV", faster("genlock", "PyAV, DataLoader"), 1.25),
    ("1.1x the best peer", faster("genlock", *PEERS), 1.1),
    (
        "at most 0.85 of the CPU of PyAV in one thread",
        thriftier("genlock", "PyAV, one thread"),
        0.85,
    ),
]
