"""A column of times to int64 ns, exactly: no stamp passes through a float.

Whole numbers are scaled as integers. Decimal text such as "1403636579.758555392" is scaled as a
decimal and rounded once, half up. Floats are read as the shortest decimal that names them, so
that a stored 0.05 s is 50 ms. ISO 8601 datetimes count from 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS, UNIT_NS, Nanoseconds, ticks_to_ns
from genlock.tables.arrays import is_text

LARGEST_NS = int(np.iinfo(np.int64).max)
NO_TIME_NS = int(np.iinfo(np.int64).min)
"""Stands for a missing or unrepresentable stamp; `timeline.settle` drops and counts it."""

_DIGITS = {"s": 9, "ms": 6, "us": 3, "ns": 0}
_DECIMAL = pa.decimal128(38, 18)
# Arrow reads past a table, and may crash, on decimals of more than 38 places
_SAFE_DECIMAL = r"^[+-]?(\d{1,19}(\.\d{0,18})?|\.\d{1,18})([eE][+-]?1?\d)?$"
_DATETIME = re.compile(r"\d{4}-\d\d-\d\d")
_ZONED = re.compile(r".*\d(?:Z|[+-]\d\d:?(?:\d\d)?)", re.IGNORECASE)


def undeclared(column: pa.ChunkedArray, unit: str | None, zone: str | None) -> str | None:
    """What must be declared before these times can be read: "unit", "zone", or None for nothing."""
    kind = _kind(column)
    if kind == "number":
        return None if unit else "unit"
    return None if kind == "absolute" or zone else "zone"


def _kind(column: pa.ChunkedArray) -> Literal["number", "absolute", "local"]:
    if pa.types.is_timestamp(column.type):
        return "absolute" if column.type.tz else "local"
    if pa.types.is_duration(column.type):
        return "absolute"
    if is_text(column.type):
        first = next((str(cell) for cell in column if cell.is_valid), "")
        if _DATETIME.match(first):
            return "absolute" if _ZONED.fullmatch(first) else "local"
    return "number"


def stamps_ns(column: pa.ChunkedArray, unit: str | None, zone: str | None = None) -> Nanoseconds:
    """Read a column of times: int64 [M] ns in the order of the rows, `NO_TIME_NS` where none is.

    unit: "s", "ms", "us" or "ns", for numbers. zone: of datetimes that do not say theirs. Raises
    ValueError for what is not a time, naming the row.
    """
    if _kind(column) != "number":
        return _from_datetimes(column, zone)
    assert unit is not None, "ask `undeclared` first"
    if pa.types.is_integer(column.type):
        return _from_integers(column, UNIT_NS[unit])
    if pa.types.is_floating(column.type):
        finite = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
        column = pc.cast(finite, pa.string())
    if not (is_text(column.type) or pa.types.is_decimal(column.type)):
        raise ValueError(f"a column of {column.type} holds no times")
    return _from_decimals(pc.cast(column, pa.string()), _DIGITS[unit])


def _from_integers(column: pa.ChunkedArray, tick_ns: int) -> Nanoseconds:
    # unsigned values above int64 are no representable times: they turn negative and are dropped
    ticks = pc.cast(column, pa.int64(), safe=False).fill_null(NO_TIME_NS).to_numpy()
    usable = np.abs(ticks // 2) < LARGEST_NS // tick_ns // 2
    return np.where(usable, ticks_to_ns(np.where(usable, ticks, 0), Fraction(tick_ns)), NO_TIME_NS)


def _from_decimals(column: pa.ChunkedArray, digits: int) -> Nanoseconds:
    if pc.all(pc.match_substring_regex(column, _SAFE_DECIMAL)).as_py() is not False:
        with suppress(pa.ArrowInvalid):  # more than 38 digits after all
            exact = pc.cast(column, _DECIMAL)
            rounded = pc.round(exact, ndigits=digits, round_mode="half_up")
            return _unscaled(pc.cast(rounded, pa.decimal128(38, digits)))
    cells = enumerate(column.to_pylist(), start=1)
    return np.array([_one_by_one(row, cell, digits) for row, cell in cells], np.int64)


def _unscaled(column: pa.ChunkedArray) -> Nanoseconds:
    """The integers that Arrow stores for decimals: 128 bits each, low word first."""
    parts: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for chunk in column.chunks:
        words = np.frombuffer(chunk.buffers()[1], np.int64).reshape(-1, 2)
        low, high = words[chunk.offset : chunk.offset + len(chunk)].T
        usable = np.asarray(chunk.is_valid()) & (high == low >> 63)
        parts.append(np.where(usable, low, NO_TIME_NS))
    return np.concatenate(parts)


def _one_by_one(row: int, cell: str | None, digits: int) -> int:
    if cell is None:
        return NO_TIME_NS
    try:
        value = Decimal(cell)
    except InvalidOperation:
        raise ValueError(f"row {row}: {cell!r} is not a time") from None
    # the exponent is looked at first: a few characters can claim a number of 10**9 digits
    if not value.is_finite() or value.adjusted() > 20:
        return NO_TIME_NS
    scaled = Fraction(value) * 10**digits if value.adjusted() > -20 else Fraction(0)
    nearest = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return nearest if abs(nearest) <= LARGEST_NS else NO_TIME_NS


def _from_datetimes(column: pa.ChunkedArray, zone: str | None) -> Nanoseconds:
    try:
        if is_text(column.type):
            local = _kind(column) == "local"
            column = pc.cast(column, pa.timestamp("ns", None if local else "UTC"))
        if pa.types.is_timestamp(column.type) and not column.type.tz:
            column = pc.assume_timezone(column, zone)
        if pa.types.is_timestamp(column.type):
            column = pc.cast(column, pa.timestamp("ns", "UTC"))
        else:
            column = pc.cast(column, pa.duration("ns"))
    except pa.ArrowInvalid as error:
        raise ValueError(str(error)) from error
    stamps: Nanoseconds = pc.cast(column, pa.int64()).fill_null(NO_TIME_NS).to_numpy()
    return stamps


def regular_ns(count: int, rate: Fraction) -> Nanoseconds:
    """Times of rows at a fixed rate in Hz, the first at 0: int64 [count] ns."""
    return ticks_to_ns(np.arange(count, dtype=np.int64), SECOND_NS / rate)


def unwrapped(stamps: Nanoseconds, bits: int, unit: str) -> Nanoseconds:
    """Undo the overflow of a counter of so many bits that ticks in `unit`.

    A step back by more than half the counter's range counts as an overflow, so a jump ahead by as
    much after it is a late row from before. Missing stamps stay missing.
    """
    period = UNIT_NS[unit] << bits
    known = stamps >= 0
    steps = np.diff(stamps[known], prepend=stamps[known][:1])
    laps = np.cumsum((2 * steps < -period).astype(np.int64) - (2 * steps > period))
    result = stamps.copy()
    result[known] += laps * period
    return result
