"""How much a running loader delays a training step on the same machine (goal P8).

    python benchmarks/interference.py [--pairs 20] [--steps 40]

A step of a small network on one torch thread, always over the same batch, is timed with the loader
at rest (all that it may make ahead is made) and at work (all of that was taken, and it makes more),
in turn. Steps follow each other without a pause in both, and nothing is waited for; the step has
one core and the loader another. Prints, for threads in this process and for process=True, the ratio
of step times (median over pairs and its 95 % interval) and the same of the CPU seconds of a step,
which other work on the machine disturbs less; the step at rest; what it takes to receive a batch
that is ready; and how busy the loader was meanwhile.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from math import comb
from pathlib import Path

import torch

import genlock as gl
from genlock import samples

FIELDS = {
    "rgb": gl.Video("camera-rgb", rate=10, size=(224, 224)),
    "depth": gl.Depth("depth", at="rgb"),
    "audio": gl.Audio("audio", rate=16_000, channels=1),
    "imu": gl.Sensor("imu", rate=200),
    "pose": gl.Pose("pose", at="rgb", relative_to="first"),
}
AHEAD = 12
"""Batches that the loader makes ahead: its work for one turn."""
RESTING = 0.02
"""Share of a core below which a loader is at rest."""


def make_step(batch: gl.Batch) -> Callable[[], None]:
    """A training step over one batch."""
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, 2), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, 2),
        torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(512, 7),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    pictures = batch["rgb"][:1, :4].flatten(0, 1).float() / 255
    target = batch["pose"][:1, :4].flatten(0, 1)

    def step() -> None:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(pictures), target).backward()
        optimizer.step()

    return step


class Running:
    """A loader that can be drained, with its threads on a core of their own."""

    def __init__(self, process: bool, core: int) -> None:
        recording = samples.sample_folder()
        windows = gl.Windows(recording, duration=2.0, stride=0.02, shuffle=True)
        own = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {core})  # what is started now inherits it
        self.loader = gl.Loader(
            windows,
            FIELDS,
            batch_size=2,
            threads=1,
            prefetch=AHEAD,
            cache_bytes=0,  # else its frames would come from memory, and it had little to do
            process=process,
        )
        self._batches = self._forever()
        self.batch = next(self._batches)
        os.sched_setaffinity(0, own)
        self._process = self.loader._workers.pid if process else os.getpid()

    def _forever(self) -> Iterator[gl.Batch]:
        while True:
            yield from self.loader

    def take_all(self) -> float:
        """Take what was made ahead, so that it is made anew; seconds for each."""
        began = time.perf_counter()
        for _ in range(AHEAD):
            next(self._batches)
        return (time.perf_counter() - began) / AHEAD

    def cpu_s(self) -> float:
        """CPU seconds of the loader's threads."""
        threads = os.listdir(f"/proc/{self._process}/task")
        if self._process == os.getpid():
            mine = (t for t in threading.enumerate() if t.name.startswith("genlock-"))
            threads = [str(t.native_id) for t in mine]
        stats = (Path(f"/proc/{self._process}/task/{t}/stat").read_text() for t in threads)
        fields = (stat.rpartition(")")[2].split() for stat in stats)
        return sum(int(f[11]) + int(f[12]) for f in fields) / os.sysconf("SC_CLK_TCK")

    def rest(self) -> None:
        """Wait until the loader has made all that it may make ahead."""
        before = self.cpu_s()
        while True:
            time.sleep(0.5)
            now = self.cpu_s()
            if now - before < 0.5 * RESTING:
                return
            before = now


def mean_step(step: Callable[[], None], steps: int) -> tuple[float, float]:
    """Mean seconds, and CPU seconds, of steps that follow each other."""
    step()
    began, cpu = time.perf_counter(), time.thread_time()
    for _ in range(steps):
        step()
    return (time.perf_counter() - began) / steps, (time.thread_time() - cpu) / steps


def interval(values: list[float], level: float = 0.95) -> tuple[float, float]:
    """Distribution-free confidence interval of the median, from order statistics."""
    ordered, n = sorted(values), len(values)
    below = 0.0
    for k in range(n // 2):
        below += comb(n, k) / 2**n
        if 2 * below > 1 - level:
            return ordered[max(0, k - 1)], ordered[n - max(1, k)]
    return ordered[0], ordered[-1]


def measure(process: bool, pairs: int, steps: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    running = Running(process, cores[-1])
    os.sched_setaffinity(0, {cores[0]})
    with running.loader:
        step = make_step(running.batch)
        for _ in range(10):
            step()
        wall, cpu, still, receive, worked = [], [], [], [], []
        for pair in range(pairs):
            times: dict[bool, tuple[float, float]] = {}
            for busy in (True, False) if pair % 2 else (False, True):
                running.rest()
                if busy:
                    receive.append(running.take_all())
                before = running.cpu_s()
                times[busy] = mean_step(step, steps)
                if busy:
                    worked.append((running.cpu_s() - before) / (steps * times[busy][0]))
            wall.append(times[True][0] / times[False][0])
            cpu.append(times[True][1] / times[False][1])
            still.append(times[False][0])
    os.sched_setaffinity(0, set(cores))
    print(
        f"{'process=True' if process else 'in process':<14} {described(wall)}  {described(cpu)}  "
        f"{1e3 * statistics.median(still):>7.1f}  {1e3 * statistics.median(receive):>10.2f}  "
        f"{statistics.median(worked):>10.0%}",
        flush=True,
    )


def described(ratios: list[float]) -> str:
    low, high = interval(ratios)
    return f"{statistics.median(ratios):.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("this takes two cores")
    torch.set_num_threads(1)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {options.pairs} pairs")
    print(f"{'':<14} {'step time':<20}  {'its CPU':<20}  rest ms  receive ms  loader CPU")
    for process in (False, True):
        measure(process, options.pairs, options.steps)


if __name__ == "__main__":
    main()
