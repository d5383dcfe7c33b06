"""What tests of the loader share: fields, windows, and how its ends are told apart."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import genlock as gl
from genlock import samples

FIELDS = {
    "imu": gl.Sensor("imu", rate=100),
    "pose": gl.Pose("pose", at="depth", relative_to="first"),
    "depth": gl.Depth("depth", rate=5, size=(12, 16)),
    "gaze": gl.Sensor("gaze"),
    "what": gl.Labels("labels"),
}

IMU = {"imu": gl.Sensor("imu", rate=100)}


def windows(sample: Path, **options: Any) -> gl.Windows:
    """23 windows of the sample, shuffled unless asked otherwise."""
    defaults = {"duration": 0.5, "stride": 0.42, "shuffle": True, "seed": 3}
    return gl.Windows(sample, over=["imu", "depth", "pose"], **(defaults | options))


def as_bytes(batch: gl.Batch) -> list[Any]:
    """Everything a batch holds, for comparison byte for byte."""
    parts: list[Any] = [[(w.start_ns, w.index) for w in batch.windows]]
    for part in (batch.data, batch.mask, batch.times, batch.source_times, batch.lengths):
        for name, value in part.items():
            held = value.numpy().tobytes() if isinstance(value, torch.Tensor) else repr(value)
            parts.append((name, held))
    return parts


def epochs(loader: gl.Loader, count: int) -> list[list[Any]]:
    return [as_bytes(batch) for _ in range(count) for batch in loader]


def failing_windows(folder: Path) -> set[int]:
    """Windows that use depth row 66, found by plans on the sound stamps."""
    used_ns = int(samples.stamps_ns("depth")[66])
    with gl.open(folder) as recording:
        chosen = windows(folder).by_index
        field = {"t": gl.Sensor("imu", rate=5)}
        stamps = samples.stamps_ns("depth")
        failing = set()
        for window in chosen:
            grid = recording.read(field, window.start_ns, 0.5).times["t"]
            rows = np.abs(stamps[None] - grid[:, None]).argmin(axis=1)
            if used_ns in stamps[rows]:
                failing.add(window.index)
    return failing


class Consumer:
    """A thread that asks a loader for its first batch."""

    def __init__(self, loader: gl.Loader) -> None:
        self._loader = loader
        self._ended_by: list[type[BaseException]] = []
        self._thread = threading.Thread(target=self._consume)
        self._thread.start()

    def _consume(self) -> None:
        try:
            next(iter(self._loader))
        except gl.ClosedError as error:
            self._ended_by.append(type(error))

    def ended_by(self) -> list[type[BaseException]]:
        """What it was ended by, once it has ended."""
        self._thread.join(30)
        return self._ended_by


def genlock_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("genlock-")]


def by_close(loader: gl.Loader) -> None:
    next(iter(loader))
    loader.close()
    loader.close()


def by_leaving_the_block(loader: gl.Loader) -> None:
    with loader:
        next(iter(loader))


def by_an_exception(loader: gl.Loader) -> None:
    with pytest.raises(KeyError), loader:
        for _ in loader:
            raise KeyError


def by_break_and_collection(loader: gl.Loader) -> None:
    for _ in loader:
        break


def by_exhaustion(loader: gl.Loader) -> None:
    for _ in loader:
        pass


ENDS = [by_close, by_leaving_the_block, by_an_exception, by_break_and_collection, by_exhaustion]
