"""Seconds, rates and ticks as int64 ns: exactly, rounded once."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from genlock._scaling import round_scaled
from genlock.errors import WindowError

Nanoseconds = NDArray[np.int64]
SECOND_NS = 1_000_000_000
REMEMBERED_TIMES = 2**14
MOST_TIMES = 2**28
UNIT_NS = {"s": SECOND_NS, "ms": 1_000_000, "us": 1_000, "ns": 1}

INT64_SENTINELS = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)

Seconds = int | float | str | Fraction


def exact(value: Seconds) -> Fraction:
    """Read a number as the decimal that is written, so that 0.1 is one tenth."""
    if type(value) is int:  # no bool: that is no number
        return Fraction(value)
    return value if isinstance(value, Fraction) else Fraction(str(value))


def to_ns(seconds: Seconds) -> int:
    """Convert seconds to ns, exactly and rounded once (half up)."""
    return rounded(exact(seconds) * SECOND_NS)


def rounded(value: Fraction) -> int:
    """The nearest whole number, half up."""
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def ticks_to_ns(ticks: NDArray[np.int64], ns_per_tick: Fraction) -> Nanoseconds:
    """Convert integer ticks to ns exactly; each value is rounded once, half up.

    ticks: int64, any shape. What does not fit int64 becomes its extreme, a sentinel that `settle`
    drops.
    """
    ticks = np.asarray(ticks, np.int64)
    return round_scaled(ticks, ns_per_tick.numerator, ns_per_tick.denominator)


def regular_grid(start_ns: int, duration_ns: int, rate: Seconds) -> Nanoseconds:
    """Give start + round(k * 10**9 / rate) for every k with k * 10**9 / rate < duration.

    rate: Hz, read as an exact decimal. Returns int64 [T]. Raises WindowError for more than 2**28
    times, which no memory is meant to hold.
    """
    grid = _remembered_grid(duration_ns, rate)
    return start_ns + (_grid_from_zero(duration_ns, rate) if grid is None else grid)


def _grid_from_zero(duration_ns: int, rate: Seconds) -> Nanoseconds:
    count, period = _grid_steps(duration_ns, rate)
    if count > MOST_TIMES:
        raise WindowError(
            f"a window of {duration_ns / SECOND_NS:g} s at {float(exact(rate)):g} Hz would have "
            f"{count} grid times: take a shorter duration or a lower rate"
        )
    return ticks_to_ns(np.arange(count, dtype=np.int64), period)


@lru_cache(maxsize=64, typed=True)  # Fraction(0.1) equals 0.1, which is read as a tenth
def _remembered_grid(duration_ns: int, rate: Seconds) -> Nanoseconds | None:
    """The grid that every window of a field has but for its start; None for a long one."""
    if _grid_steps(duration_ns, rate)[0] > REMEMBERED_TIMES:
        return None
    grid = _grid_from_zero(duration_ns, rate)
    grid.flags.writeable = False
    return grid


def _grid_steps(duration_ns: int, rate: Seconds) -> tuple[int, Fraction]:
    """How many steps of a rate fit into a duration, and the ns of each."""
    period = SECOND_NS / exact(rate)
    return max(0, -((-duration_ns * period.denominator) // period.numerator)), period
