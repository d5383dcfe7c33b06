"""`ClockMap`: from a stream's clock to the recording's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from genlock._nanoseconds import INT64_SENTINELS, Nanoseconds, Seconds, exact, ticks_to_ns
from genlock._scaling import round_scaled
from genlock.errors import ClockError


@dataclass(frozen=True)
class ClockMap:
    """Take times of one clock to another: t_to = offset_ns + scale * t_from, or through knots.

    offset_ns: ns. scale: read as an exact decimal, so that 1.00004 keeps its precision at large
    epochs. knots: (from_ns, to_ns) pairs, increasing in both; between knots linear, outside with
    the slope of the outermost segment (slope 1 for a single knot). first: a map that is applied
    before this one. Immutable and thread-safe.
    """

    offset_ns: int = 0
    scale: Seconds = 1
    knots: tuple[tuple[int, int], ...] = ()
    first: ClockMap | None = None

    def __post_init__(self) -> None:
        if exact(self.scale) <= 0:
            raise ValueError(f"a clock's scale must be positive, not {self.scale}")
        if self.knots and np.diff(np.array(self.knots, np.int64), axis=0).min(initial=1) <= 0:
            raise ValueError("the knots of a clock must increase in both columns")

    @cached_property
    def is_identity(self) -> bool:
        moves = self.offset_ns or self.knots or self.first or exact(self.scale) != 1
        return not moves

    def then(self, clock: ClockMap) -> ClockMap:
        """The map that takes a time through this one and then through `clock`."""
        if self.is_identity or clock.is_identity:
            return self if clock.is_identity else clock
        return replace(clock, first=self.then(clock.first) if clock.first else self)

    def forward(self, ns: Nanoseconds | int) -> Nanoseconds:
        """Times on the target clock; int64 in, int64 out, same shape, rounded half up.

        Raises ClockError where they would leave int64.
        """
        times: Nanoseconds = np.asarray(ns, np.int64)
        if self.is_identity:
            return times
        if self.first is not None:
            times = self.first.forward(times)
        if self.knots:
            return _through_knots(times, *self._knots)
        return self._shifted(ticks_to_ns(times, exact(self.scale)))

    def _shifted(self, times: Nanoseconds) -> Nanoseconds:
        if times.size:
            for end in (int(times.min()), int(times.max())):
                if abs(end + self.offset_ns) >= INT64_SENTINELS[0]:
                    raise ClockError(
                        f"offset_ns={self.offset_ns} takes the time {end} ns out of the range of "
                        "int64 ns: check the clock's offset and scale"
                    )
        return np.asarray(times + self.offset_ns, np.int64)

    def backward(self, ns: Nanoseconds | int) -> Nanoseconds:
        """Times on the source clock; the inverse of `forward` to within 1 ns near scale 1."""
        times: Nanoseconds = np.asarray(ns, np.int64)
        if self.is_identity:
            return times
        if self.knots:
            times = _through_knots(times, *self._knots[::-1])
        else:
            times = ticks_to_ns(times - self.offset_ns, 1 / exact(self.scale))
        return times if self.first is None else self.first.backward(times)

    def inverse(self) -> ClockMap:
        """The map back: its `forward` is this one's `backward`."""
        if self.knots:
            own = ClockMap(knots=tuple((target, source) for source, target in self.knots))
        else:
            own = ClockMap(-self.offset_ns).then(ClockMap(scale=1 / exact(self.scale)))
        return own if self.first is None else own.then(self.first.inverse())

    @cached_property
    def _knots(self) -> tuple[Nanoseconds, Nanoseconds]:
        source, target = np.array(self.knots, np.int64).T
        return source, target


def _through_knots(times: Nanoseconds, source: Nanoseconds, target: Nanoseconds) -> Nanoseconds:
    if len(source) == 1:
        return np.asarray(times - source[0] + target[0], np.int64)
    segment = np.clip(np.searchsorted(source, times, "right") - 1, 0, len(source) - 2)
    run, rise = np.diff(source)[segment], np.diff(target)[segment]
    elapsed = times - source[segment]
    return np.asarray(target[segment] + round_scaled(elapsed, rise, run), np.int64)
