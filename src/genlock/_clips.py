"""Annotated clips as a window set: the rows of a user's table in compact columns."""

from __future__ import annotations

import os
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from operator import index as whole
from typing import Any

import numpy as np

from genlock._numbers import positive_ns
from genlock._span_table import Spans, SpanTable, as_table
from genlock._window_set import Indices, Picked, Primary, Window, digest
from genlock.errors import WindowError
from genlock.stream import Span

SHARED = (str, bytes, int)
"""Types of labels that are held once, however many clips carry them."""
TOLD = (*SHARED, bool, float, type(None))
"""Types of labels whose repr says all there is."""


class Clips(Primary):
    """One window for each (recording, start_ns, duration, label) row.

    duration: seconds; None takes the whole recording, whatever start_ns says, and needs its span
    among `spans`. The label may be left out. `Clips.spans` is what the clips cover of each
    recording. Raises WindowError naming the row.
    """

    stride_ns = None

    def __init__(self, table: Iterable[Sequence[Any]], spans: Spans | None = None) -> None:
        known = {span.uri: span for span in as_table(spans or ())}
        uris: dict[str, int] = {}
        shared: dict[tuple[type, Any], Any] = {}
        rows, starts, durations = array("q"), array("q"), array("q")
        self._labels: list[Any] = []
        for number, entry in enumerate(table):
            try:
                uri, start_ns, duration_ns, label = _clip(entry, known)
                starts.append(start_ns)
                durations.append(duration_ns)
            except (TypeError, ValueError, OverflowError) as error:
                wanted = "clips are rows of (recording, start_ns, duration, label)"
                raise WindowError(f"{wanted}; row {number}, {entry!r}: {error}") from error
            rows.append(uris.setdefault(uri, len(uris)))
            if type(label) in SHARED:
                label = shared.setdefault((type(label), label), label)
            self._labels.append(label)
        self._rows, self._starts, self._durations = map(np.asarray, (rows, starts, durations))
        alike = len(durations) > 0 and (self._durations == durations[0]).all()
        self.duration_ns = durations[0] if alike else None
        self._spans = self._covered(uris)

    def _covered(self, uris: Collection[str]) -> SpanTable:
        first = np.full(len(uris), np.iinfo(np.int64).max)
        last = np.full(len(uris), np.iinfo(np.int64).min)
        np.minimum.at(first, self._rows, self._starts)
        np.maximum.at(last, self._rows, self._starts + self._durations)
        return SpanTable(map(Span, uris, first.tolist(), last.tolist()))

    @property
    def spans(self) -> SpanTable:
        return self._spans

    @cached_property
    def overlapping(self) -> bool:
        order = np.lexsort((self._starts, self._rows))
        rows, starts, ends = self._rows[order], self._starts[order], self._starts + self._durations
        # of clips sorted by start, two overlap exactly if two neighbours do
        inside = starts[1:] < ends[order][:-1]
        return bool((inside & (rows[1:] == rows[:-1])).any())

    def __len__(self) -> int:
        return len(self._rows)

    def window(self, index: int) -> Window:
        uri = self._spans.uri(int(self._rows[index]))
        start_ns, duration_ns = int(self._starts[index]), int(self._durations[index])
        return Window(uri, start_ns, duration_ns, index, self._labels[index])

    def span_rows(self, indices: Indices) -> Indices:
        return self._rows[indices]

    def keep(self, recordings: Collection[str]) -> Picked:
        return self.pick(np.arange(len(self))).keep(recordings)

    def identity(self) -> dict[str, Any]:
        """Labels count by their repr if they are plain values, others by their type alone."""
        labels = (repr(v) if type(v) in TOLD else type(v).__qualname__ for v in self._labels)
        return {
            "spans": self._spans.fingerprint(),
            "clips": digest(self._rows, self._starts, self._durations),
            "labels": digest("\0".join(labels).encode()),
        }


def _clip(entry: Sequence[Any], known: Mapping[str, Span]) -> tuple[str, int, int, Any]:
    recording, start_ns, duration, *rest = entry
    (label,) = rest or (None,)
    uri = os.fsdecode(recording)
    if duration is not None:
        return uri, whole(start_ns), positive_ns("duration", duration), label
    if uri not in known:
        raise WindowError(f"the span of {uri} is not known: give its duration, or spans=")
    _, start_ns, end_ns = known[uri]
    if end_ns <= start_ns:
        raise WindowError(f"the span of {uri} is empty")
    return uri, start_ns, end_ns - start_ns, label
