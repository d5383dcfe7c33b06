"""A VRS file that is open: tags, streams, and the payloads of their records."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from genlock._vrs.chunks import Chunks, chunk_locations
from genlock._vrs.index import (
    DATA,
    RECORD_HEADER,
    FileHeader,
    Index,
    read_index,
    record_header,
)
from genlock.errors import DecodeError, LimitError, OpenError
from genlock.location import Location

COMPRESSIONS = {1: "lz4", 2: "zstd"}
MAX_PAYLOAD = 1 << 30
"""Unpacked bytes of one record above which a file is taken to lie."""
DESCRIPTION_VERSION = 2

NAME_TAG, FLAVOR_TAG = "VRS_Original_Recordable_Name", "VRS_Recordable_Flavor"


class StreamId(NamedTuple):
    """A stream's number: what kind of device it is from, and which one of that kind."""

    type: int
    instance: int

    def __str__(self) -> str:
        return f"{self.type}-{self.instance}"


@dataclass(frozen=True)
class Records:
    """Some records of one stream. offsets: int64 [N], of headers. sizes: int64 [N], header too.

    times: float64 [N] s, the index's own. The order is that of the file unless said otherwise.
    """

    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    times: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.offsets)

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Records:
        return Records(self.offsets[rows], self.sizes[rows], self.times[rows])


@dataclass(frozen=True)
class StreamTags:
    """What a file says of one stream. vrs: names and layouts. user: what the recorder added."""

    vrs: Mapping[str, str] = field(default_factory=dict)
    user: Mapping[str, str] = field(default_factory=dict)

    @property
    def device(self) -> str:
        """Name of the kind of device, such as "RGB Camera Class"."""
        return self.vrs.get(NAME_TAG, "")

    @property
    def flavor(self) -> str:
        """Which recorder's way of writing, such as "device/aria"."""
        return self.vrs.get(FLAVOR_TAG, "")


class VrsFile:
    """Tags and index of a recording, and how to open its bytes. Immutable and thread-safe.

    locations: its files. tags: of the file. streams: what it holds, by id; those without tags
    too. Raises OpenError naming the file.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self.locations = chunk_locations(location)
        chunks = self.open()
        try:
            self._header = FileHeader.parse(chunks.read(0, 80), location.uri)
            self.tags, self.streams, after = self._description(chunks)
            first = self._header.first_record or after
            self._index = read_index(chunks, self._header, first, location.uri)
        finally:
            chunks.close()
        entries = self._index.entries
        self._ids = entries["type"].astype(np.int64) << 16 | entries["instance"]
        for number in np.unique(self._ids).tolist():
            self.streams.setdefault(StreamId(number >> 16, number & 0xFFFF), StreamTags())

    @property
    def notes(self) -> tuple[str, ...]:
        """What had to be done to read the file at all."""
        return self._index.notes

    @property
    def header_size(self) -> int:
        """Bytes before a record's payload."""
        return self._header.record_header_size

    def open(self) -> Chunks:
        """A new cursor over the bytes, to be closed."""
        return Chunks(self.locations)

    def _description(
        self, chunks: Chunks
    ) -> tuple[dict[str, str], dict[StreamId, StreamTags], int]:
        """Tags of file and streams, and the offset after them."""
        header, uri = self._header, self.location.uri
        try:
            record = record_header(chunks, header.description)
            start = header.description + header.record_header_size
            size = int(record["size"]) - header.record_header_size
            if record["version"] != DESCRIPTION_VERSION:
                raise ValueError(f"version {record['version']}: convert the file with `vrs copy`")
            reader = _TagReader(chunks.read(start, size))
            streams = {}
            for _ in range(reader.number()):
                stream = reader.stream()
                user, vrs = reader.strings(), reader.strings()
                streams[stream] = StreamTags(vrs, user)
            return reader.strings(), streams, start + size
        except (ValueError, struct.error) as error:
            message = f"cannot open {uri}: its description is damaged or too old ({error})"
            raise OpenError(message, recording=uri) from error

    def records(self, stream: StreamId, kind: int = DATA) -> Records:
        """Records of one kind, in the order of the file."""
        index: Index = self._index
        rows = np.flatnonzero(self._ids == (stream.type << 16 | stream.instance))
        rows = rows[index.entries["kind"][rows] == kind]
        chosen = index.entries[rows]
        return Records(index.offsets[rows], chosen["size"].astype(np.int64), chosen["time"])

    def payload(self, chunks: Chunks, records: Records, row: int) -> bytes:
        """One record's payload, unpacked. Raises DecodeError if it is damaged."""
        header, packed = self._packed(chunks, records, row)
        size = int(header["raw_size"])
        codec = COMPRESSIONS.get(int(header["compression"]))
        if codec is None:
            return packed
        if size > MAX_PAYLOAD:
            raise LimitError(f"a record claims {size} bytes, above the limit of {MAX_PAYLOAD}")
        try:
            data: bytes = pa.decompress(packed, size, codec, asbytes=True)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise DecodeError(f"a record cannot be unpacked: {error}") from error
        return data

    def heads(
        self, chunks: Chunks, records: Records, width: int
    ) -> tuple[NDArray[np.void], NDArray[np.uint8]]:
        """`RECORD_HEADER` [N], and the first bytes of every payload, unpacked: uint8 [N, width].

        They are zero beyond the end of a payload, and all zero where it cannot be unpacked.
        """
        start = self.header_size
        rows = chunks.gather(records.offsets, start + width)
        headers = np.ascontiguousarray(rows[:, : RECORD_HEADER.itemsize]).view(RECORD_HEADER)[:, 0]
        heads = np.ascontiguousarray(rows[:, start:])
        for row in np.flatnonzero(records.sizes < start + width).tolist():
            heads[row, max(0, int(records.sizes[row]) - start) :] = 0
        for row in np.flatnonzero(headers["compression"] if width else []).tolist():
            head = np.frombuffer(self.head(chunks, records, row, width), np.uint8)
            heads[row, : len(head)], heads[row, len(head) :] = head, 0
        return headers, heads

    def head(self, chunks: Chunks, records: Records, row: int, width: int) -> bytes:
        """The first bytes of one payload, unpacked; none if it is damaged."""
        try:
            header, packed = self._packed(chunks, records, row)
            codec = COMPRESSIONS.get(int(header["compression"]))
            if codec is None:
                return packed[:width]
            with pa.CompressedInputStream(pa.BufferReader(packed), codec) as stream:
                head: bytes = stream.read(min(width, int(header["raw_size"])))
                return head
        except (OSError, ValueError, pa.ArrowException, DecodeError):
            return b""

    def _packed(self, chunks: Chunks, records: Records, row: int) -> tuple[np.void, bytes]:
        data = chunks.read(int(records.offsets[row]), int(records.sizes[row]))
        if len(data) < int(records.sizes[row]):
            raise DecodeError("a record is cut short: was the file changed since it was opened?")
        header: np.void = np.frombuffer(data, RECORD_HEADER, 1)[0]
        if int(header["size"]) != len(data):
            raise DecodeError(f"there is no record at byte {records.offsets[row]}")
        return header, data[self.header_size :]


class _TagReader:
    """Reads the description record: counted strings, maps and stream ids."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        (value,) = struct.unpack_from("<I", self._data, self._at)
        self._at += 4
        return int(value)

    def stream(self) -> StreamId:
        kind, instance = struct.unpack_from("<iH", self._data, self._at)
        self._at += 6
        return StreamId(kind, instance)

    def string(self) -> str:
        size = self.number()
        text = self._data[self._at : self._at + size]
        if len(text) < size:
            raise ValueError("a text is cut short")
        self._at += size
        return text.decode("utf-8", "replace")

    def strings(self) -> dict[str, str]:
        return {self.string(): self.string() for _ in range(self.number())}
