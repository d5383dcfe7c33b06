"""Annotated clips: the windows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genlock._span_table import SpanTable
from genlock.errors import WindowError
from genlock.stream import Span
from genlock.windows import Window, Windows
from laid_windows import S


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
