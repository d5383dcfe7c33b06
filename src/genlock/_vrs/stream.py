"""One stream of a VRS file: its data records in order of time, and the layout of their fields."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._vrs.chunks import Chunks
from genlock._vrs.content import Content
from genlock._vrs.file import Records, StreamId, StreamTags, VrsFile
from genlock._vrs.index import CONFIGURATION, DATA
from genlock._vrs.layout import DataLayout
from genlock.errors import DecodeError

KINDS = {CONFIGURATION: "Configuration", DATA: "Data"}
EMPTY_LAYOUT = DataLayout(np.dtype([]), frozenset(), {})
NO_TIME_NS = -1


class VrsStream:
    """The data records of one stream, sorted by the index's times. Thread-safe.

    Records of another version than most are left out and noted. problem: why the records'
    contents are unknown, or None. notes: what was found on the way.
    """

    def __init__(self, file: VrsFile, chunks: Chunks, id: StreamId) -> None:
        self.file = file
        self.id = id
        self.tags: StreamTags = file.streams[id]
        self.problem: DecodeError | None = None
        self.notes: tuple[str, ...] = file.notes
        records = file.records(id)
        records = records.take(np.argsort(records.times, kind="stable"))
        headers, _ = file.heads(chunks, records, 0)
        version = _most_common(headers["version"])
        kept = headers["version"] == version
        if not kept.all():
            self.notes += (f"left out {(~kept).sum()} records of other versions than {version}",)
        self.records: Records = records.take(kept)
        stored = self.records.sizes - file.header_size
        raw = np.where(headers["compression"][kept] > 0, headers["raw_size"][kept], stored)
        self.payload_sizes: NDArray[np.int64] = raw.astype(np.int64)
        self.content, self.layout = self._format(DATA, version)
        self.configuration = self._configuration(chunks)

    def _format(self, kind: int, version: int) -> tuple[Content, DataLayout]:
        """Blocks and fields of records of one kind and version."""
        text = self.tags.vrs.get(f"RF:{KINDS[kind]}:{version}")
        fields = self.tags.vrs.get(f"DL:{KINDS[kind]}:{version}:0")
        content = Content.parse(text or "")
        try:
            if kind == DATA and text is None and len(self.records):
                raise ValueError("the file does not say what its records hold")
            if content.layouts > 1 and (content.image or content.audio):
                raise ValueError("it has several layouts before its pictures or sound")
            layout = DataLayout.parse(fields) if content.layouts and fields else EMPTY_LAYOUT
        except (ValueError, KeyError, TypeError) as error:
            self.problem = DecodeError(
                f"VRS stream {self.id} of {self.file.location.uri} cannot be read: {error}",
                recording=self.file.location.uri,
            )
            return Content(0), EMPTY_LAYOUT
        return content, layout

    def _configuration(self, chunks: Chunks) -> dict[str, Any]:
        """Fields of the first configuration record."""
        records = self.file.records(self.id, CONFIGURATION)
        if not len(records):
            return {}
        headers, _ = self.file.heads(chunks, records.take(np.array([0])), 0)
        _, layout = self._format(CONFIGURATION, int(headers["version"][0]))
        try:
            return layout.values(self.file.payload(chunks, records, 0))
        except (ValueError, IndexError, DecodeError):
            self.notes += ("its configuration record is damaged",)
            return {}

    @cached_property
    def record_times_ns(self) -> NDArray[np.int64]:
        """The index's times, int64 [N] ns: seconds in float64, so that only they are rounded."""
        times = self.records.times
        usable = np.isfinite(times) & (np.abs(times) < 9e9)
        return np.where(usable, np.rint(np.where(usable, times, 0) * 1e9), NO_TIME_NS).astype(int)

    def heads(self, chunks: Chunks, beyond: int = 0) -> NDArray[np.uint8]:
        """The first bytes of all payloads: their fixed fields, the places of the others, and
        `beyond` bytes more. uint8 [N, …], zero where a payload is shorter.
        """
        return self.file.heads(chunks, self.records, self.layout.head_size + beyond)[1]

    def rows(self, chunks: Chunks, records: Records | None = None) -> NDArray[np.void]:
        """The fields of fixed size of all records: structured [N]."""
        records = self.records if records is None else records
        _, heads = self.file.heads(chunks, records, self.layout.fixed.itemsize)
        return self.layout.rows(heads)

    def values(self, chunks: Chunks, records: Records, row: int) -> dict[str, Any]:
        """All fields of one record. Raises DecodeError if it is damaged."""
        payload = self.file.payload(chunks, records, row)
        try:
            return self.layout.values(payload)
        except (ValueError, IndexError) as error:
            raise DecodeError(f"a record's fields are damaged: {error}") from error

    def block(self, chunks: Chunks, records: Records, row: int) -> bytes:
        """What follows the layout in one payload: the picture, or the sound."""
        payload = self.file.payload(chunks, records, row)
        try:
            start = self.layout.size(payload) if self.content.layouts else 0
        except ValueError as error:
            raise DecodeError(f"a record's layout is damaged: {error}") from error
        return payload[start:]


def _most_common(versions: NDArray[np.uint32]) -> int:
    counted = Counter(versions.tolist()).most_common(1)
    return counted[0][0] if counted else 0
