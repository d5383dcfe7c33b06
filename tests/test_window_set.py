"""Which windows there are, against plain loops over spans."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.errors import WindowError
from genlock.stream import Span
from genlock.windows import Windows
from laid_windows import S, places, spans_of, tiled

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
