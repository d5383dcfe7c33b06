"""Windows as a sequence: who gets them, what tells them apart, what they take."""

from __future__ import annotations

import pickle
import sys
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock._span_table import SpanTable
from genlock.errors import WindowError
from genlock.stream import Span
from genlock.windows import Window, Windows
from laid_windows import S, many, places, spans_of


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
