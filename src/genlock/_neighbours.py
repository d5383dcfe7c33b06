"""The rows around given times in a sorted run of times: one to take, or two to blend.

Pure functions on int64 ns. at: [T], in any order. times: [M], sorted, M > 0. durations: [M] or
None. Results index `times`, and mean something where the returned bool [T] is True.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def select(
    method: str, at: Integers, times: Integers, durations: Integers | None, limit: int
) -> tuple[Integers, Integers, Mask]:
    """The left and right row by one of the methods of `fields.Method`, and where they qualify."""
    if method in ("linear", "slerp"):
        return bracket(at, times, limit)
    if method == "next":
        row, mask = following(at, times, limit)
    else:
        row, mask = {"nearest": nearest, "previous": previous}[method](at, times, durations, limit)
    return row, row, mask


def previous(
    at: Integers, times: Integers, durations: Integers | None, tolerance: int
) -> tuple[Integers, Mask]:
    """The last row at or before, if within tolerance or if its duration holds the time."""
    left, since = _before(at, times)
    reaches = since <= tolerance
    if durations is not None:
        reaches |= since < durations[left]
    return left, (since >= 0) & reaches


def following(at: Integers, times: Integers, tolerance: int) -> tuple[Integers, Mask]:
    """The first row at or after, if within tolerance."""
    right, until = _after(at, times)
    return right, (until >= 0) & (until <= tolerance)


def nearest(
    at: Integers, times: Integers, durations: Integers | None, tolerance: int
) -> tuple[Integers, Mask]:
    """The closest of the rows within tolerance and the one that holds the time.

    The earlier wins a tie, also among rows that share a time. The row that holds a time is the
    last one at or before it, since a newer row replaces what came before.
    """
    left, before = previous(at, times, durations, tolerance)
    right, after = following(at, times, tolerance)
    since = at - times[left]
    later = after & (~before | (times[right] - at < since))
    first_of_equals = np.searchsorted(times, times[left], "left")
    earlier = np.where(since <= tolerance, first_of_equals, left)
    return np.where(later, right, earlier), before | after


def bracket(at: Integers, times: Integers, max_gap: int) -> tuple[Integers, Integers, Mask]:
    """The rows on both sides, if at most max_gap apart; twice the same row where one is hit.

    Of rows that share a time, the last is left of what follows; the first is right of what comes
    before, and is what a hit gives.
    """
    left, since = _before(at, times)
    right = np.minimum(left + (since >= 0), len(times) - 1)  # after all that are at or before
    until = times[right] - at
    mask = (since > 0) & (until > 0) & (since + until <= max_gap)
    hit = np.flatnonzero(since == 0)
    if len(hit):
        left[hit] = right[hit] = np.searchsorted(times, at[hit], "left")
        mask[hit] = True
    return left, right, mask


def _before(at: Integers, times: Integers) -> tuple[Integers, Integers]:
    """The last row at or before, and how long before; negative where there is none."""
    left = np.maximum(np.searchsorted(times, at, "right") - 1, 0)
    return left, at - times[left]


def _after(at: Integers, times: Integers) -> tuple[Integers, Integers]:
    """The first row at or after, and how long after; negative where there is none."""
    right = np.minimum(np.searchsorted(times, at, "left"), len(times) - 1)
    return right, times[right] - at
