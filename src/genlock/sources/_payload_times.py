"""When the samples of a sensor were, of which only blocks have times.

A block says how many samples there were before it, and either a time of its first sample (its
stamp) or when it was written (its start). A sensor samples evenly, while blocks are cut as the
writer gets to it: 196 samples in one second, 200 in the next. So samples lie

- evenly between stamps, where blocks have them;
- on the line through all starts, where no start is far from it, and not before the first start;
- evenly between starts otherwise, as for sensors that pause.

How long the last block lasts is never asked: writers state as long as for the others, however
little it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import Nanoseconds

JITTER_NS = 50_000_000
"""How far from the line a start may be, or two samples if that is more."""


class Block(NamedTuple):
    """Consecutive samples.

    start_ns, end_ns: when it was written, by the container. before: how many samples were before
    it. samples: its own. stamp_ns: time of its first sample on the container's clock, or None.
    """

    start_ns: int
    end_ns: int
    before: int
    samples: int
    stamp_ns: int | None = None


def sample_times(blocks: Sequence[Block]) -> Nanoseconds:
    """Times of all samples: int64 [sum of samples] ns.

    blocks: one or more, none empty, `before` increasing. See the module for the rule.
    """
    before = np.array([block.before for block in blocks], np.int64)
    index = np.concatenate([block.before + np.arange(block.samples) for block in blocks])
    stamps = [block.stamp_ns for block in blocks if block.stamp_ns is not None]
    stamped = len(stamps) == len(blocks) and bool((np.diff(stamps) > 0).all())
    known: Nanoseconds = np.array(stamps if stamped else [b.start_ns for b in blocks], np.int64)
    offsets = _offsets(blocks, index, before, (known - known[0]).astype(np.float64), stamped)
    return np.asarray(known[0] + np.rint(offsets).astype(np.int64), np.int64)


def _offsets(
    blocks: Sequence[Block],
    index: NDArray[np.int64],
    before: NDArray[np.int64],
    elapsed: NDArray[np.float64],
    stamped: bool,
) -> NDArray[np.float64]:
    """Times of the samples `index` after the first block's, in ns."""
    if len(blocks) == 1:
        only = blocks[0]
        period = (only.end_ns - only.start_ns) / only.samples
        return np.asarray((index - only.before) * period, np.float64)
    slope, intercept = _line(before, elapsed)
    far = np.abs(intercept + slope * before - elapsed).max() > max(JITTER_NS, 2 * slope)
    if not stamped and not far:
        return np.asarray(intercept + slope * index, np.float64)
    period = elapsed[-1] / (before[-1] - before[0])
    after = elapsed[-1] + (index - before[-1]) * period
    return np.where(index > before[-1], after, np.interp(index, before, elapsed))


def _line(before: NDArray[np.int64], elapsed: NDArray[np.float64]) -> tuple[float, float]:
    """Slope and intercept of elapsed over before, by least squares; never before the first."""
    x, y = before - before.mean(), elapsed - elapsed.mean()
    slope = float((x * y).sum() / (x * x).sum())
    return slope, max(float(elapsed.mean() - slope * before.mean()), -slope * float(before[0]))
