"""`Timeline` (the int64 ns times of a stream's rows), `SampledTimeline` (the same for audio, as a
rule instead of an array), and what was done to times that a file states (`settle`, `Report`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import INT64_SENTINELS, SECOND_NS, Nanoseconds, rounded, ticks_to_ns
from genlock.clock import ClockMap


def rows_in(ns: Nanoseconds, start_ns: int, end_ns: int) -> slice:
    """Where start_ns <= time < end_ns in sorted times."""
    # bisect keeps Python's lock: searchsorted drops it, and has to wait for it again
    return slice(bisect_left(ns, start_ns), bisect_left(ns, end_ns))


class Usable(NamedTuple):
    """Rows of a timeline that hold something: which ones, None for all, their times and durations.

    rows, ns: int64 [M], sorted. durations_ns: int64 [M] or None.
    """

    rows: NDArray[np.int64] | None
    ns: Nanoseconds
    durations_ns: Nanoseconds | None


class Timeline:
    """The times of a stream's rows: sorted int64 ns, with durations and validity where known.

    ns: int64 [N], sorted, ties allowed. durations_ns: int64 [N] or None. valid: bool [N] or None;
    an invalid row is listed by the source but holds nothing usable. Read-only and thread-safe.
    """

    def __init__(
        self,
        ns: Nanoseconds | Sequence[int],
        durations_ns: Nanoseconds | None = None,
        valid: NDArray[np.bool_] | None = None,
    ) -> None:
        self._ns = np.ascontiguousarray(ns, np.int64)
        if self._ns.ndim != 1 or (self._ns[1:] < self._ns[:-1]).any():
            raise ValueError("a timeline is one sorted row of times")
        self.durations_ns = durations_ns
        self._valid = valid
        for array in (self._ns, durations_ns, valid):
            if array is not None:
                if array.shape != self._ns.shape:
                    raise ValueError("durations and validity need one entry for each time")
                array.flags.writeable = False

    @property
    def ns(self) -> Nanoseconds:
        """int64 [N] ns, sorted."""
        return self._ns

    @property
    def valid(self) -> NDArray[np.bool_] | None:
        """bool [N], or None where every row is valid."""
        return self._valid

    def __len__(self) -> int:
        return len(self.ns)

    @cached_property
    def period_ns(self) -> int:
        """Median step between rows of different times in ns; 0 with fewer than two such rows."""
        steps = np.diff(self.ns)
        steps = steps[steps > 0]
        return int(np.median(steps)) if len(steps) else 0

    @cached_property
    def longest_ns(self) -> int:
        """The longest duration of a row in ns; 0 where durations are unknown."""
        return 0 if self.durations_ns is None else int(self.durations_ns.max(initial=0))

    @property
    def start_ns(self) -> int:
        """Time of the first row. Raises ValueError on an empty timeline."""
        if not len(self):
            raise ValueError("an empty timeline has no start")
        return int(self.ns[0])

    @property
    def end_ns(self) -> int:
        """End, exclusive: the last row plus its duration, else plus the median period.

        Raises ValueError on an empty timeline.
        """
        if not len(self):
            raise ValueError("an empty timeline has no end")
        last = int(self.ns[-1])
        known = 0 if self.durations_ns is None else int(self.durations_ns[-1])
        return last + max(known or self.period_ns, 1)

    def rows_in(self, start_ns: int, end_ns: int) -> slice:
        """Rows with start_ns <= time < end_ns."""
        return rows_in(self.ns, start_ns, end_ns)

    @cached_property
    def usable(self) -> Usable:
        """The valid rows."""
        valid = self.valid
        if valid is None or valid.all():
            return Usable(None, self.ns, self.durations_ns)
        rows = np.flatnonzero(valid)
        durations = self.durations_ns
        return Usable(rows, self.ns[rows], None if durations is None else durations[rows])

    def only(self, valid: NDArray[np.bool_]) -> Timeline:
        """The same rows, of which those hold something usable that do so here and in `valid`."""
        kept = copy(self)
        kept._valid = (valid if self.valid is None else self.valid & valid).view()
        kept._valid.flags.writeable = False
        kept.__dict__.pop("usable", None)
        return kept

    def mapped(self, clock: ClockMap) -> Timeline:
        """The same rows on another clock."""
        if clock.is_identity:
            return self
        durations = self.durations_ns
        if durations is not None:
            durations = clock.forward(self.ns + durations) - clock.forward(self.ns)
        return Timeline(clock.forward(self.ns), durations, self._valid)

    def __repr__(self) -> str:
        if not len(self):
            return f"{type(self).__name__}(empty)"
        span = (self.end_ns - self.start_ns) / SECOND_NS
        return f"{type(self).__name__}({len(self)} rows, {span:.3f} s from {self.start_ns} ns)"


@lru_cache
def _period(rate: int) -> Fraction:
    """Nanoseconds from one sample to the next."""
    return Fraction(SECOND_NS, rate)


class SampledTimeline(Timeline):
    """The times of audio samples: first_ns + round(i * 10**9 / rate), through a clock.

    first_ns: time of sample 0 on the stream's own clock. rate: Hz. count: samples from the first
    to the last, holes included. segments: half-open (start, stop) sample ranges that hold data,
    sorted and disjoint; the rest are holes. `ns` is computed when asked for (8 bytes a sample).
    """

    def __init__(
        self,
        first_ns: int,
        rate: int,
        count: int,
        segments: Sequence[tuple[int, int]] | None = None,
        clock: ClockMap | None = None,
    ) -> None:
        self.first_ns = first_ns
        self.rate = rate
        self.count = count
        self.segments = tuple(segments) if segments is not None else ((0, count),) if count else ()
        self.clock = clock or ClockMap()
        self.durations_ns = None

    @property
    def ns(self) -> Nanoseconds:
        return self.at(np.arange(self.count, dtype=np.int64))

    def at(self, samples: NDArray[np.int64], rate: int | None = None) -> Nanoseconds:
        """Times of samples of this timeline at `rate` (default its own), on the mapped clock."""
        return self.clock.forward(self.first_ns + ticks_to_ns(samples, _period(rate or self.rate)))

    def nearest(self, time_ns: int, rate: int | None = None) -> int:
        """The sample at `rate` nearest to a time on the mapped clock (tie: the earlier).

        It may lie outside the timeline.
        """
        elapsed = int(self.clock.backward(time_ns)) - self.first_ns
        # half down, in integers: reducing a fraction takes longer than all else here
        return -((SECOND_NS - 2 * elapsed * (rate or self.rate)) // (2 * SECOND_NS))

    def __len__(self) -> int:
        return self.count

    @property
    def period_ns(self) -> int:
        return rounded(_period(self.rate))

    @property
    def valid(self) -> NDArray[np.bool_] | None:
        if self.segments == ((0, self.count),):
            return None
        valid = np.zeros(self.count, np.bool_)
        for start, stop in self.segments:
            valid[start:stop] = True
        return valid

    @property
    def start_ns(self) -> int:
        if not self.count:
            raise ValueError("an empty timeline has no start")
        return int(self.clock.forward(self.first_ns))

    @property
    def end_ns(self) -> int:
        return int(self.at(np.array([self.count]))[0])

    def rows_in(self, start_ns: int, end_ns: int) -> slice:
        return slice(self._first_from(start_ns), self._first_from(end_ns))

    def _first_from(self, time_ns: int) -> int:
        """The first sample whose rounded time is at or after a time."""
        nearest = self.nearest(time_ns)
        before = int(self.at(np.array([nearest]))[0]) < time_ns
        return min(max(nearest + before, 0), self.count)

    def mapped(self, clock: ClockMap) -> SampledTimeline:
        through = self.clock.then(clock)
        return SampledTimeline(self.first_ns, self.rate, self.count, self.segments, through)


@dataclass(frozen=True)
class Report:
    """What was found wrong with a stream's times, and what was done about it.

    Counts of entries: dropped (negative or sentinel stamps), reordered (moved by sorting), ties
    (equal to the entry before), missing (listed but absent). notes: sentences.
    """

    dropped: int = 0
    reordered: int = 0
    ties: int = 0
    missing: int = 0
    notes: tuple[str, ...] = field(default=())

    def noting(self, *notes: str) -> Report:
        """The same report with more notes."""
        return replace(self, notes=self.notes + notes)


def settle(raw_ns: Nanoseconds) -> tuple[NDArray[np.intp], Report]:
    """Order the times that a file states: drop negative and sentinel stamps, sort stably.

    raw_ns: int64 [M] as stored. Returns the entries to keep in order (so that raw_ns[kept] is
    sorted) and a report that counts what was dropped, moved and tied.
    """
    raw_ns = np.asarray(raw_ns, np.int64)
    usable = np.flatnonzero((raw_ns >= 0) & ~np.isin(raw_ns, INT64_SENTINELS))
    order = np.argsort(raw_ns[usable], kind="stable")
    kept = usable[order]
    steps = np.diff(raw_ns[kept])
    report = Report(
        dropped=len(raw_ns) - len(usable),
        reordered=int((order != np.arange(len(order))).sum()),
        ties=int((steps == 0).sum()),
    )
    return kept, report
