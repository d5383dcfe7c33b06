"""Exact scaling of int64 arrays by a ratio of integers: the arithmetic under every time.

A time of 1.7 * 10**18 ns has 61 bits. float64 keeps 53 of them, and a product of two such numbers
overflows int64, so neither can convert ticks or follow a drifting clock to the nanosecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST, MOST = -(2**63), 2**63 - 1


def round_scaled(values: NDArray[np.int64], numerator: Any, denominator: Any) -> NDArray[np.int64]:
    """Give round(values * numerator / denominator), exactly and half up.

    values: int64, any shape. numerator, denominator (positive): one integer of any size, or int64
    of the shape of values. What does not fit int64 becomes its extreme.
    """
    if values.size == 1 and isinstance(numerator, int):
        value = (2 * int(values.flat[0]) * numerator + denominator) // (2 * denominator)
        return np.array(min(max(value, LEAST), MOST), np.int64).reshape(values.shape)
    whole, rest = divmod(numerator, denominator)
    more = rest > denominator - rest
    whole, rest = whole + more, rest - more * denominator
    ratio = rest / denominator
    # The estimate below is off by the last bits of float64 and by what floor cuts.
    error = _largest(values) * float(np.max(np.abs(ratio), initial=0)) * 2.0**-51 + 1
    too_wide = _largest(denominator) * (2 * error + 1) >= 2**62
    if too_wide or _largest(values) * (_largest(whole) + 1) >= 2**62:
        return _by_python_integers(values, numerator, denominator)
    estimate = np.floor(values * ratio).astype(np.int64)
    # Both products may wrap around; their difference is small, so it is right all the same.
    with np.errstate(over="ignore"):
        remainder = values * rest - estimate * denominator
    correction = (2 * remainder + denominator) // (2 * denominator)
    return np.asarray(values * whole + estimate + correction, np.int64)


def _largest(numbers: Any) -> int:
    """The largest magnitude; not by np.abs, which leaves the least int64 negative."""
    return max(int(np.max(numbers, initial=0)), -int(np.min(numbers, initial=0)))


def _by_python_integers(
    values: NDArray[np.int64], numerator: Any, denominator: Any
) -> NDArray[np.int64]:
    """The same slowly, where int64 cannot hold even the difference."""
    terms = (np.atleast_1d(n).astype(object) for n in (values, numerator, denominator))
    value, above, below = terms
    rounded = (2 * value * above + below) // (2 * below)
    fitting = np.minimum(np.maximum(rounded, LEAST), MOST)
    return np.asarray(fitting, np.int64).reshape(values.shape)
