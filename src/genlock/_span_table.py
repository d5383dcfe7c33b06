"""The time ranges of many recordings, in compact arrays."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from genlock.errors import GenlockError, WindowError
from genlock.stream import Span


class SpanTable(Sequence[Span]):
    """Spans of many recordings in compact arrays: some 30 bytes plus the path for each.

    Picklable, read-only, thread-safe.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        # grown in place: a list of a million texts alone would take more than all that is kept
        self._text, offsets = bytearray(), array("q", [0])
        starts, ends = array("q"), array("q")
        for uri, start_ns, end_ns in spans:
            self._text += uri.encode()
            offsets.append(len(self._text))
            starts.append(start_ns)
            ends.append(end_ns)
        self._offsets, self.start_ns, self.end_ns = (
            np.frombuffer(column, np.int64) for column in (offsets, starts, ends)
        )

    def uri(self, index: int) -> str:
        """Path or URL of one recording."""
        first, last = self._offsets.item(index), self._offsets.item(index + 1)
        return self._text[first:last].decode()

    def fingerprint(self) -> str:
        """A text that two tables share exactly if they hold the same spans in the same order."""
        digest = hashlib.sha256(self._text)
        for column in (self._offsets, self.start_ns, self.end_ns):
            digest.update(column.astype("<i8").tobytes())
        return digest.hexdigest()

    def __len__(self) -> int:
        return len(self.start_ns)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return SpanTable(self[i] for i in range(*index.indices(len(self))))
        position = range(len(self))[index]
        return Span(self.uri(position), int(self.start_ns[position]), int(self.end_ns[position]))

    def __iter__(self) -> Iterator[Span]:
        return (self[i] for i in range(len(self)))


class Recordings(Sequence[str]):
    """The uris of a span table, decoded when asked."""

    def __init__(self, spans: SpanTable) -> None:
        self._spans = spans

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Recordings: ...
    def __getitem__(self, index: int | slice) -> str | Recordings:
        if isinstance(index, slice):
            return Recordings(self._spans[index])
        return self._spans.uri(range(len(self))[index])

    def __repr__(self) -> str:
        return f"Recordings({len(self)})"


Spans = SpanTable | Iterable[Span]


def as_table(spans: Spans) -> SpanTable:
    """Spans in compact arrays. Raises WindowError for anything that is not spans."""
    if isinstance(spans, SpanTable):
        return spans
    try:
        return SpanTable(spans)
    except GenlockError:  # of whatever gives the spans
        raise
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise WindowError(f"spans are (uri, start_ns, end_ns), in int64 ns: {error}") from error
