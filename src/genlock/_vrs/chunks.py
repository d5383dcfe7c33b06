"""The bytes of a VRS recording, which may be split over `x.vrs`, `x.vrs_1`, `x.vrs_2`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from genlock.errors import OpenError
from genlock.location import Location

NEAR = 1 << 12
"""Records closer together than this are read in one go: seeking would cost more than the bytes."""
RUN = 1 << 22
"""Bytes read in one go at most."""


def chunk_locations(first: Location) -> tuple[Location, ...]:
    """The files of a recording, in order. Raises OpenError if one is missing between others."""
    chunks = [first]
    if first.data is not None:
        return (first,)
    while (following := _chunk(first, len(chunks))).exists():
        chunks.append(following)
    if _chunk(first, len(chunks) + 1).exists():
        raise OpenError(
            f"{_chunk(first, len(chunks)).uri} is missing: the recording {first.name} is split, "
            f"and the chunk after it is there",
            recording=first.uri,
        )
    return tuple(chunks)


def _chunk(first: Location, number: int) -> Location:
    return first.parent.child(f"{first.name}_{number}", listed=True)


class Chunks:
    """One address space over the files of a recording. One thread at a time; close it explicitly.

    size: bytes in all of them.
    """

    def __init__(self, locations: Sequence[Location]) -> None:
        self._files: list[BinaryIO] = []
        try:
            for location in locations:
                self._files.append(location.open())
            sizes = [file.seek(0, 2) for file in self._files]
        except BaseException:
            self.close()
            raise
        self._starts = np.cumsum([0, *sizes])
        self.size = int(self._starts[-1])

    def read(self, offset: int, count: int) -> bytes:
        """Bytes from an offset on; fewer where the recording ends."""
        parts = []
        while count > 0 and 0 <= offset < self.size:
            chunk = int(np.searchsorted(self._starts, offset, "right")) - 1
            room = int(self._starts[chunk + 1]) - offset
            self._files[chunk].seek(offset - int(self._starts[chunk]))
            part = self._files[chunk].read(min(count, room))
            if not part:
                break
            parts.append(part)
            offset, count = offset + len(part), count - len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def gather(self, offsets: NDArray[np.int64], width: int) -> NDArray[np.uint8]:
        """`width` bytes from each offset: uint8 [N, width], zero beyond the end.

        offsets: int64 [N], in any order. Neighbours are read together.
        """
        rows = np.zeros((len(offsets), width), np.uint8)
        order = np.argsort(offsets, kind="stable")
        steps, runs = np.diff(offsets[order]), np.diff(offsets[order] // RUN)
        for run in np.split(order, np.flatnonzero((steps > width + NEAR) | (runs > 0)) + 1):
            if not len(run):
                continue
            start, stop = int(offsets[run[0]]), int(offsets[run[-1]]) + width
            data = np.frombuffer(self.read(start, stop - start).ljust(stop - start, b"\0"), "u1")
            rows[run] = sliding_window_view(data, width)[offsets[run] - start]
        return rows

    def close(self) -> None:
        for file in self._files:
            file.close()
        self._files = []
