"""Calls that make the host wait for a GPU, counted in a profiler's trace of a loader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import torch

WAITS = frozenset(
    {
        "cudaStreamSynchronize",
        "cudaDeviceSynchronize",
        "cudaEventSynchronize",
        "cudaMemcpy",
        "cudaMemcpy2D",
    }
)
"""Calls of CUDA's runtime that return when the device is done; those with Async do not wait."""
RANGE = "genlock: the next batch"


def waits_of(batches: Iterator[Any], count: int) -> Counter[str]:
    """The waits within `next` over up to `count` batches, by the name of the call."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(count):
            with torch.profiler.record_function(RANGE):
                if next(batches, None) is None:
                    break
    return count_waits(profile.events())


def count_waits(events: Iterable[Any]) -> Counter[str]:
    """Waits among a profiler's events that begin within a range named RANGE.

    Outside of these the profiler and the step wait on their own account.
    """
    events = list(events)
    ranges = [event.time_range for event in events if event.name == RANGE]
    return Counter(
        event.name
        for event in events
        if event.name in WAITS
        and any(span.start <= event.time_range.start <= span.end for span in ranges)
    )
