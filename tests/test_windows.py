"""Windows: which there are, in which order, and who gets them, against plain loops over spans."""

from __future__ import annotations

import pickle
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.errors import WindowError
from genlock.stream import Span, SpanTable
from genlock.windows import Window, Windows

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


# which windows there are

small_spans = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(0, 60)).map(lambda s: (s[0], s[0] + s[1])),
    max_size=8,
).map(lambda ends: [Span(f"r{n}", start, end) for n, (start, end) in enumerate(ends)])
nanoseconds = st.integers(1, 70).map(lambda ns: Fraction(ns, S))


@given(small_spans, nanoseconds, nanoseconds, st.sampled_from(["drop", "pad"]))
def test_windows_tile_every_span(
    spans: list[Span], duration: Fraction, stride: Fraction, tail: Any
) -> None:
    windows = Windows(spans, duration=duration, stride=stride, tail=tail)
    assert places(windows) == tiled(spans, int(duration * S), int(stride * S), tail)
    assert [window.index for window in windows] == list(range(len(windows)))
    assert {window.duration_ns for window in windows} <= {int(duration * S)}


def test_a_stride_is_an_exact_decimal_and_defaults_to_the_duration() -> None:
    windows = Windows(spans_of(1), duration=0.1)
    assert windows.stride_ns == windows.duration_ns == S // 10
    assert len(windows) == 10
    assert windows[9].start_ns == 1000 * S + 9 * (S // 10)
    assert Windows(spans_of(1), duration="0.3", stride=Fraction(1, 3)).stride_ns == 333_333_333
    assert Windows(spans_of(1), duration=np.float32(0.1)).duration_ns == S // 10


def test_a_span_shorter_than_the_duration_gives_no_window_or_a_padded_one() -> None:
    assert len(Windows(spans_of(1.5), duration=2)) == 0
    assert places(Windows(spans_of(1.5), duration=2, tail="pad")) == [("a", 1000 * S)]


def test_empty_windows_say_so_and_have_no_positions() -> None:
    for shuffle in (False, True, "blocks"):
        windows = Windows([], duration=2, shuffle=shuffle)
        assert len(windows) == 0
        assert list(windows) == []
        assert "no windows" in repr(windows)
        assert windows.order(3).indices([]).tolist() == []
        with pytest.raises(IndexError, match="position 0 of 0 windows"):
            windows[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duration": 0}, "duration"),
        ({"duration": -1}, "duration"),
        ({"duration": 1e-10}, "duration must be from 1 ns"),
        ({"duration": "two"}, "duration is a number of seconds, not 'two'"),
        ({"duration": float("nan")}, "duration"),
        ({"duration": float("inf")}, "duration"),
        ({"duration": 1e300}, "duration"),
        ({"duration": True}, "duration is a number of seconds, not True"),
        ({"duration": 1, "stride": 0}, "stride"),
        ({"duration": 1, "stride": -0.5}, "stride"),
        ({"duration": 1, "stride": 1e-9, "tail": "keep"}, "tail is 'drop' or 'pad', not 'keep'"),
        ({"duration": 1, "shuffle": "block"}, "shuffle is True, False or 'blocks', not 'block'"),
        ({"duration": 1, "shuffle": None}, "shuffle"),
        ({"duration": 1, "seed": -1}, "seed must be from 0"),
        ({"duration": 1, "seed": 2**64}, "seed"),
        ({"duration": 1, "seed": 0.5}, "seed is a whole number, not 0.5"),
        ({"duration": 1, "shuffle": "blocks", "lanes": 0}, "lanes"),
        ({"duration": 1, "shuffle": "blocks", "lanes": True}, "lanes is a whole number"),
        ({"duration": 1, "shuffle": "blocks", "block": 0}, "block"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WindowError, match=message):
        Windows(spans_of(10), **options)


def test_spans_that_cannot_be_are_refused() -> None:
    with pytest.raises(WindowError, match=r"the span of b ends before it starts"):
        Windows([Span("a", 0, 5), Span("b", 5, 4)], duration=1)
    for spans in (["a/", "b.vrs"], [("a", 0)], [("a", 0, 2**70)], 5):
        with pytest.raises(WindowError, match="spans are"):
            Windows(spans, duration=1)  # type: ignore[arg-type]
    with pytest.raises(WindowError, match="more than"):
        Windows([Span("a", 0, 2**62)], duration=1, stride=1e-9)


# a sequence

many = Windows(spans_of(10, 3, 0.5, 7), duration=1, stride=0.5, shuffle=True, seed=4)


def test_windows_are_a_sequence() -> None:
    listed = list(many)
    assert listed == [many[position] for position in range(len(many))]
    assert listed[::-1] == list(reversed(many))
    assert many[-1] == listed[-1]
    assert many[np.int64(3)] == listed[3]
    assert list(many[2:9:3]) == listed[2:9:3]
    assert list(many[::-1]) == listed[::-1]
    assert list(many[5:20][2:4]) == listed[7:9]
    assert many.index(listed[5]) == 5
    assert listed[5] in many
    with pytest.raises(IndexError, match=f"position {len(many)} of {len(many)}"):
        many[len(many)]


def test_a_window_names_its_recording_start_and_index() -> None:
    windows = Windows(spans_of(2, 2), duration=0.5)
    assert windows[5] == Window("b", 2000 * S + S // 2, S // 2, 5, None)
    assert repr(windows[5]) == "Window(5: b at 2000500000000 ns, 0.5 s)"
    assert repr(windows[5]._replace(label="run")).endswith("0.5 s, label 'run')")


def test_iterating_passes_chunk_borders() -> None:
    windows = Windows([Span("a", 0, 10_000)], duration=1e-9, shuffle=True)
    assert [window.index for window in windows] == windows.indices(np.arange(10_000)).tolist()


def test_by_index_ignores_shuffle_and_rank() -> None:
    assert [window.index for window in many.shard(1, 2).by_index] == list(range(len(many)))
    assert sorted(places(many)) == places(many.by_index)


def test_indices_take_any_shape_and_refuse_what_is_no_position() -> None:
    order = many.order(2)
    expected = np.array([window.index for window in order])
    grid = np.arange(6).reshape(2, 3)
    assert order.indices(grid).tolist() == expected[grid].tolist()
    assert order.indices(3).shape == ()
    assert order.indices(3) == expected[3]
    for wrong in ([-1], [len(many)], [0.5]):
        with pytest.raises(IndexError, match="positions"):
            order.indices(wrong)


# the order of an epoch

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


# who gets them


def test_sharding_asks_torch_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    windows = Windows(spans_of(10), duration=1)
    assert (windows.shard().rank, windows.shard().world_size) == (0, 1)

    monkeypatch.setenv("RANK", "2")
    assert windows.shard().world_size == 1
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert [window.index for window in windows.shard()] == [2, 5, 8]

    group = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: False,
        get_rank=lambda: 1, get_world_size=lambda: 4,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    assert windows.shard().world_size == 3
    group.is_initialized = lambda: True
    assert [window.index for window in windows.shard()] == [1, 5, 9]

    group.is_initialized = lambda: False
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(WindowError, match="RANK and WORLD_SIZE"):
        windows.shard()


def test_shards_that_cannot_be_are_refused() -> None:
    windows = Windows(spans_of(100), duration=1, shuffle="blocks", lanes=8)
    with pytest.raises(WindowError, match=r"world_size=3 does not divide lanes=8.*lanes=9"):
        windows.shard(0, 3)
    for rank, world_size in ((2, 2), (-1, 2), (0, 0), (0.0, 2)):
        with pytest.raises(WindowError, match=r"rank|world_size"):
            windows.shard(rank, world_size)  # type: ignore[arg-type]
    with pytest.raises(WindowError, match="both rank and world_size"):
        windows.shard(rank=1)
    with pytest.raises(WindowError, match="rank 1 of 2 already"):
        windows.shard(1, 2).shard(0, 2)
    assert windows.shard(1, 2).shard(1, 2).rank == 1
    assert len(Windows(spans_of(2), duration=1).shard(2, 4)) == 0


def test_all_ranks_know_the_total() -> None:
    windows = Windows(spans_of(10), duration=1)
    assert [windows.shard(rank, 4).total for rank in range(4)] == [10] * 4
    assert [len(windows.shard(rank, 4)) for rank in range(4)] == [3, 3, 2, 2]


@given(
    st.integers(0, 40),
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.integers(0, 20),
    st.integers(1, 3),
)
def test_split_parts_the_recordings(count: int, shares: list[int], seed: int, repeats: int) -> None:
    # each recording gives several spans, far apart in the list
    spans = [Span(f"r{n % count}", 10 * n, 10 * n + 3) for n in range(count * repeats)]
    windows = Windows(spans, duration=1e-9, shuffle=True, seed=seed)
    fractions = [Fraction(share, sum(shares)) for share in shares]
    parts = windows.split(fractions)
    recordings = [set(part.recordings) for part in parts]
    assert sum(map(len, recordings)) == len(set().union(*recordings)) == count
    assert sorted(place for part in parts for place in places(part)) == sorted(places(windows))
    for fraction, held, part in zip(fractions, recordings, parts, strict=True):
        assert abs(len(held) - fraction * count) < 1
        assert {window.recording for window in part} == held
        assert (part.shuffle, part.seed, part.duration_ns) == (True, seed, 1)


def test_a_split_follows_from_the_seed_and_the_paths_not_their_order() -> None:
    spans = [Span(f"r{number}", 0, 5 * S) for number in range(50)]

    def part(listed: list[Span], seed: int) -> set[str]:
        return set(Windows(listed, duration=1, seed=seed).split([0.8, 0.2])[1].recordings)

    assert part(spans, 3) == part(spans[::-1], 3)
    assert part(spans, 3) != part(spans, 4)
    assert len(part(spans, 3)) == 10


def test_remainders_go_to_the_largest() -> None:
    spans = [Span(f"r{number}", 0, S) for number in range(10)]
    sizes = [len(part) for part in Windows(spans, duration=1).split([0.56, 0.27, 0.17])]
    assert sizes == [5, 3, 2]
    sizes = [len(part) for part in Windows(spans, duration=1).split([1 / 3, 1 / 3, 1 / 3])]
    assert sizes == [4, 3, 3]


def test_fractions_that_cannot_be_are_refused() -> None:
    for fractions in ([], [0.5, 0.4], [1.2, -0.2], [9, 1], ["most"]):
        with pytest.raises(WindowError, match="fractions"):
            many.split(fractions)


def test_select_takes_a_mask_or_indices_and_keeps_the_options() -> None:
    windows = Windows(spans_of(5, 5), duration=1)
    even = windows.select([window.index % 2 == 0 for window in windows.by_index])
    assert places(even) == places(windows[::2])
    assert [window.index for window in even] == [0, 1, 2, 3, 4]
    assert places(windows.select([7, 2, 2])) == [places(windows)[i] for i in (7, 2, 2)]
    assert places(even.select([4, 1])) == [places(windows)[8], places(windows)[2]]
    assert list(windows.select([7, 8]).recordings) == ["b"]
    assert len(windows.select([])) == 0

    kept = many.shard(1, 2).select(np.arange(10))
    assert (kept.shuffle, kept.seed, kept.rank, kept.world_size) == (True, 4, 1, 2)
    assert sorted(w.start_ns for w in many.select(np.arange(10))) == [
        w.start_ns for w in many.by_index[:10]
    ]


def test_selections_that_cannot_be_are_refused() -> None:
    for wrong in ([True, False], [len(many)], [-1], [0.5], ["a"], [[0]]):
        with pytest.raises(WindowError, match="select takes"):
            many.select(wrong)


def test_a_selection_splits_by_recording() -> None:
    windows = Windows(spans_of(*[5] * 10), duration=1).select(np.arange(0, 50, 2))
    parts = windows.split([0.5, 0.5])
    assert [len(set(part.recordings)) for part in parts] == [5, 5]
    assert sorted(places(parts[0]) + places(parts[1])) == places(windows)
    assert not set(parts[0].recordings) & set(parts[1].recordings)


# annotated clips


def test_clips_come_as_listed() -> None:
    table = [
        ("b", 5, 0.5, "run"),
        (Path("a"), np.int64(7), 2, 1),
        ("b", 9, "0.25"),
        ("a", 0, 1, None),
    ]
    windows = Windows.at(table)
    assert list(windows) == [
        Window("b", 5, S // 2, 0, "run"),
        Window("a", 7, 2 * S, 1, 1),
        Window("b", 9, S // 4, 2, None),
        Window("a", 0, S, 3, None),
    ]
    assert list(windows.recordings) == ["b", "a"]
    assert windows.duration_ns is None
    assert windows.stride_ns is None
    assert Windows.at([("a", 0, 1), ("b", 9, 1.0)]).duration_ns == S
    assert len(Windows.at([])) == 0


def test_a_clip_without_a_duration_is_the_whole_recording() -> None:
    spans = [Span("a", 100, 400), Span("b", 7, 9), Span("c", 5, 5)]
    for given_spans in (spans, SpanTable(spans)):
        windows = Windows.at([("b", None, None, 1), ("a", 0, None)], spans=given_spans)
        assert list(windows) == [Window("b", 7, 2, 0, 1), Window("a", 100, 300, 1)]
    with pytest.raises(WindowError, match=r"row 0, .*the span of d is not known"):
        Windows.at([("d", None, None)], spans=spans)
    with pytest.raises(WindowError, match=r"row 0, .*the span of c is empty"):
        Windows.at([("c", None, None)], spans=spans)


@pytest.mark.parametrize(
    "row",
    [
        ("a", 0.5, 1), ("a", None, 1), ("a", "0", 1), ("a", 0, 0), ("a", 0, -1), ("a", 0, "x"),
        ("a", 0), ("a", 0, 1, "label", "more"), (5, 0, 1), ("a", 2**64, 1), "a", 5,
    ],
)  # fmt: skip
def test_clips_that_cannot_be_are_refused_by_row(row: Any) -> None:
    with pytest.raises(WindowError, match=r"clips are rows of .*row 1, "):
        Windows.at([("a", 0, 1), row])


def test_labels_keep_their_values_and_types() -> None:
    labels = [1, True, 1.0, "1", b"1", None, -0.0, 0.0, {"k": [1]}, (1, True), "walk", "walk"]
    windows = Windows.at([("a", 0, 1, label) for label in labels])
    found = [window.label for window in windows]
    assert [repr(label) for label in found] == [repr(label) for label in labels]
    assert found[8] is labels[8]


def test_clips_shuffle_shard_select_and_split() -> None:
    table = [(f"r{n % 7}", n, 1, n) for n in range(70)]
    windows = Windows.at(table, shuffle="blocks", lanes=4, block=3, seed=1)
    assert sorted(window.label for window in windows) == list(range(70))
    assert [window.label for window in windows] != list(range(70))
    parts = windows.split([0.6, 0.4])
    assert [len(part) for part in parts] == [40, 30]
    assert all(window.label % 7 == int(window.recording[1:]) for part in parts for window in part)
    assert not set(parts[0].recordings) & set(parts[1].recordings)
    halves = [windows.shard(rank, 2) for rank in (0, 1)]
    assert sorted(w.label for half in halves for w in half) == list(range(70))


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


# what a run is told apart by

BASE: dict[str, Any] = {
    "spans": spans_of(30, 20), "duration": 2, "stride": 1, "tail": "drop",
    "shuffle": "blocks", "seed": 0, "lanes": 4, "block": 3,
}  # fmt: skip


def test_the_fingerprint_changes_with_each_option() -> None:
    changes = {
        "spans": [spans_of(30, 21), spans_of(20, 30), spans_of(30), spans_of(30, 20)[::-1]],
        "duration": [2.5], "stride": [2], "tail": ["pad"], "shuffle": [True, False],
        "seed": [1], "lanes": [8], "block": [4],
    }  # fmt: skip
    variants = [BASE | {name: value} for name, values in changes.items() for value in values]
    variants.append(BASE | {"spans": [Span("x", *span[1:]) for span in spans_of(30, 20)]})
    prints = {Windows(**options).fingerprint() for options in (BASE, *variants)}
    assert len(prints) == len(variants) + 1
    assert Windows(**BASE).fingerprint() == Windows(**BASE).fingerprint()
    assert Windows(**BASE | {"spans": SpanTable(spans_of(30, 20))}).fingerprint() in prints


def test_the_fingerprint_changes_with_what_is_made_of_windows_but_not_with_the_rank() -> None:
    base = Windows(**BASE)
    for rank, world_size in ((0, 2), (1, 2), (3, 4)):
        assert base.shard(rank, world_size).fingerprint() == base.fingerprint()
    made = [
        base, *base.split([0.5, 0.5]), base.select([0, 1]), base.select([1, 0]),
        Windows.mix([base, base]), Windows.mix([base, base], [1, 1]),
        Windows.mix([base, base], [1, 2]), Windows.mix([base, base], seed=1), Windows.mix([base]),
    ]  # fmt: skip
    tables: list[list[Any]] = [
        [("a", 0, 1, "x")], [("a", 0, 1, "y")], [("a", 0, 1)], [("a", 0, 2)], [("a", 1, 1)],
        [("b", 0, 1)], [("a", 0, 1), ("a", 0, 1)],
    ]  # fmt: skip
    made += [Windows.at(table) for table in tables]
    assert len({windows.fingerprint() for windows in made}) == len(made)


def test_a_fingerprint_does_not_depend_on_where_labels_lie_in_memory() -> None:
    prints = {Windows.at([("a", 0, 1, object())]).fingerprint() for _ in range(3)}
    assert len(prints) == 1


def test_the_identity_names_what_differs() -> None:
    one, other = Windows(**BASE).identity(), Windows(**BASE | {"stride": 2}).identity()
    assert one["order"] == other["order"]
    assert {k for k in one["windows"] if one["windows"][k] != other["windows"][k]} == {"stride_ns"}


# pickling and memory


def test_windows_survive_pickling() -> None:
    base = Windows(**BASE)
    clips = Windows.at([("a", 0, 1, "x"), ("b", 5, 2, {"k": 1})])
    for windows in (
        base, base.shard(1, 2), base.select([5, 3, 8]), base.split([0.5, 0.5])[0], clips,
        Windows.mix([base, base], [1, 3]), many,
    ):  # fmt: skip
        copied = pickle.loads(pickle.dumps(windows))
        assert list(copied) == list(windows)
        assert list(copied.order(7)) == list(windows.order(7))
        assert copied.fingerprint() == windows.fingerprint()
        assert repr(copied) == repr(windows)
    order = pickle.loads(pickle.dumps(base.order(3)[4:9]))
    assert list(order) == list(base.order(3))[4:9]


@pytest.mark.parametrize("shuffle", [False, True, "blocks"])
def test_memory_does_not_grow_with_the_number_of_windows(shuffle: Any) -> None:
    def size(count: int) -> int:
        windows = Windows([Span("a", 0, count)], duration=1e-9, shuffle=shuffle)
        assert len(windows) == count
        return len(pickle.dumps((windows, windows.order(5), windows.shard(1, 2))))

    assert size(10**12) < 10_000
    assert size(10**12) - size(10**3) < 200


def test_memory_is_a_few_numbers_for_each_recording() -> None:
    spans = SpanTable(Span("r", 0, 100) for _ in range(10_000))
    windows = Windows(spans, duration=1e-9, shuffle="blocks")
    assert len(pickle.dumps(windows)) - len(pickle.dumps(spans)) < 20 * 10_000


def test_the_windows_of_a_million_are_found_by_search() -> None:
    ends = np.cumsum(np.arange(10_000) % 7)
    windows = Windows([Span(f"r{n}", 0, n % 7) for n in range(10_000)], duration=1e-9)
    assert len(windows) == ends[-1]
    for row in (1, 5, 6, 8, 4_999, 9_999):
        assert windows[int(ends[row]) - 1] == Window(f"r{row}", row % 7 - 1, 1, ends[row] - 1)


# subclasses and reprs


class Named(Windows):
    """A subclass that carries something of its own, as the one that opens recordings does."""

    def __init__(self, name: str, spans: list[Span], **options: Any) -> None:
        super().__init__(spans, **options)
        self.name = name


def test_what_is_made_of_a_subclass_is_one_and_keeps_its_attributes() -> None:
    named = Named("mine", spans_of(10, 10), duration=1)
    made = [named.shard(0, 2), named.select([1]), *named.split([0.5, 0.5]), Named.mix([named])]
    assert all(isinstance(windows, Named) and windows.name == "mine" for windows in made)
    assert isinstance(Named.at([("a", 0, 1)]), Named)
    assert [len(windows) for windows in made] == [10, 1, 10, 10, 20]
    assert len(named) == 20


def test_reprs_are_short_and_say_what_they_hold() -> None:
    windows = Windows(spans_of(10), duration=2, stride=0.5, shuffle="blocks", lanes=4, seed=3)
    assert repr(windows) == "Windows(17 windows of 2 s every 0.5 s, shuffle='blocks', seed=3)"
    assert repr(windows.shard(1, 2)).endswith("seed=3, rank 1 of 2)")
    assert repr(windows[2:5]) == "Order(3 of 17 windows)"
    assert repr(Windows.at([("a", 0, 1), ("a", 0, 2)])) == (
        "Windows(2 windows, shuffle=False, seed=0)"
    )
    assert repr(windows.recordings) == "Recordings(1)"


def test_recordings_are_read_when_asked() -> None:
    recordings = Windows(spans_of(1, 2, 3), duration=1).recordings
    assert list(recordings) == ["a", "b", "c"]
    assert recordings[-1] == "c"
    assert list(recordings[1:]) == ["b", "c"]
    assert all(first < second for first, second in pairwise(recordings))
