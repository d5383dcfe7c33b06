"""Where the records of a VRS file are.

The index record lists them all, in the order of the file. A recording that was cut off while it
was made has none yet: then the records are walked, each says how long it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from genlock._vrs.chunks import Chunks
from genlock.errors import OpenError

MAGIC, MAGIC_END = b"VisionRe", b"cord"
FILE_HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("created", "<u8"),
        ("header_size", "<u4"),
        ("record_header_size", "<u4"),
        ("index", "<i8"),
        ("description", "<i8"),
        ("first_record", "<i8"),
        ("future", "<u8", 3),
        ("magic_end", "S4"),
        ("version", "S4"),
    ]
)
RECORD_HEADER = np.dtype(
    [
        ("size", "<u4"),
        ("previous_size", "<u4"),
        ("type", "<i4"),
        ("version", "<u4"),
        ("time", "<f8"),
        ("instance", "<u2"),
        ("kind", "u1"),
        ("compression", "u1"),
        ("raw_size", "<u4"),
    ]
)
STREAM_ID = np.dtype([("type", "<i4"), ("instance", "<u2")])
ENTRY = np.dtype(
    [("time", "<f8"), ("size", "<u4"), ("kind", "u1"), ("type", "<i4"), ("instance", "<u2")]
)
CLASSIC, SPLIT = 2, 3
INDEX_TYPE, DESCRIPTION_TYPE = 1, 2
STATE, CONFIGURATION, DATA, TAGS = 1, 2, 3, 4


@dataclass(frozen=True)
class Index:
    """Records in the order of the file.

    offsets: int64 [R], of their headers. entries: `ENTRY` [R]. notes: what had to be done for it.
    """

    offsets: NDArray[np.int64]
    entries: NDArray[np.void]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FileHeader:
    """What the first bytes say. `record_header_size` may grow in versions to come."""

    record_header_size: int
    index: int
    description: int
    first_record: int
    version: str

    @classmethod
    def parse(cls, head: bytes, uri: str) -> FileHeader:
        """Raises OpenError for what is no VRS file."""
        if len(head) < FILE_HEADER.itemsize:
            raise _bad(uri, f"it has {len(head)} bytes: the copy was cut short")
        header = np.frombuffer(head, FILE_HEADER, 1)[0]
        if header["magic"] != MAGIC or header["magic_end"] != MAGIC_END:
            raise _bad(uri, "it does not start like a VRS file (nor like its first chunk)")
        found = cls(
            int(header["record_header_size"]),
            int(header["index"]),
            int(header["description"]),
            int(header["first_record"]),
            bytes(header["version"]).decode("latin-1"),
        )
        small = found.record_header_size < RECORD_HEADER.itemsize
        if small or found.description < FILE_HEADER.itemsize:
            raise _bad(uri, "its header is damaged")
        return found


def record_header(chunks: Chunks, offset: int) -> np.void:
    """The header of one record. Raises ValueError where there is none."""
    data = chunks.read(offset, RECORD_HEADER.itemsize)
    if len(data) < RECORD_HEADER.itemsize:
        raise ValueError(f"no record at byte {offset}: the file ends at {chunks.size}")
    header: np.void = np.frombuffer(data, RECORD_HEADER, 1)[0]
    return header


def read_index(chunks: Chunks, header: FileHeader, first_record: int, uri: str) -> Index:
    """Find all records. first_record: offset of the first. Raises OpenError for a damaged file."""
    if header.index == 0:
        return _walk(chunks, header, first_record)
    try:
        record = record_header(chunks, header.index)
    except ValueError as error:
        raise _cut(uri, chunks.size, header.index) from error
    if record["version"] == SPLIT:
        return _split(chunks, header, record, first_record, uri)
    if record["version"] != CLASSIC:
        raise _bad(uri, f"its index is of version {record['version']}, which is not known")
    start = header.index + header.record_header_size
    body = chunks.read(start, int(record["size"]) - header.record_header_size)
    try:
        streams = int(np.frombuffer(body, "<u4", 1)[0])
        after = 4 + streams * STREAM_ID.itemsize
        count = int(np.frombuffer(body, "<u4", 1, after)[0])
        entries = _entries(body[after + 4 :], count, bool(record["raw_size"]), chunks.size)
    except ValueError as error:
        raise _bad(uri, f"its index is damaged ({error})") from error
    return _placed(chunks, entries, first_record, uri)


def _split(
    chunks: Chunks, header: FileHeader, record: np.void, first_record: int, uri: str
) -> Index:
    """An index that was written while recording, in a file chunk of its own."""
    size = int(record["size"]) - header.record_header_size
    if size <= 0 or header.first_record == 0:
        return _walk(chunks, header, first_record)
    body = chunks.read(header.index + header.record_header_size, size)
    packed = int(record["raw_size"])
    count = (packed or len(body)) // ENTRY.itemsize
    try:
        entries = _entries(body, count, bool(packed), chunks.size)
    except ValueError as error:
        raise _bad(uri, f"its index is damaged ({error})") from error
    return _placed(chunks, entries, first_record, uri)


def _entries(body: bytes, count: int, packed: bool, file_size: int) -> NDArray[np.void]:
    if count * RECORD_HEADER.itemsize > file_size:
        raise ValueError(f"it lists {count} records, more than the file can hold")
    if packed:
        try:
            with pa.CompressedInputStream(pa.BufferReader(body), "zstd") as stream:
                body = stream.read(count * ENTRY.itemsize)
        except (OSError, pa.ArrowException) as error:
            raise ValueError(str(error)) from error
    return np.frombuffer(body, ENTRY, count)


def _placed(chunks: Chunks, entries: NDArray[np.void], first_record: int, uri: str) -> Index:
    ends = first_record + np.cumsum(entries["size"], dtype=np.int64)
    if len(ends) and ends[-1] > chunks.size:
        raise _cut(uri, chunks.size, int(ends[-1]))
    return Index(ends - entries["size"], entries)


def _walk(chunks: Chunks, header: FileHeader, first_record: int) -> Index:
    offset, offsets, entries = first_record, [], []
    while offset + header.record_header_size <= chunks.size:
        record = record_header(chunks, offset)
        size, kind = int(record["size"]), int(record["kind"])
        whole = header.record_header_size <= size <= chunks.size - offset
        if not whole or kind not in (STATE, CONFIGURATION, DATA, TAGS):
            break
        if record["type"] not in (INDEX_TYPE, DESCRIPTION_TYPE):
            offsets.append(offset)
            fields = (record["time"], size, kind, record["type"], record["instance"])
            entries.append(fields)
        offset += size
    left = chunks.size - offset
    cut = f"; the last {left} bytes hold no whole record" if left else ""
    note = f"the file has no index (was the recording cut off?): walked {len(offsets)} records{cut}"
    return Index(np.array(offsets, np.int64), np.array(entries, ENTRY), (note,))


def _bad(uri: str, problem: str) -> OpenError:
    return OpenError(f"cannot open {uri}: {problem}", recording=uri)


def _cut(uri: str, size: int, needed: int) -> OpenError:
    return _bad(
        uri,
        f"it ends at byte {size}, but has records up to byte {needed} at least: copy it again, or "
        f"add its missing chunk (…_1, _2, next to it)",
    )
