"""P1 on other inputs: isolated random clips of small, square and HEVC video."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import inputs
import p1_clips
import peers
from harness import Batches, faster

TITLE = "isolated random clips of 16 frames at stride 2, other inputs (GOP 60) to 224x224"
UNIT = "clips"
SECONDS, CLIPS = 10, 80
INPUTS = {
    "480p H.264": ((480, 848), "libx264"),
    "720p HEVC": ((720, 1280), "libx265"),
    "1408x1408 H.264": ((1408, 1408), "libx264"),
    "1408x1408 HEVC": ((1408, 1408), "libx265"),
}
Work = dict[str, list[peers.Clip]]


def prepare(quick: bool) -> Work:
    """Clips that begin anywhere, by input."""
    starts = np.random.default_rng(0).integers(0, SECONDS * inputs.FPS - 32, CLIPS).tolist()
    work = {}
    for name, (size, codec) in INPUTS.items():
        (path,) = inputs.videos(1, size, SECONDS, codec=codec)
        work[name] = [(str(path), range(first, first + 32, 2)) for first in starts]
    return work


def genlock(work: Work, extra: dict[str, float], name: str) -> Batches:
    yield from p1_clips.genlock(work[name], extra)


def pyav(work: Work, _: dict[str, float], name: str) -> Batches:
    yield from peers.in_data_loader(peers.PerThread(), work[name], p1_clips.SIZE)


CONTESTANTS: dict[str, Callable[..., Batches]] = {
    f"{label}, {name}": partial(run, name=name)
    for name in INPUTS
    for label, run in (("genlock", genlock), ("PyAV", pyav))
}
GOALS = [
    (f"1.25x DataLoader with PyAV, {name}", faster(f"genlock, {name}", f"PyAV, {name}"), 1.25)
    for name in INPUTS
]
