"""Columns as arrays: quaternions of norm 1, and which rows hold a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from genlock.decoders.table import QUATERNION, TableDecoder, valid_rows
from genlock.interfaces import CodecSpec, Units
from genlock.stream import Modality, Stream, StreamInfo
from genlock.timeline import Timeline


class Table:
    """Units of one table that is in memory."""

    spec = CodecSpec("columns")

    def __init__(self, columns: Mapping[str, np.ndarray]) -> None:
        self._columns = columns

    def unit(self, index: int) -> Any:
        return self._columns

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        yield 0, self._columns

    def close(self) -> None: ...


def decoded(columns: Mapping[str, np.ndarray], kind: Modality = "pose") -> Mapping[str, np.ndarray]:
    units: Units = Table(columns)
    rows = len(next(iter(columns.values())))
    stream = Stream("s", StreamInfo(kind, "columns"), Timeline(np.arange(rows)))
    return TableDecoder(units, stream).columns()


def pose(quaternions: np.ndarray) -> dict[str, np.ndarray]:
    columns = {name: np.arange(len(quaternions), dtype=float) for name in ("tx", "ty", "tz")}
    return columns | dict(zip(QUATERNION, quaternions.T, strict=True))


COMPONENT = st.floats(-1e300, 1e300).filter(lambda v: v == 0 or abs(v) > 1e-300)


@given(npst.arrays(np.float64, st.tuples(st.integers(1, 8), st.just(4)), elements=COMPONENT))
def test_quaternions_get_norm_1_and_keep_their_direction(quaternions: np.ndarray) -> None:
    columns = decoded(pose(quaternions))
    result = np.stack([columns[name] for name in QUATERNION], axis=1)
    largest = np.abs(quaternions).max(axis=1, keepdims=True)
    there = largest[:, 0] > 0
    np.testing.assert_allclose(np.linalg.norm(result[there], axis=1), 1, rtol=1e-12)
    scaled = quaternions[there] / largest[there]
    expected = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    np.testing.assert_allclose(result[there], expected, atol=1e-15)
    assert np.isnan(result[~there]).all()
    assert valid_rows(columns, columns).tolist() == there.tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_quaternion_that_is_no_rotation_is_invalid(bad: float) -> None:
    columns = decoded(pose(np.array([[0, 0, 0, 2.0], [0, bad, 0, 1]])))
    assert columns["qw"][0] == 1
    assert valid_rows(columns, columns).tolist() == [True, False]
    assert valid_rows(columns, ["tx"]).tolist() == [True, True]


def test_other_tables_are_left_as_they_are() -> None:
    quaternions = pose(np.full((3, 4), 2.0))
    assert decoded(quaternions, "sensor")["qx"] is quaternions["qx"]


def test_results_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        decoded(pose(np.ones((2, 4))))["qx"][0] = 5


def test_rows_are_valid_by_the_columns_that_are_asked_for() -> None:
    columns = {
        "x": np.array([1.0, np.nan, 3.0, np.inf]),
        "v": np.array([[1, 2], [1, 2], [np.nan, 2], [1, 2]], np.float32),
        "n": np.array([1, 2, 3, 4]),
        "ok": np.array([True, False, True, True]),
        "text": np.array(["a", None, "c", "d"], object),
    }
    assert valid_rows(columns, ["x"]).tolist() == [True, False, True, False]
    assert valid_rows(columns, ["x", "v"]).tolist() == [True, False, False, False]
    assert valid_rows(columns, ["n", "ok", "text"]).all()
    assert valid_rows(columns, []).tolist() == [True] * 4
