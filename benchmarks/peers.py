"""Clips by the peers, each as its documentation says, with the settings that measured best.

Every function takes (path, frame numbers, size) and gives uint8 [T, C, H, W] of the frames at these
numbers, or makes such a function. Frame n of the inputs is shown at n / FPS seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np

from inputs import FPS

Clip = tuple[str, Sequence[int]]
"""A path and the numbers of the frames wanted, ascending."""
Size = tuple[int, int] | None
Read = Callable[[Clip, Size], Any]
WORKERS = 2
BATCH = 8


def pyav(clip: Clip, size: Size, kept: dict[str, Any]) -> Any:
    """Seek, decode on, convert what is wanted."""
    import av

    path, numbers = clip
    if path not in kept:
        kept[path] = av.open(path)
        kept[path].streams.video[0].thread_type = "NONE"
    container = kept[path]
    stream = container.streams.video[0]
    container.seek(int(numbers[0] / FPS / stream.time_base), stream=stream)
    wanted, frames = set(numbers), []
    for frame in container.decode(stream):
        number = round(frame.time * FPS)
        if number in wanted:
            height, width = size or (frame.height, frame.width)
            frames.append(frame.to_ndarray(format="rgb24", width=width, height=height))
        if number >= numbers[-1]:
            break
    return np.stack(frames).transpose(0, 3, 1, 2)


class PerThread:
    """A peer whose files each thread keeps open, by path."""

    def __init__(self, read: Callable[[Clip, Size, dict[str, Any]], Any] = pyav) -> None:
        self._read = read
        self._local = threading.local()

    def __call__(self, clip: Clip, size: Size) -> Any:
        if not hasattr(self._local, "kept"):
            self._local.kept = {}
        return self._read(clip, size, self._local.kept)


def decord(clip: Clip, size: Size) -> Any:
    """A reader for each clip: one that is kept takes three times as long to a random clip."""
    from decord import VideoReader

    path, numbers = clip
    height, width = size or (-1, -1)
    reader = VideoReader(path, width=width, height=height, num_threads=1)
    return reader.get_batch(list(numbers)).asnumpy().transpose(0, 3, 1, 2)


def torchcodec(clip: Clip, size: Size, kept: dict[str, Any]) -> Any:
    from torchcodec.decoders import VideoDecoder
    from torchcodec.transforms import Resize

    path, numbers = clip
    if path not in kept:
        transforms = [Resize(size)] if size else None
        kept[path] = VideoDecoder(
            path, seek_mode="approximate", num_ffmpeg_threads=1, transforms=transforms
        )
    return kept[path].get_frames_at(indices=list(numbers)).data.numpy()


def spdl(clip: Clip, size: Size) -> Any:
    import spdl.io

    path, numbers = clip
    margin = 0.5 / FPS
    span = (numbers[0] / FPS - margin, numbers[-1] / FPS + margin)
    height, width = size or (None, None)
    wanted = spdl.io.get_video_filter_desc(
        timestamp=span, scale_width=width, scale_height=height, scale_mode=None, pix_fmt="rgb24"
    )
    packets = spdl.io.demux_video(path, timestamp=span)
    frames = spdl.io.decode_packets(packets, filter_desc=wanted)
    array = spdl.io.to_numpy(spdl.io.convert_frames(frames))
    return array[[n - numbers[0] for n in numbers]].transpose(0, 3, 1, 2)


def opencv(clip: Clip, size: Size) -> Any:
    import cv2

    path, numbers = clip
    capture = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    capture.set(cv2.CAP_PROP_POS_FRAMES, numbers[0])
    frames = []
    for number in range(numbers[0], numbers[-1] + 1):
        capture.grab()
        if number in set(numbers):
            picture = capture.retrieve()[1]
            if size:
                picture = cv2.resize(picture, size[::-1], interpolation=cv2.INTER_AREA)
            frames.append(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB))
    capture.release()
    return np.stack(frames).transpose(0, 3, 1, 2)


def batched(samples: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Batches of arrays, stacked as a collate function does."""
    rest = iter(samples)
    while batch := list(islice(rest, BATCH)):
        yield len(batch), np.stack(batch)


def in_turn(read: Read, clips: Sequence[Clip], size: Size) -> Iterator[tuple[int, Any]]:
    """One after another, in one thread."""
    yield from batched(read(clip, size) for clip in clips)


def in_threads(read: Read, clips: Sequence[Clip], size: Size) -> Iterator[tuple[int, Any]]:
    """A pool of threads, two batches ahead."""
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from batched(ahead(pool, lambda clip: read(clip, size), clips))


def ahead(
    pool: ThreadPoolExecutor, work: Callable[[Any], Any], items: Iterable[Any]
) -> Iterator[Any]:
    """Results in order, with two batches in flight."""
    rest = iter(items)
    flying: list[Future[Any]] = [pool.submit(work, item) for item in islice(rest, 2 * BATCH)]
    try:
        while flying:
            yield flying.pop(0).result()
            flying += [pool.submit(work, item) for item in islice(rest, 1)]
    finally:
        for future in flying:
            future.cancel()


def in_data_loader(read: Read, clips: Sequence[Any], size: Size) -> Iterator[tuple[int, Any]]:
    """PyTorch's DataLoader: worker processes that hand tensors over through shared memory."""
    import torch
    from torch.utils.data import DataLoader

    loader = DataLoader(_Clips(read, clips, size), batch_size=BATCH, num_workers=WORKERS)
    torch.set_num_threads(1)
    for batch in loader:
        values = batch if isinstance(batch, torch.Tensor) else batch["rgb"]
        yield len(values), values


class _Clips:
    """A map-style dataset."""

    def __init__(self, read: Read, clips: Sequence[Any], size: Size) -> None:
        self._read, self._clips, self._size = read, clips, size

    def __len__(self) -> int:
        return len(self._clips)

    def __getitem__(self, index: int) -> Any:
        import torch

        value = self._read(self._clips[index], self._size)
        if isinstance(value, dict):
            return {name: torch.from_numpy(np.ascontiguousarray(v)) for name, v in value.items()}
        return torch.from_numpy(np.ascontiguousarray(value))


def in_spdl(read: Read, clips: Sequence[Any], size: Size) -> Iterator[tuple[int, Any]]:
    """SPDL's pipeline: its own event loop over a pool of threads."""
    from spdl.pipeline import PipelineBuilder

    pipeline = (
        PipelineBuilder()
        .add_source(clips)
        .pipe(lambda clip: read(clip, size), concurrency=WORKERS, output_order="input")
        .aggregate(BATCH)
        .pipe(_stacked)
        .add_sink(2)
        .build(num_threads=WORKERS)
    )
    with pipeline.auto_stop():
        for batch in pipeline:
            values = batch["rgb"] if isinstance(batch, dict) else batch
            yield len(values), values


def _stacked(samples: list[Any]) -> Any:
    if isinstance(samples[0], dict):
        return {name: np.stack([sample[name] for sample in samples]) for name in samples[0]}
    return np.stack(samples)
