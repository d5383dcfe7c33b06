"""Decoded rows, kept for the windows that need them again, each decoded by one thread at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Frame = NDArray[Any] | None
"""What a row holds, as it was decoded; None if it is damaged."""
Decode = Callable[[Rows, NDArray[Any]], NDArray[np.bool_]]
"""Decodes ascending rows into an array, and says which are sound: `FrameDecoder.read`."""


@dataclass(eq=False)
class Claim:
    """Rows that one thread decodes while others wait. frames: of those it has, once done."""

    done: threading.Event = field(default_factory=threading.Event)
    frames: dict[int, Frame] = field(default_factory=dict)


class RowCache:
    """Rows used last, up to `limit` bytes; 0 keeps none and makes `read` plain decoding.

    A thread claims all rows that it is going to decode at once, then waits for those that others
    claimed before, and only then decodes: so threads wait for earlier claims alone, which no
    circle can hold, and a decoder that serves the earlier window is free for the later one.
    Thread-safe. needed, found: rows asked for, and how many of them need not be decoded.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.needed = self.found = 0
        self._held = 0
        self._frames: OrderedDict[Hashable, Frame] = OrderedDict()
        self._claims: dict[Hashable, Claim] = {}
        self._lock = threading.Lock()

    def read(
        self, series: Hashable, rows: Rows, out: NDArray[Any], decode: Decode
    ) -> NDArray[np.bool_]:
        """Put ascending rows of a series into out[i]; False where a row is damaged.

        series: what, besides the row, decides what `decode` gives. Raises what `decode` raises;
        whoever waited for these rows then decodes them without this thread.
        """
        wanted = list(dict.fromkeys(rows.tolist()))
        if not self.limit:
            self._count(len(wanted), 0)
            return decode(rows, out)
        claim = Claim()
        known, awaited = self._claim(series, wanted, claim)
        try:
            for row, other in awaited.items():
                other.done.wait()
                if row in other.frames:
                    known[row] = other.frames[row]
            self._count(len(wanted), len(known))
            valid = _fill(rows, out, known, decode)
            mine = (row for row in wanted if row not in known and row not in awaited)
            first = dict(zip(reversed(rows.tolist()), reversed(range(len(rows))), strict=True))
            claim.frames = {row: _kept(out[first[row]], bool(valid[first[row]])) for row in mine}
        finally:
            self._settle(series, wanted, claim)
        return valid

    def _count(self, needed: int, found: int) -> None:
        with self._lock:
            self.needed += needed
            self.found += found

    def _claim(
        self, series: Hashable, wanted: list[int], claim: Claim
    ) -> tuple[dict[int, Frame], dict[int, Claim]]:
        """The rows that are here, and those that others have claimed; the rest is claimed."""
        known: dict[int, Frame] = {}
        awaited: dict[int, Claim] = {}
        with self._lock:
            for row in wanted:
                key = (series, row)
                if key in self._frames:
                    self._frames.move_to_end(key)
                    known[row] = self._frames[key]
                elif key in self._claims:
                    awaited[row] = self._claims[key]
                else:
                    self._claims[key] = claim
        return known, awaited

    def _settle(self, series: Hashable, wanted: list[int], claim: Claim) -> None:
        """Keep what was decoded, drop the rows used longest ago, let the others go on."""
        with self._lock:
            for row in wanted:
                key = (series, row)
                if self._claims.get(key) is claim:
                    del self._claims[key]
            for row, frame in claim.frames.items():
                self._frames[series, row] = frame
                self._held += _size(frame)
            while self._held > self.limit:
                self._held -= _size(self._frames.popitem(last=False)[1])
        claim.done.set()

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._held

    def clear(self) -> None:
        """Forget every row."""
        with self._lock:
            self._frames.clear()
            self._held = 0


def _fill(
    rows: Rows, out: NDArray[Any], known: dict[int, Frame], decode: Decode
) -> NDArray[np.bool_]:
    """Copy the rows that are known and decode the others, in place where they are neighbours."""
    if not known:
        return decode(rows, out)
    valid = np.ones(len(rows), np.bool_)
    missing = []
    for i, row in enumerate(rows.tolist()):
        if row not in known:
            missing.append(i)
        elif (frame := known[row]) is not None:
            out[i] = frame
        else:
            out[i], valid[i] = 0, False
    if missing:
        first, last = missing[0], missing[-1] + 1
        if last - first == len(missing):
            valid[first:last] = decode(rows[first:last], out[first:last])
        else:
            apart = np.empty((len(missing), *out.shape[1:]), out.dtype)
            valid[missing] = decode(rows[missing], apart)
            out[missing] = apart
    return valid


def _kept(frame: NDArray[Any], valid: bool) -> Frame:
    return frame.copy() if valid else None


def _size(frame: Frame) -> int:
    return 0 if frame is None else frame.nbytes
