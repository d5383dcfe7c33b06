"""The cache of decoded rows: what it gives, what it keeps, who decodes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from genlock._row_cache import RowCache

SHAPE = (2, 3)
BYTES = 6 * 8
DAMAGED = 5


def truth(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    values = rows[:, None, None] * 100 + np.arange(6).reshape(SHAPE)
    values[rows == DAMAGED] = 0
    return values


class Decoder:
    """Decodes row r to a pattern of r, and counts what it decoded."""

    def __init__(self) -> None:
        self.decoded: Counter[int] = Counter()
        self._lock = threading.Lock()

    def __call__(self, rows: NDArray[np.int64], out: NDArray[Any]) -> NDArray[np.bool_]:
        assert (np.diff(rows) >= 0).all()
        with self._lock:
            self.decoded.update(set(rows.tolist()))
        out[...] = truth(rows)
        return rows != DAMAGED


def read(cache: RowCache, rows: list[int], decode: Any, series: str = "s") -> None:
    asked = np.array(rows, np.int64)
    out = np.full((len(rows), *SHAPE), -1, np.int64)
    valid = cache.read(series, asked, out, decode)
    np.testing.assert_array_equal(out, truth(asked))
    np.testing.assert_array_equal(valid, asked != DAMAGED)


ROWS = st.lists(st.integers(0, 12), min_size=1, max_size=8).map(sorted)


@given(requests=st.lists(ROWS, max_size=12), limit=st.integers(0, 10 * BYTES))
def test_values_are_those_of_decoding_and_bytes_stay_within_the_limit(
    requests: list[list[int]], limit: int
) -> None:
    cache, decoder = RowCache(limit), Decoder()
    for rows in requests:
        read(cache, rows, decoder)
        assert cache.nbytes <= limit
    assert cache.needed == sum(len(set(rows)) for rows in requests)
    assert cache.needed - cache.found == sum(decoder.decoded.values())


def test_rows_are_decoded_once_within_the_limit() -> None:
    cache, decoder = RowCache(100 * BYTES), Decoder()
    for rows in ([0, 1, 2, 5], [1, 2, 3, 3, 5], [0, 3, 4], [2, 3, 4]):
        read(cache, rows, decoder)
    assert set(decoder.decoded.values()) == {1}
    assert (cache.needed, cache.found) == (14, 8)


def test_series_are_apart() -> None:
    cache, decoder = RowCache(100 * BYTES), Decoder()
    read(cache, [1, 2], decoder, "a")
    read(cache, [1, 2], decoder, "b")
    assert decoder.decoded == Counter({1: 2, 2: 2})


def test_the_rows_used_longest_ago_go_first() -> None:
    cache, decoder = RowCache(2 * BYTES), Decoder()
    for rows in ([1], [2], [1], [3], [1]):
        read(cache, rows, decoder)
    assert decoder.decoded == Counter({1: 1, 2: 1, 3: 1})
    read(cache, [2], decoder)
    assert decoder.decoded[2] == 2


def test_what_was_kept_does_not_follow_the_array_it_came_from() -> None:
    cache, decoder = RowCache(10 * BYTES), Decoder()
    out = np.empty((1, *SHAPE), np.int64)
    cache.read("s", np.array([4]), out, decoder)
    out[...] = -7
    read(cache, [4], decoder)


def together(*tasks: Callable[[], None]) -> list[BaseException]:
    failures: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=[task], daemon=True) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return failures


class Waited(RowCache):
    """Says when a second thread has looked for its rows and is about to wait."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.second = threading.Event()

    def _claim(self, *args: Any) -> Any:
        claimed = super()._claim(*args)
        if claimed[1]:
            self.second.set()
        return claimed


@pytest.mark.parametrize("limit", [1, 100 * BYTES])
def test_a_row_in_flight_is_waited_for_even_if_it_is_not_kept(limit: int) -> None:
    cache, decoder = Waited(limit), Decoder()
    begun = threading.Event()

    def slow(rows: NDArray[np.int64], out: NDArray[Any]) -> NDArray[np.bool_]:
        begun.set()
        assert cache.second.wait(60)
        return decoder(rows, out)

    def later() -> None:
        assert begun.wait(60)
        read(cache, [2, 3, 4], decoder)

    assert not together(lambda: read(cache, [1, 2, 3], slow), later)
    assert decoder.decoded == Counter({1: 1, 2: 1, 3: 1, 4: 1})


def test_who_waited_for_a_failure_decodes_itself() -> None:
    cache, decoder = Waited(100 * BYTES), Decoder()
    begun = threading.Event()

    def failing(rows: NDArray[np.int64], out: NDArray[Any]) -> NDArray[np.bool_]:
        begun.set()
        assert cache.second.wait(60)
        raise ValueError("torn")

    def later() -> None:
        assert begun.wait(60)
        read(cache, [2, 3], decoder)

    failures = together(lambda: read(cache, [1, 2], failing), later)
    assert [str(failure) for failure in failures] == ["torn"]
    assert decoder.decoded == Counter({2: 1, 3: 1})
    read(cache, [1, 2, 3], decoder)
    assert not cache._claims


@given(
    plans=st.lists(st.lists(ROWS, min_size=1, max_size=5), min_size=2, max_size=4),
    failing=st.sets(st.integers(0, 12), max_size=2),
)
def test_no_threads_wait_for_each_other(plans: list[list[list[int]]], failing: set[int]) -> None:
    cache, decoder = RowCache(6 * BYTES), Decoder()

    def decode(rows: NDArray[np.int64], out: NDArray[Any]) -> NDArray[np.bool_]:
        if failing & set(rows.tolist()):
            raise ValueError("torn")
        return decoder(rows, out)

    def task(requests: list[list[int]]) -> None:
        for rows in requests:
            try:
                read(cache, rows, decode)
            except ValueError:
                assert failing & set(rows)

    assert not together(*(lambda requests=plan: task(requests) for plan in plans))  # type: ignore[misc]
    assert not cache._claims and cache.nbytes <= cache.limit
