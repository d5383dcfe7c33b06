"""Spans of given lengths, and the windows laid over them one by one."""

from __future__ import annotations

from typing import Any

from genlock.stream import Span
from genlock.windows import Windows

S = 1_000_000_000


def spans_of(*seconds: float) -> list[Span]:
    """Spans named a, b, … of given lengths, each starting 1000 s after the one before."""
    starts = [1000 * S * (number + 1) for number in range(len(seconds))]
    names = [chr(ord("a") + number) for number in range(len(seconds))]
    ends = [start + round(length * S) for start, length in zip(starts, seconds, strict=True)]
    return [Span(*span) for span in zip(names, starts, ends, strict=True)]


def tiled(spans: list[Span], duration: int, stride: int, tail: str) -> list[tuple[str, int]]:
    """The same windows one by one."""
    found = []
    for uri, start, end in spans:
        while (start + duration <= end) if tail == "drop" else (start < end):
            found.append((uri, start))
            start += stride
    return found


def places(windows: Any) -> list[tuple[str, int]]:
    return [(window.recording, window.start_ns) for window in windows]


many = Windows(spans_of(10, 3, 0.5, 7), duration=1, stride=0.5, shuffle=True, seed=4)
