"""In which order windows come, shuffled and mixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.errors import WindowError
from genlock.stream import Span
from genlock.windows import Windows
from laid_windows import S, many, places, spans_of

shuffles = st.sampled_from([False, True, "blocks"])


@given(
    st.integers(1, 400), shuffles, st.integers(1, 12), st.integers(1, 9), st.integers(0, 99),
    st.integers(0, 9),
)  # fmt: skip
def test_every_epoch_visits_every_window_once_over_all_ranks(
    count: int, shuffle: Any, lanes: int, block: int, seed: int, epoch: int
) -> None:
    windows = Windows(
        [Span("a", 0, count // 2), Span("b", 0, count - count // 2)],
        duration=1e-9, shuffle=shuffle, seed=seed, lanes=lanes, block=block,
    )  # fmt: skip
    whole = [window.index for window in windows.order(epoch)]
    assert sorted(whole) == list(range(count))
    for world_size in (w for w in range(1, lanes + 1) if lanes % w == 0):
        ranks = [windows.shard(rank, world_size) for rank in range(world_size)]
        orders = [rank.order(epoch) for rank in ranks]
        for rank, order in enumerate(orders):
            assert [window.index for window in order] == whole[rank::world_size]
            assert list(order.positions) == list(range(rank, count, world_size))
        blocks = [set(order.blocks(np.arange(len(order))).tolist()) for order in orders]
        assert sum(map(len, blocks)) == len(set().union(*blocks))


@pytest.mark.parametrize("shuffle", [True, "blocks"])
def test_the_order_follows_from_seed_and_epoch_alone(shuffle: Any) -> None:
    def made(seed: int) -> Windows:
        return Windows(spans_of(300), duration=1, shuffle=shuffle, seed=seed, lanes=4, block=5)

    assert places(made(1).order(2)) == places(made(1).order(2))
    assert places(made(1)) == places(made(1).order(0))
    orders = [tuple(places(made(seed).order(epoch))) for seed in (0, 1) for epoch in (0, 1, 2)]
    assert len(set(orders)) == 6
    for wrong in (-1, 0.5, True):
        with pytest.raises(WindowError, match="epoch"):
            made(1).order(wrong)  # type: ignore[arg-type]


def test_blocks_are_neighbours_in_lanes() -> None:
    windows = Windows(spans_of(600), duration=1, shuffle="blocks", lanes=8, block=6)
    positions = np.arange(len(windows))
    blocks, indices = windows.blocks(positions), windows.indices(positions)
    for first in range(len(windows)):
        batch = blocks[first : first + windows.lanes]
        assert len(set(batch.tolist())) == len(batch)
    held = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    assert sorted({len(one) for one in held}) == [1, 8]
    assert sum(len(one) == 8 for one in held) == 72
    for one in held:
        assert len(set(one % 8)) == 1
        assert ((np.diff(indices[one]) % 600) == 1).all()


def test_without_blocks_each_window_is_a_block_and_there_are_no_lanes() -> None:
    assert many.lanes is None
    assert many.blocks(np.arange(9)).tolist() == many.indices(np.arange(9)).tolist()


# mixes


def test_a_mix_takes_turns_by_weight_and_keeps_each_order() -> None:
    a = Windows(spans_of(60), duration=1, shuffle=True, seed=1)
    b = Windows([Span("z", 0, 400 * S)], duration=2, shuffle=True, seed=2)
    mix = Windows.mix([a, b], weights=[0.75, 0.25], seed=5)
    assert len(mix) == 81  # then it is a's turn, which has given its 60
    for epoch in (0, 3):
        order = mix.order(epoch)
        from_a = [window for window in order if window.recording == "a"]
        from_b = [window for window in order if window.recording == "z"]
        assert places(from_a) == places(a.order(epoch))
        assert places(from_b) == places(b.order(epoch)[:21])
    for first in range(0, 80, 4):
        assert [window.recording for window in mix[first : first + 4]].count("z") == 1
    assert [mix.by_index[i].index for i in (0, 59, 60, 259)] == [0, 59, 60, 259]
    assert places(mix.by_index) == places(a.by_index) + places(b.by_index)
    assert list(mix.recordings) == ["a", "z"]
    assert (mix.duration_ns, mix.seed, mix.shuffle, mix.lanes) == (None, 5, True, None)


def test_a_mix_by_length_uses_every_window() -> None:
    a, b = (Windows(spans_of(length), duration=1) for length in (30, 50))
    mix = Windows.mix([a, b])
    assert sorted(window.index for window in mix) == list(range(80))
    assert mix.duration_ns == S


def test_a_mix_of_blocks_keeps_blocks_to_a_rank() -> None:
    parts = [
        Windows(spans_of(length), duration=1, shuffle="blocks", seed=seed, lanes=8, block=5)
        for seed, length in enumerate((400, 300))
    ]
    mix = Windows.mix([*parts, Windows(spans_of(90), duration=1)], weights=[5, 3, 1])
    assert mix.lanes == 8
    ranks = [mix.shard(rank, 4) for rank in range(4)]
    assert sorted(w.index for rank in ranks for w in rank) == sorted(w.index for w in mix)
    blocks = [set(rank.blocks(np.arange(len(rank))).tolist()) for rank in ranks]
    assert sum(map(len, blocks)) == len(set().union(*blocks))
    all_blocks = mix.blocks(np.arange(len(mix)))
    assert all(len(set(all_blocks[first : first + 8])) == 8 for first in range(len(mix) - 8))
    counts = np.bincount([int(w.index >= 400) + int(w.index >= 700) for w in mix])
    assert np.abs(counts / len(mix) - np.array([5, 3, 1]) / 9).max() < 0.01


def test_a_mix_selects_splits_and_mixes_again() -> None:
    a = Windows([Span(f"r{n}", 0, 4 * S) for n in range(10)], duration=1)
    b = Windows([Span(f"r{n}", 0, 4 * S) for n in range(5, 15)], duration=2)
    mix = Windows.mix([a, b], weights=[1, 1])
    train, val = mix.split([0.8, 0.2])
    assert not {w.recording for w in train} & {w.recording for w in val}
    assert len(set(train.recordings)) == 12
    assert len(set(val.recordings)) == 3

    some = mix.select([0, 1, 45, 50])
    assert places(some.by_index) == [places(mix.by_index)[i] for i in (0, 1, 45, 50)]
    assert len(some) == 4

    nested = Windows.mix([mix, Windows([Span("z", 0, 9 * S)], duration=1)])
    assert len({w.index for w in nested}) == len(nested)
    assert {w.recording for w in nested} >= {"z", "r0", "r14"}


def test_mixes_that_cannot_be_are_refused() -> None:
    a = Windows(spans_of(100), duration=1, shuffle="blocks", lanes=8)
    other = Windows(spans_of(100), duration=1, shuffle="blocks", lanes=4)
    with pytest.raises(WindowError, match=r"differ in lanes: \[4, 8\]"):
        Windows.mix([a, other])
    with pytest.raises(WindowError, match=r"number 1 of the mix has 5 windows.*8 lanes"):
        Windows.mix([a, Windows(spans_of(5), duration=1)])
    with pytest.raises(WindowError, match="number 0 of the mix has 0 windows"):
        Windows.mix([Windows([], duration=1)])
    for weights in ([1], [1, 0], [1, -1], ["a", "b"], []):
        with pytest.raises(WindowError, match="weights"):
            Windows.mix([a, a], weights=weights)
    for parts in ([], [a.shard(0, 2), a]):
        with pytest.raises(WindowError, match="whole windows"):
            Windows.mix(parts)
