"""Streams drawn at random, and what is known of each of their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from genlock.timeline import Timeline

NOW_NS = 1_700_000_000_123_456_789
MS = 1_000_000


@dataclass(frozen=True)
class Row:
    index: int
    time: int
    duration: int
    valid: bool


@st.composite
def streams(draw: st.DrawFn) -> tuple[Timeline, np.ndarray | None, list[Row]]:
    """Up to 14 rows with ties, gaps, durations and invalid rows, said by one mask or two."""
    base = draw(st.sampled_from([0, NOW_NS]))
    steps = draw(st.lists(st.sampled_from([0, 1, 4, 10, 10, 10, 11, 35]), max_size=14))
    times = (base + np.cumsum(steps, dtype=np.int64)).tolist()
    count = len(times)
    lists = st.lists(st.integers(0, 40), min_size=count, max_size=count)
    flags = st.lists(
        st.sampled_from([True, True, True, False]), min_size=count, max_size=count
    ).map(lambda bits: np.array(bits, np.bool_))
    durations = draw(st.none() | lists)
    stated, given_ = draw(st.none() | flags), draw(st.none() | flags)
    valid = np.ones(count, np.bool_)
    for mask in (stated, given_):
        valid &= True if mask is None else mask
    rows = [
        Row(i, time, durations[i] if durations else 0, bool(valid[i]))
        for i, time in enumerate(times)
    ]
    as_array = None if durations is None else np.array(durations, np.int64)
    return Timeline(np.array(times, np.int64), as_array, stated), given_, rows
