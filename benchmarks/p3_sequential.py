"""P3: one pass over whole files, every frame to RGB at full size, with all threads that help.

Decoding without conversion, which CPU is compared with, has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import inputs
import peers
from harness import Batches, faster, thriftier

TITLE = "sequential pass over 720p H.264, all frames to RGB CHW at full size"
UNIT = "frames"
CHUNK = 20
SECONDS = 60


def prepare(quick: bool) -> list[str]:
    return [str(path) for path in inputs.videos(2, (720, 1280), SECONDS)]


def genlock(work: list[str], extra: dict[str, float]) -> Batches:
    import genlock as gl

    windows = gl.Windows(work, duration=0.66, stride=CHUNK / inputs.FPS)
    fields = {"rgb": gl.Video("video", rate=inputs.FPS)}
    with gl.Loader(windows, fields, batch_size=1) as loader:
        for batch in loader:
            yield CHUNK, batch["rgb"][0]


def chunked(frames: Iterator[Any]) -> Batches:
    """Chunks as the loader gives them, copied into one array each."""
    chunk = []
    for frame in frames:
        chunk.append(frame)
        if len(chunk) == CHUNK:
            yield CHUNK, None if frame is None else np.stack(chunk)
            chunk = []


def pyav(work: list[str], convert: bool) -> Iterator[Any]:
    import av

    for path in work:
        with av.open(path) as container:
            container.streams.video[0].thread_type = "AUTO" if convert else "NONE"
            for frame in container.decode(video=0):
                yield frame.to_ndarray(format="rgb24").transpose(2, 0, 1) if convert else None


def opencv(work: list[str]) -> Iterator[Any]:
    import cv2

    for path in work:
        capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG)
        while (read := capture.read())[0]:
            yield cv2.cvtColor(read[1], cv2.COLOR_BGR2RGB).transpose(2, 0, 1)
        capture.release()


def by_index(read: peers.Read) -> Callable[[list[str]], Batches]:
    """Libraries that are asked for ranges of frames, each with a decoder kept open."""

    def run(work: list[str]) -> Batches:
        for path in work:
            for first in range(0, SECONDS * inputs.FPS - CHUNK + 1, CHUNK):
                yield CHUNK, read((path, range(first, first + CHUNK)), None)

    return run


class Kept:
    """The last file's decoder, so that going on needs no seek."""

    def __init__(self, make: Callable[[str], Any], read: Callable[[Any, list[int]], Any]) -> None:
        self._make, self._read = make, read
        self._path, self._decoder = "", None

    def __call__(self, clip: peers.Clip, size: peers.Size) -> Any:
        path, numbers = clip
        if path != self._path:
            self._path, self._decoder = path, self._make(path)
        return self._read(self._decoder, list(numbers))


def torchcodec(path: str) -> Any:
    from torchcodec.decoders import VideoDecoder

    return VideoDecoder(path, seek_mode="approximate", num_ffmpeg_threads=0)


def decord(path: str) -> Any:
    from decord import VideoReader

    return VideoReader(path)


CONTESTANTS = {
    "genlock": genlock,
    "PyAV, no conversion": lambda work, _: chunked(pyav(work, False)),
    "PyAV": lambda work, _: chunked(pyav(work, True)),
    "OpenCV": lambda work, _: chunked(opencv(work)),
    "torchcodec": lambda work, _: by_index(
        Kept(torchcodec, lambda d, numbers: d.get_frames_in_range(numbers[0], numbers[-1] + 1).data)
    )(work),
    "decord": lambda work, _: by_index(
        Kept(decord, lambda d, numbers: d.get_batch(numbers).asnumpy().transpose(0, 3, 1, 2))
    )(work),
}
GOALS = [
    ("CPU at most 1.25 of decoding alone", thriftier("genlock", "PyAV, no conversion"), 1.25),
    ("faster than every peer", faster("genlock", *list(CONTESTANTS)[2:]), 1.0),
]
