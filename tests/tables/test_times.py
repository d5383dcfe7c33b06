"""Stamps to ns, against exact fractions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import floor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.tables.times import NO_TIME_NS, regular_ns, stamps_ns, undeclared, unwrapped

NS_IN = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
UNITS = st.sampled_from(sorted(NS_IN))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def column(values: list[object], kind: pa.DataType | None = None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


def rounded(value: Fraction) -> int:
    """Half up; what int64 cannot hold is no time."""
    nearest = floor(value + Fraction(1, 2))
    return nearest if abs(nearest) < 2**63 else NO_TIME_NS


@st.composite
def decimals(draw: st.DrawFn) -> str:
    whole = draw(st.integers(-(10**13), 10**13))
    digits = draw(st.text("0123456789", max_size=25))
    exponent = draw(st.sampled_from(["", "e3", "E-2", "e+1"]))
    return f"{whole}{'.' if digits or draw(st.booleans()) else ''}{digits}{exponent}"


@given(st.lists(decimals(), min_size=1), UNITS)
def test_decimal_text_is_scaled_exactly_and_rounded_once(texts: list[str], unit: str) -> None:
    expected = [rounded(Fraction(text) * NS_IN[unit]) for text in texts]
    assert stamps_ns(column(texts), unit).tolist() == expected


def test_euroc_seconds_keep_every_digit() -> None:
    texts = column(["1403636579.758555392", "0.0000000005", "0.00000000049"])
    assert stamps_ns(texts, "s").tolist() == [1403636579758555392, 1, 0]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), UNITS)
def test_whole_numbers_stay_exact_or_are_no_times(ticks: list[int], unit: str) -> None:
    result = stamps_ns(column(ticks, pa.int64()), unit).tolist()
    for tick, ns in zip(ticks, result, strict=True):
        assert ns in (tick * NS_IN[unit], NO_TIME_NS)
        # nothing within 146 years of 1970 is ever lost
        assert ns == tick * NS_IN[unit] or abs(tick * NS_IN[unit]) >= 2**62


@given(st.lists(st.floats(0, 4e9), min_size=1), UNITS)
def test_floats_are_read_as_the_decimals_that_name_them(values: list[float], unit: str) -> None:
    expected = [rounded(Fraction(Decimal(repr(value))) * NS_IN[unit]) for value in values]
    assert stamps_ns(column(values, pa.float64()), unit).tolist() == expected


def test_float32_is_read_at_its_own_precision() -> None:
    assert stamps_ns(column([0.05, 0.1], pa.float32()), "s").tolist() == [50_000_000, 100_000_000]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None, 5], pa.int64()),
        ([2**64 - 1, 5], pa.uint64()),
        ([float("nan"), 5.0], pa.float64()),
        ([float("inf"), 5.0], pa.float64()),
        (["inf", "5"], pa.string()),
        (["1e999999999", "5"], pa.string()),
        ([None, "5.0"], pa.string()),
    ],
)
def test_what_is_no_time_is_marked_so(values: list[object], kind: pa.DataType) -> None:
    missing, present = stamps_ns(column(values, kind), "ms").tolist()
    assert missing < 0
    assert present == 5_000_000


def test_vanishing_numbers_are_zero_without_being_expanded() -> None:
    assert stamps_ns(column(["1e-999999999", "0.1"]), "s").tolist() == [0, 100_000_000]


def test_text_that_is_no_number_names_its_row() -> None:
    with pytest.raises(ValueError, match=r"row 2: '12:30' is not a time"):
        stamps_ns(column(["1.5", "12:30"]), "s")


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)),
    st.integers(0, 999),
    st.integers(-14 * 60, 14 * 60),
)
def test_iso_datetimes_are_right_to_the_ns(local: datetime, ns: int, minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    stamp = local.replace(tzinfo=zone)
    text = f"{local:%Y-%m-%dT%H:%M:%S}.{local.microsecond:06}{ns:03}{stamp:%z}"
    since = stamp - EPOCH
    expected = (since // timedelta(microseconds=1)) * 1000 + ns
    assert stamps_ns(column([text]), None).tolist() == [expected]


def test_utc_and_stored_datetimes() -> None:
    assert stamps_ns(column(["2024-02-29 00:00:00.000000001Z"]), None)[0] == 1709164800000000001
    stored = column([1_500], pa.timestamp("us", "Europe/Zurich"))
    assert stamps_ns(stored, None).tolist() == [1_500_000]
    assert stamps_ns(column([3], pa.duration("ms")), None).tolist() == [3_000_000]


def test_what_must_be_declared() -> None:
    assert undeclared(column([1, 2]), None, None) == "unit"
    assert undeclared(column(["1.5"]), None, None) == "unit"
    assert undeclared(column(["1.5"]), "s", None) is None
    assert undeclared(column(["2024-01-01T00:00:00"]), "s", None) == "zone"
    assert undeclared(column(["2024-01-01T00:00:00"]), None, "UTC") is None
    assert undeclared(column(["2024-01-01T00:00:00+01:00"]), None, None) is None
    assert undeclared(column([0], pa.timestamp("ns")), None, None) == "zone"


def test_local_times_take_a_declared_zone() -> None:
    texts = column(["1970-07-01T00:00:00", None])
    first, missing = stamps_ns(texts, None, "+02:00").tolist()
    assert first == (181 * 24 - 2) * 3600 * 10**9
    assert missing == NO_TIME_NS
    with pytest.raises(ValueError, match="Nowhere"):
        stamps_ns(texts, None, "Nowhere")


def test_rates_do_not_drift() -> None:
    rate = Fraction(30_000, 1001)
    expected = [rounded(k * 10**9 / rate) for k in range(1000)]
    assert regular_ns(1000, rate).tolist() == expected


@given(
    st.integers(0, 2**33),
    st.lists(st.integers(-(2**20), 2**30), min_size=1),
)
def test_counters_unwrap_to_what_they_counted(start: int, steps: list[int]) -> None:
    counted = start + np.cumsum([0, *steps])
    shown = counted % 2**32
    ticks = unwrapped(shown * 1000, 32, "us") // 1000
    assert np.diff(ticks).tolist() == np.diff(counted).tolist()
    assert ticks[0] == shown[0]


def test_a_missing_stamp_does_not_disturb_unwrapping() -> None:
    stamps = np.array([250, NO_TIME_NS, 3])
    assert unwrapped(stamps, 8, "ns").tolist() == [250, NO_TIME_NS, 259]
