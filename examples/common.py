"""What the training examples share: the data, a tiny model, and the checks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

import genlock as gl
from genlock import samples

FIELDS = {
    "rgb": gl.Video("camera-rgb", rate=4, size=(32, 32)),
    "imu": gl.Sensor("imu", rate=50),
    "pose": gl.Pose("pose", rate=4, relative_to="first"),
}


def make_windows(data: str | Path | None = None) -> gl.Windows:
    """Shuffled half-second windows of a recording (default: the sample)."""
    over = [field.stream for field in FIELDS.values()]
    path = data or samples.sample_folder()
    return gl.Windows(path, over=over, duration=0.5, stride=0.25, shuffle=True, seed=0)


class Model(nn.Module):
    """Predicts where the head goes within the window from what it sees and feels."""

    def __init__(self) -> None:
        super().__init__()
        self.see = nn.Sequential(nn.Flatten(), nn.Linear(2 * 3 * 32 * 32, 16))
        self.feel = nn.Sequential(nn.Flatten(), nn.Linear(25 * 6, 16))
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(32, 2 * 7))

    def forward(self, batch: gl.Batch) -> torch.Tensor:
        seen = self.see(batch["rgb"].float() / 255)
        felt = self.feel(batch["imu"])
        predicted = self.head(torch.cat([seen, felt], 1))
        target = batch["pose"].flatten(1)
        return nn.functional.mse_loss(predicted, target)


class Waiting:
    """Measures the share of an epoch that the loop spends waiting for data."""

    def __init__(self) -> None:
        self.waited_s = 0.0
        self.began = time.perf_counter()

    def over(self, loader: Any) -> Iterator[gl.Batch]:
        iterator = iter(loader)
        while True:
            start = time.perf_counter()
            batch = next(iterator, None)
            self.waited_s += time.perf_counter() - start
            if batch is None:
                return
            yield batch

    def __str__(self) -> str:
        share = self.waited_s / (time.perf_counter() - self.began)
        return f"the step waited for data {share:.0%} of the time"


def check_same(resumed: list[float], original: list[float]) -> None:
    """Losses after a resume must equal those of the run that went on."""
    assert len(resumed) == len(original) > 0, (len(resumed), len(original))
    assert all(abs(a - b) < 1e-6 for a, b in zip(resumed, original, strict=True))
