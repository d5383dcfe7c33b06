"""Numbers that users give to windows: read exactly, or refused with their name."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from genlock._nanoseconds import Seconds, exact, to_ns
from genlock.errors import WindowError

LARGEST = 2**64 - 1


def whole_number(name: str, value: Any, least: int, most: int = LARGEST) -> int:
    """The value as an int. Raises WindowError unless it is a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise WindowError(f"{name} is a whole number, not {value!r}")
    if not least <= value <= most:
        raise WindowError(f"{name} must be from {least} to {most}, not {value}")
    return int(value)


def positive_ns(name: str, seconds: Seconds, least: int = 1) -> int:
    """A duration in ns. Raises WindowError unless it is at least `least` and below 146 years."""
    try:
        ns = to_ns(seconds)
    except (ValueError, ZeroDivisionError) as error:
        raise WindowError(f"{name} is a number of seconds, not {seconds!r}") from error
    if not least <= ns < 2**62:
        raise WindowError(f"{name} must be from {least} ns to 2**62 ns, not {seconds!r} seconds")
    return ns


def fractions_of(name: str, values: Sequence[Seconds]) -> list[Fraction]:
    """Numbers read as exact decimals. Raises WindowError, naming what they are."""
    try:
        fractions = [exact(value) for value in values]
    except (ValueError, ZeroDivisionError) as error:
        raise WindowError(f"{name} are numbers, not {values!r}") from error
    if not fractions:
        raise WindowError(f"{name} must hold at least one number")
    return fractions
