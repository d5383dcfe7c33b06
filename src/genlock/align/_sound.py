"""Which samples of a sound stream a window holds."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS, Nanoseconds
from genlock.fields import Audio
from genlock.timeline import SampledTimeline


@dataclass(frozen=True)
class AudioPlan:
    """The samples of one window of a sound stream.

    rate: Hz, of the samples. first: position of the first one, on the stream at `rate`, counted
    from the stream's first sample; it may lie outside the stream. count: N. mask: bool [N], False
    in holes and outside the stream. grid_ns: int64 [1], the window's start. source_ns: int64 [1],
    time of sample `first`, the window's start where all of it is masked.
    """

    rate: int
    first: int
    count: int
    mask: NDArray[np.bool_]
    grid_ns: Nanoseconds
    source_ns: Nanoseconds


def plan_audio(
    field: Audio, timeline: SampledTimeline, start_ns: int, duration_ns: int
) -> AudioPlan:
    """Plan the N samples of the window: every k with k / rate < duration.

    They start at the sample nearest the window's start (tie: the earlier). A sample at the field's
    rate is valid if its position, in samples of the stream's own rate, lies in a segment.
    """
    rate = field.rate or timeline.rate
    first = timeline.nearest(start_ns, rate)
    count = max(0, -(-duration_ns * rate // SECOND_NS))
    mask = np.zeros(count, np.bool_)
    earliest = bisect_right(timeline.segments, first * timeline.rate // rate, key=itemgetter(1))
    for segment in timeline.segments[earliest:]:
        begin, end = (-(-edge * rate // timeline.rate) - first for edge in segment)
        if begin >= count:
            break
        mask[max(begin, 0) : max(end, 0)] = True
    grid_ns = np.array([start_ns], np.int64)
    source_ns = timeline.at(np.array([first]), rate) if mask.any() else grid_ns
    return AudioPlan(rate, first, count, mask, grid_ns, source_ns)
