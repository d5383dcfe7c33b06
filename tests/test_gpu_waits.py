"""The count of host waits that `make bench-gpu` prints and tests/gpu demands to be zero."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import torch

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

from gpu_waits import RANGE, count_waits, waits_of


def event(name: str, start: float, end: float) -> SimpleNamespace:
    return SimpleNamespace(name=name, time_range=SimpleNamespace(start=start, end=end))


def test_waits_count_within_next_alone() -> None:
    events = [
        event("cudaStreamSynchronize", 1, 2),  # the step's own
        event(RANGE, 10, 20),
        event("cudaStreamSynchronize", 11, 12),
        event("cudaMemcpyAsync", 12, 13),
        event("cudaStreamWaitEvent", 13, 14),
        event(RANGE, 30, 40),
        event("cudaEventSynchronize", 39, 60),
        event("cudaStreamSynchronize", 35, 36),
        event("cudaDeviceSynchronize", 70, 80),  # the profiler's, at its end
    ]
    assert count_waits(events) == {"cudaStreamSynchronize": 2, "cudaEventSynchronize": 1}


def test_waits_are_found_in_a_trace_of_the_profiler() -> None:
    def batches() -> Iterator[int]:
        for number in range(3):
            with torch.profiler.record_function("cudaStreamSynchronize"):  # stands for the call
                yield number

    def without() -> Iterator[torch.Tensor]:
        for _ in range(3):
            yield torch.ones(4) + 1

    assert waits_of(batches(), 3)["cudaStreamSynchronize"] == 3
    assert waits_of(without(), 5) == {}
