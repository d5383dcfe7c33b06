"""What all fields share: a stream, checked options, and for most a grid of times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

from genlock._nanoseconds import SECOND_NS, Seconds, exact, to_ns
from genlock.errors import FieldError
from genlock.stream import Modality

Method = Literal["nearest", "previous", "next", "linear", "slerp"]

NEAREST_TOLERANCE = Fraction(3, 4)
"""Default tolerance of `nearest`, in median periods of the stream."""
HOLD_TOLERANCE = Fraction(3, 2)
"""The same of `previous` and `next`: a grid time between two rows is up to one period from each."""
MAX_GAP = 3
"""Default `max_gap` of interpolation, in median periods of the stream."""


@dataclass(frozen=True)
class Field:
    """Base of all fields: which stream it reads."""

    stream: str

    modalities: ClassVar[tuple[Modality, ...]] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.stream, str) or not self.stream:
            raise FieldError(f"a field's first argument is a stream's name, not {self.stream!r}")

    def _number(self, name: str, value: Any) -> Fraction:
        """An option's exact value. Raises FieldError unless it is a finite number."""
        try:
            return exact(value)
        except (TypeError, ValueError, ZeroDivisionError) as error:
            raise self._fail(f"{name} is a number, not {value!r}") from error

    def _whole(self, name: str, value: Any) -> int:
        number = self._number(name, value)
        if number.denominator != 1:
            raise self._fail(f"{name} is a whole number, not {value!r}")
        return int(number)

    def _listed(self, name: str, value: Any) -> tuple[Any, ...]:
        if isinstance(value, str | bytes) or not isinstance(value, Iterable):
            raise self._fail(f"{name} is a list, not {value!r}")
        return tuple(value)

    def fingerprint(self) -> str:
        """A text that two fields share exactly if they ask for the same."""
        options = ((f.name, getattr(self, f.name)) for f in fields(self))
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in options)})"

    def _fail(self, problem: str) -> FieldError:
        return FieldError(f"{type(self).__name__}({self.stream!r}): {problem}", stream=self.stream)


@dataclass(frozen=True)
class GridField(Field):
    """A field that is sampled at grid times, row by row.

    method: "nearest" takes the closest row (tie: the earlier), "previous" the last row at or
    before the grid time, as a player shows it, "next" the first at or after it; "linear" and
    "slerp" blend the rows on both sides. tolerance: seconds, how far a row may be from the grid
    time unless its duration reaches it (default 0.75 median periods of the stream for "nearest",
    1.5 for "previous" and "next"). max_gap: seconds, how far apart two blended rows may be
    (default 3 median periods). Both limits are inclusive, and each holds for its methods only.
    Where no row qualifies, the entry is masked.
    """

    rate: Seconds | None = None
    at: str | None = None
    offsets: Sequence[Seconds] | None = None
    method: Method = "nearest"
    tolerance: Seconds | None = None
    max_gap: Seconds | None = None

    methods: ClassVar[tuple[Method, ...]] = get_args(Method)

    def __post_init__(self) -> None:
        super().__post_init__()
        given = [name for name in ("rate", "at", "offsets") if getattr(self, name) is not None]
        if len(given) > 1:
            raise self._fail(f"{' and '.join(given)} are alternatives: keep one")
        if self.method not in self.methods:
            raise self._fail(f"method {self.method!r} is not one of {', '.join(self.methods)}")
        if self.at is not None and not isinstance(self.at, str):
            raise self._fail(f"at is the name of another field, not {self.at!r}")
        if self.rate is not None and not 0 < self._number("rate", self.rate) <= SECOND_NS:
            raise self._fail(f"rate must be positive and at most 1e9 Hz, not {self.rate}")
        if self.rate is not None and not isinstance(self.rate, int | float | str):
            object.__setattr__(self, "rate", exact(self.rate))  # some of NumPy do not hash
        for name in ("tolerance", "max_gap"):
            value = getattr(self, name)
            if value is not None and self._number(name, value) < 0:
                raise self._fail(f"{name} is a number of seconds, not {value}")
        if self.offsets is not None:
            offsets = self._listed("offsets", self.offsets)
            for offset in offsets:
                self._number("each of offsets", offset)
            object.__setattr__(self, "offsets", offsets)

    @cached_property
    def offsets_ns(self) -> tuple[int, ...]:
        """`offsets` in ns."""
        return tuple(map(to_ns, self.offsets or ()))

    @property
    def native(self) -> bool:
        """Whether the grid is the stream's own rows, so that windows differ in length."""
        return self.rate is None and self.at is None and self.offsets is None
