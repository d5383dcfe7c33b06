"""Packets find their place on the clock, to the sample, from stamps that are rounded or wrong."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock._ffmpeg import NO_TICKS
from genlock.sources._packet_log import Columns
from genlock.sources._placement import Placement, RawSamples, place

RATE = 48_000
MS = Fraction(1, 1000)
EXACT = Fraction(1, RATE)


def placed(
    pts: list[int],
    counts: list[int],
    base: Fraction = EXACT,
    skip: list[int] | None = None,
    pad: list[int] | None = None,
    discard: list[bool] | None = None,
) -> Placement:
    size = len(pts)
    zero = np.zeros(size, np.int64)
    stamps = np.array(pts, np.int64)
    hidden = np.array(discard or [False] * size, np.bool_)
    columns = Columns(stamps, stamps, zero, zero, zero, ~hidden, hidden, zero > 0, base)
    raw = RawSamples(
        np.array(counts, np.int64),
        np.array(skip or [0] * size, np.int64),
        np.array(pad or [0] * size, np.int64),
    )
    return place(columns, RATE, raw)


def test_no_packets() -> None:
    nothing = placed([], [])
    assert (nothing.segments, nothing.first_ns, len(nothing.samples.first)) == ((), 0, 0)


def test_a_packet_that_holds_only_priming() -> None:
    assert placed([0], [1024], skip=[1024]).segments == ()


def test_stamps_rounded_to_a_coarse_tick_make_no_holes() -> None:
    counts = [1024] * 200
    pts = [500 + round(1000 * i * 1024 / RATE) for i in range(200)]
    found = placed(pts, counts, MS)
    assert found.segments == ((0, 200 * 1024),)
    assert found.first_ns == 500_000_000
    assert found.samples.first.tolist() == [i * 1024 for i in range(200)]
    assert not found.report.notes


def test_stamps_rounded_before_the_container_was_changed_make_no_holes() -> None:
    pts = [48 * round(1000 * i * 1024 / RATE) for i in range(200)]
    assert placed(pts, [1024] * 200).segments == ((0, 200 * 1024),)


def test_a_hole_is_as_long_as_the_clock_says() -> None:
    found = placed([0, 1024, 5000, 6024], [1024] * 4)
    assert found.segments == ((0, 2048), (5000, 7048))
    assert found.report.missing == 5000 - 2048
    assert found.report.notes == ("2952 samples are missing in 1 holes",)


def test_a_hole_before_the_last_packet() -> None:
    assert placed([0, 1024, 9000], [1024] * 3).segments == ((0, 2048), (9000, 10_024))


def test_one_stamp_that_the_next_takes_back_is_no_hole() -> None:
    pts = [0, 1024, 2048 + 448, 3072, 4096]
    assert placed(pts, [1024] * 5).segments == ((0, 5 * 1024),)


def test_an_overlap_goes_to_the_later_packet() -> None:
    # as where MP4 files are joined: the padding of the first ends where the second begins
    found = placed([0, 1024, 1024 + 640, 2688], [1024] * 4)
    assert found.segments == ((0, 2688 + 1024),)
    assert found.samples.count.tolist() == [1024, 640, 1024, 1024]
    assert found.report.notes == ("384 samples overlap with the packet after and were dropped",)


def test_packets_that_go_back_in_time_are_dropped_and_counted() -> None:
    found = placed([10_000, 11_024, 0, 1024, 12_048, 13_072], [1024] * 6)
    assert found.samples.count.tolist() == [1024, 1024, 0, 0, 1024, 1024]
    assert found.segments == ((0, 4 * 1024),)
    assert found.report.dropped == 2


def test_priming_may_reach_over_packets() -> None:
    found = placed([-2112, -1088, -64, 960], [1024] * 4, skip=[2112, 0, 0, 0])
    assert found.samples.skip.tolist() == [1024, 1024, 64, 0]
    assert found.samples.count.tolist() == [0, 0, 960, 1024]
    assert found.samples.first.tolist() == [0, 0, 0, 960]
    assert found.first_ns == 0


def test_priming_is_rounded_like_the_stamps() -> None:
    # Opus in Matroska: 312 samples are 6.5 ms, stamped 7 ms before
    found = placed([-7, 14, 34], [960] * 3, MS, skip=[312, 0, 0])
    assert found.first_ns == 0
    assert found.segments == ((0, 3 * 960 - 312),)


def test_discarded_packets_hold_nothing() -> None:
    found = placed([-1024, 0, 1024], [1024] * 3, discard=[True, False, False])
    assert found.samples.count.tolist() == [0, 1024, 1024]
    assert found.first_ns == 0


def test_padding_is_cut_from_the_end() -> None:
    assert placed([0, 1024], [1024] * 2, pad=[0, 384]).segments == ((0, 2048 - 384),)


def test_packets_without_stamps_follow_those_before() -> None:
    found = placed([NO_TICKS, 4800, NO_TICKS, NO_TICKS], [1024] * 4)
    assert found.segments == ((0, 4096),)
    assert found.first_ns == round((4800 - 1024) * 10**9 / RATE)
    assert placed([NO_TICKS] * 3, [1024] * 3).segments == ((0, 3072),)


def test_stamps_may_be_an_epoch_in_microseconds() -> None:
    micro = Fraction(1, 1_000_000)
    start = 1_700_000_000_123_456
    pts = [start + round(10**6 * i * 1024 / RATE) for i in range(100)]
    found = placed(pts, [1024] * 100, micro)
    assert found.first_ns == start * 1000
    assert found.segments == ((0, 100 * 1024),)


@pytest.mark.parametrize("base", [MS, EXACT, Fraction(1, 90_000)], ids=["ms", "sample", "90 kHz"])
@given(
    counts=st.lists(st.integers(1, 5000), min_size=1, max_size=60),
    breaks=st.dictionaries(st.integers(1, 59), st.integers(500, 10**8), max_size=4),
)
def test_counts_of_any_size_are_laid_end_to_end_between_holes(
    base: Fraction, counts: list[int], breaks: dict[int, int]
) -> None:
    starts, at = [], 0
    for index, count in enumerate(counts):
        at += breaks.get(index, 0)
        starts.append(at)
        at += count
    found = placed([round(s / (base * RATE)) for s in starts], counts, base)
    tick = float(base * RATE)
    first = found.samples.first
    assert np.abs(first - starts).max() <= tick + 1
    assert found.samples.count.tolist() == counts
    # between holes there is no jitter at all
    steps = np.diff(first)
    for index in range(1, len(counts)):
        if index not in breaks:
            assert steps[index - 1] == counts[index - 1]
    assert len(found.segments) == 1 + sum(index < len(counts) for index in breaks)
