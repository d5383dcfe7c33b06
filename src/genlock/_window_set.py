"""Which windows there are, before any order: a window for each index.

    Tiling   windows of one duration laid over spans
    Clips    annotated clips, listed one by one (`_clips.py`)
    Picked   some windows of either
    Joined   several sets, one after another

None holds its windows: a tiling is as large as its spans, a clip takes 32 bytes and its label, a
picked window 8. All are immutable, picklable and thread-safe.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, chain
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock._span_table import Spans, SpanTable, as_table
from genlock.errors import WindowError

Indices = NDArray[np.int64]
Tail = Literal["drop", "pad"]

MOST_WINDOWS = 2**40


class Window(NamedTuple):
    """The range [start_ns, start_ns + duration_ns) of one recording.

    recording: its uri. start_ns: on the recording's clock. index: which one of its `Windows`, in
    the order of the spans or of the table, whatever the shuffle. label: of an annotated clip.
    """

    recording: str
    start_ns: int
    duration_ns: int
    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody asks of a window
    label: Any = None

    def __repr__(self) -> str:
        label = "" if self.label is None else f", label {self.label!r}"
        seconds = self.duration_ns / SECOND_NS
        return f"Window({self.index}: {self.recording} at {self.start_ns} ns, {seconds:g} s{label})"


class WindowSet(ABC):
    """Windows by index.

    duration_ns, stride_ns: of all windows, or None where they differ or there is none.
    """

    duration_ns: int | None
    stride_ns: int | None

    @property
    @abstractmethod
    def spans(self) -> SpanTable:
        """The recordings, those of a tiling that are too short for a window included."""

    @property
    def parts(self) -> Sequence[WindowSet]:
        """The sets that make up this one."""
        return (self,)

    @property
    @abstractmethod
    def overlapping(self) -> bool:
        """Whether windows are meant to share times of a recording, so that keeping rows pays."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def window(self, index: int) -> Window:
        """The window at 0 <= index < len."""

    @abstractmethod
    def keep(self, recordings: Collection[str]) -> WindowSet:
        """Only the windows of some recordings."""

    @abstractmethod
    def pick(self, indices: Indices) -> WindowSet:
        """Only the windows at some indices, in the order given."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What sets these windows apart, as JSON has it."""


class Primary(WindowSet):
    """Windows that are not taken from another set."""

    @abstractmethod
    def span_rows(self, indices: Indices) -> Indices:
        """Which of `spans` each window lies in."""

    def pick(self, indices: Indices) -> Picked:
        return Picked(self, indices)


class Tiling(Primary):
    """Windows at start + k * stride of every span.

    tail: "drop" keeps those that end inside the span, "pad" all that start in it.
    Raises WindowError naming a span that ends before it starts, and for more than 2**40 windows.
    """

    def __init__(self, spans: Spans, duration_ns: int, stride_ns: int, tail: Tail) -> None:
        if tail not in get_args(Tail):
            raise WindowError(f"tail is 'drop' or 'pad', not {tail!r}")
        self._spans = as_table(spans)
        self.duration_ns: int = duration_ns
        self.stride_ns: int = stride_ns
        self._tail = tail
        lengths = self._spans.end_ns - self._spans.start_ns
        for row in np.flatnonzero(lengths < 0)[:1]:
            span = self._spans[int(row)]
            raise WindowError(f"the span of {span.uri} ends before it starts", recording=span.uri)
        room = lengths - (duration_ns if tail == "drop" else 1)
        counts = np.maximum(room // stride_ns + 1, 0)
        if counts.sum(dtype=np.float64) > MOST_WINDOWS:
            raise WindowError(f"a stride of {stride_ns} ns gives more than 2**40 windows")
        self._ends = np.cumsum(counts)
        self._firsts = self._ends - counts

    @property
    def spans(self) -> SpanTable:
        return self._spans

    @property
    def overlapping(self) -> bool:
        return self.stride_ns < self.duration_ns

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def window(self, index: int) -> Window:
        row = int(self._ends.searchsorted(index, "right"))
        steps = index - self._firsts.item(row)
        start_ns = self._spans.start_ns.item(row) + steps * self.stride_ns
        return Window(self._spans.uri(row), start_ns, self.duration_ns, index)

    def span_rows(self, indices: Indices) -> Indices:
        return np.searchsorted(self._ends, indices, "right")

    def keep(self, recordings: Collection[str]) -> Tiling:
        kept = (span for span in self._spans if span.uri in recordings)
        return Tiling(kept, self.duration_ns, self.stride_ns, self._tail)

    def identity(self) -> dict[str, Any]:
        return {
            "spans": self._spans.fingerprint(),
            "duration_ns": self.duration_ns,
            "stride_ns": self.stride_ns,
            "tail": self._tail,
        }


class Picked(WindowSet):
    """Some windows of a primary set, in the order given; repeats allowed."""

    def __init__(self, base: Primary, indices: Indices) -> None:
        self._base = base
        self._indices = indices
        self.duration_ns = base.duration_ns
        self.stride_ns = None

    @property
    def spans(self) -> SpanTable:
        rows = np.unique(self._base.span_rows(self._indices))
        return SpanTable(self._base.spans[row] for row in rows.tolist())

    @property
    def overlapping(self) -> bool:
        return self._base.overlapping

    def __len__(self) -> int:
        return len(self._indices)

    def window(self, index: int) -> Window:
        return self._base.window(int(self._indices[index]))._replace(index=index)

    def keep(self, recordings: Collection[str]) -> Picked:
        wanted = np.array([span.uri in recordings for span in self._base.spans], np.bool_)
        return self.pick(np.flatnonzero(wanted[self._base.span_rows(self._indices)]))

    def pick(self, indices: Indices) -> Picked:
        return Picked(self._base, self._indices[indices])

    def identity(self) -> dict[str, Any]:
        return self._base.identity() | {"selection": digest(self._indices)}


class Joined(WindowSet):
    """The windows of several sets, one set after another."""

    def __init__(self, parts: Sequence[WindowSet]) -> None:
        self._parts = tuple(parts)
        self._ends = list(accumulate(map(len, parts)))
        self.duration_ns = _common(part.duration_ns for part in parts)
        self.stride_ns = _common(part.stride_ns for part in parts)

    @property
    def spans(self) -> SpanTable:
        return SpanTable(chain.from_iterable(part.spans for part in self._parts))

    @property
    def parts(self) -> Sequence[WindowSet]:
        return self._parts

    @property
    def overlapping(self) -> bool:
        return any(part.overlapping for part in self._parts)

    def __len__(self) -> int:
        return self._ends[-1]

    def window(self, index: int) -> Window:
        part = bisect_right(self._ends, index)
        start = self._ends[part] - len(self._parts[part])
        return self._parts[part].window(index - start)._replace(index=index)

    def keep(self, recordings: Collection[str]) -> Joined:
        return Joined([part.keep(recordings) for part in self._parts])

    def pick(self, indices: Indices) -> Joined:
        starts = [end - len(part) for end, part in zip(self._ends, self._parts, strict=True)]
        bounds = zip(starts, self._ends, self._parts, strict=True)
        return Joined(
            [
                part.pick(indices[(start <= indices) & (indices < end)] - start)
                for start, end, part in bounds
            ]
        )

    def identity(self) -> dict[str, Any]:
        return {"parts": [part.identity() for part in self._parts]}


def _common(values: Iterable[int | None]) -> int | None:
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def digest(*columns: NDArray[np.int64] | bytes) -> str:
    """A text that says what some columns hold."""
    sha = hashlib.sha256()
    for column in columns:
        sha.update(column if isinstance(column, bytes) else column.astype("<i8").tobytes())
    return sha.hexdigest()
