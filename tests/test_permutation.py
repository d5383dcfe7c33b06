"""Orders without tables are bijections, the same for ints and arrays, and mix well."""

from __future__ import annotations

import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chi2

from genlock._permutation import (
    Blocked,
    Interleaved,
    Permutation,
    Shuffled,
    Straight,
    block_length,
    draw,
)

sizes = st.integers(0, 700)
seeds = st.integers(0, 2**64 - 1)
lane_counts = st.integers(1, 24)
block_lengths = st.integers(1, 12)


def listed(permutation: Permutation) -> NDArray[np.int64]:
    return permutation.index(np.arange(permutation.size))


def assert_bijection(permutation: Permutation) -> None:
    indices = listed(permutation)
    assert indices.dtype == np.int64
    assert sorted(indices.tolist()) == list(range(permutation.size))
    assert_scalars_agree(permutation)


def assert_scalars_agree(permutation: Permutation) -> None:
    positions = np.arange(permutation.size)
    scalars = [permutation.index(position) for position in range(permutation.size)]
    assert scalars == permutation.index(positions).tolist()
    blocks = [permutation.block(position) for position in range(permutation.size)]
    assert blocks == permutation.block(positions).tolist()


def uniformity(counts: NDArray[np.int64]) -> float:
    """The probability of counts this uneven or worse if all outcomes are equally likely."""
    expected = counts.sum() / counts.size
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), counts.size - 1))


def test_draw_is_splitmix64() -> None:
    # the first outputs of the reference implementation, seeded with 0
    assert draw(3) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_draw_tells_entropy_and_its_order_apart() -> None:
    entropies = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1), (2**64 - 1, 0)]
    assert len({draw(1, *entropy)[0] for entropy in entropies}) == len(entropies)


@given(sizes, seeds, seeds)
def test_shuffled_is_a_bijection(size: int, seed: int, epoch: int) -> None:
    assert_bijection(Shuffled(size, seed, epoch))


@pytest.mark.parametrize("size", range(70))
def test_shuffled_is_a_bijection_of_every_small_size(size: int) -> None:
    for seed in range(20):
        assert_bijection(Shuffled(size, seed))


@pytest.mark.parametrize("size", [2**31 + 7, 2**40, 2**53 + 1, 2**62 - 1])
def test_shuffled_is_exact_beyond_32_and_53_bits(size: int) -> None:
    shuffled = Shuffled(size, 3)
    ends = [np.arange(50), np.arange(size - 50, size), np.arange(50) * (size // 50)]
    positions = np.unique(np.concatenate(ends))
    indices = shuffled.index(positions)
    assert len(np.unique(indices)) == len(positions)
    assert 0 <= indices.min() <= indices.max() < size
    assert indices.tolist() == [shuffled.index(position) for position in positions.tolist()]
    assert indices.max() > size // 2


def test_orders_are_pinned() -> None:
    """A change of any of these orders breaks every run that resumes."""
    shuffled = [9, 6, 10, 5, 7, 11, 1, 2, 4, 8, 0, 3]
    assert listed(Shuffled(12, 0, 0)).tolist() == shuffled
    rows = [
        [9, 23, 17, 0],
        [10, 24, 18, 1],
        [11, 25, 19, 2],
        [12, 6, 3, 20],
        [13, 7, 4, 21],
        [14, 8, 5, 22],
        [16, 15],
    ]
    assert listed(Blocked(26, 4, 3, 0, 0)).tolist() == [index for row in rows for index in row]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_every_permutation_of_a_few_is_as_likely(size: int) -> None:
    draws = Counter(tuple(listed(Shuffled(size, seed)).tolist()) for seed in range(4000))
    counts = np.zeros(math.factorial(size), np.int64)
    counts[: len(draws)] = list(draws.values())
    assert uniformity(counts) > 1e-3


@pytest.mark.parametrize("size", [7, 16, 37])
def test_images_of_a_position_and_its_neighbour_are_uniform(size: int) -> None:
    images = np.array([listed(Shuffled(size, seed, 1)) for seed in range(2000)])
    for position in range(size):
        counts = np.bincount(images[:, position], minlength=size)
        assert uniformity(counts) > 1e-3 / size
    steps = (images[:, 1:] - images[:, :-1]) % size
    assert (steps != 0).all()
    assert uniformity(np.bincount(steps[:, 0], minlength=size)[1:]) > 1e-3
    assert uniformity(np.bincount(steps[:, size // 2], minlength=size)[1:]) > 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_neither_neighbours_nor_epochs_nor_seeds_are_correlated(seed: int) -> None:
    size = 50_000
    shuffled = listed(Shuffled(size, seed, 0))
    for other in (np.roll(shuffled, 1), np.roll(shuffled, 224), np.arange(size)):
        assert abs(np.corrcoef(shuffled, other)[0, 1]) < 5 / math.sqrt(size)
    for other in (listed(Shuffled(size, seed, 1)), listed(Shuffled(size, seed + 1, 0))):
        assert abs(np.corrcoef(shuffled, other)[0, 1]) < 5 / math.sqrt(size)
        assert (shuffled == other).sum() < 12  # one coincidence is expected


@given(sizes, lane_counts, block_lengths, seeds, st.integers(0, 50))
def test_blocked_is_a_bijection(size: int, lanes: int, block: int, seed: int, epoch: int) -> None:
    assert_bijection(Blocked(size, lanes, block, seed, epoch))


@given(st.integers(1, 700), lane_counts, block_lengths, seeds)
def test_blocks_are_walked_forward_each_in_one_lane(
    size: int, lanes: int, block: int, seed: int
) -> None:
    blocked = Blocked(size, lanes, block, seed, 0)
    indices, ids = listed(blocked), blocked.block(np.arange(size))
    assert ids.min() >= 0 and ids.max() < size
    for one in np.unique(ids):
        positions = np.flatnonzero(ids == one)
        assert (np.diff(positions) == lanes).all()
        assert (np.diff(indices[positions]) % size == 1 % size).all()


@given(st.integers(1, 700), lane_counts, block_lengths, seeds)
def test_no_two_of_lanes_consecutive_positions_share_a_block(
    size: int, lanes: int, block: int, seed: int
) -> None:
    ids = Blocked(size, lanes, block, seed, 0).block(np.arange(size))
    for first in range(size):
        batch = ids[first : first + lanes]
        assert len(np.unique(batch)) == len(batch)


@given(st.integers(0, 20_000), lane_counts, st.integers(1, 40))
def test_block_length_cuts_into_about_the_wanted_number_of_blocks(
    size: int, lanes: int, wanted: int
) -> None:
    def excess(length: int) -> Fraction:
        full = size // (lanes * length) * lanes
        return abs(full + size - full * length - Fraction(size, wanted))

    length = block_length(size, lanes, wanted)
    half = math.ceil(wanted / 2)
    if size >= lanes * half:
        assert half <= length <= max(half, wanted * 3 // 2)
        assert excess(length) == min(map(excess, range(half, wanted * 3 // 2 + 1)), default=0)
    elif size >= lanes:
        assert length == size // lanes or excess(length) <= excess(size // lanes)


def test_large_sets_keep_the_wanted_block_length() -> None:
    assert block_length(10**6, 64, 16) == 16
    assert block_length(10**9 + 7, 64, 16) == 16


@given(st.integers(0, 3000), lane_counts, block_lengths)
def test_there_are_about_as_many_blocks_as_wanted(size: int, lanes: int, wanted: int) -> None:
    blocks = np.unique(Blocked(size, lanes, wanted, 0).block(np.arange(size)))
    # the wanted length would leave less than a group of blocks as blocks of one
    assert abs(len(blocks) - size / wanted) <= lanes * (wanted - 1)


def test_blocks_are_cut_elsewhere_in_each_epoch() -> None:
    def cuts(epoch: int) -> set[int]:
        blocked = Blocked(1000, 4, 10, 0, epoch)
        firsts = np.unique(blocked.block(np.arange(1000)), return_index=True)[1]
        return {int(index) % 10 for index in listed(blocked)[firsts]}

    assert len({frozenset(cuts(epoch)) for epoch in range(20)}) > 5


def mixed_parts(counts: list[int], lanes: int, seed: int, blocks: bool) -> list[Permutation]:
    if blocks:
        return [Blocked(count, lanes, 4, seed, part) for part, count in enumerate(counts)]
    return [Shuffled(count, seed, part) for part, count in enumerate(counts)]


mixes = st.lists(
    st.tuples(st.integers(24, 300), st.fractions(Fraction(1, 100), 1)), min_size=1, max_size=4
)


@given(mixes, lane_counts, st.booleans(), seeds)
def test_interleaved_takes_each_index_at_most_once_and_each_lane_in_order(
    mix: list[tuple[int, Fraction]], lanes: int, blocks: bool, seed: int
) -> None:
    counts, weights = [count for count, _ in mix], [weight for _, weight in mix]
    parts = mixed_parts(counts, lanes, seed, blocks)
    whole = Interleaved(parts, weights, lanes)
    indices = listed(whole)
    assert_scalars_agree(whole)
    assert len(np.unique(indices)) == whole.size

    starts = np.cumsum([0, *counts])
    which = np.searchsorted(starts, indices, "right") - 1
    for lane in range(lanes):
        for part, order in enumerate(parts):
            own = listed(order)[lane::lanes]
            taken = indices[lane::lanes][which[lane::lanes] == part] - starts[part]
            assert taken.tolist() == own[: len(taken)].tolist()


@given(mixes, lane_counts, seeds)
def test_interleaved_blocks_stay_in_a_lane_and_apart(
    mix: list[tuple[int, Fraction]], lanes: int, seed: int
) -> None:
    counts, weights = [count for count, _ in mix], [weight for _, weight in mix]
    whole = Interleaved(mixed_parts(counts, lanes, seed, True), weights, lanes)
    ids = whole.block(np.arange(whole.size))
    for one in np.unique(ids):
        assert len(set(np.flatnonzero(ids == one) % lanes)) == 1
    for first in range(whole.size):
        batch = ids[first : first + lanes]
        assert len(np.unique(batch)) == len(batch)


@given(st.lists(st.integers(1, 99), min_size=1, max_size=4), st.integers(1, 150))
def test_without_lanes_shares_are_even_and_the_mix_ends_with_its_scarcest(
    percents: list[int], stretch: int
) -> None:
    counts = [150 + 40 * part for part in range(len(percents))]
    weights = [Fraction(percent, 100) for percent in percents]
    whole = Interleaved([Straight(count) for count in counts], weights, 1)
    which = np.searchsorted(np.cumsum(counts), listed(whole), "right")
    used = np.bincount(which, minlength=len(counts))
    assert (used == counts).any()
    for part, weight in enumerate(weights):
        had = np.concatenate([[0], np.cumsum(which == part)])
        gained = had[stretch:] - had[:-stretch]
        if gained.size:
            share = stretch * float(weight / sum(weights))
            assert np.abs(gained - share).max() <= 1 + len(counts)


def test_a_mix_by_size_uses_everything() -> None:
    whole = Interleaved([Straight(700), Straight(300)], [Fraction(700), Fraction(300)], 1)
    assert_bijection(whole)


def test_a_permutation_is_a_few_integers_large() -> None:
    for permutation in (Straight(2**40), Shuffled(2**40, 1), Blocked(2**40, 64, 16, 1)):
        assert len(pickle.dumps(permutation)) < 2000
