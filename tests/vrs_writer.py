"""Writes small VRS files, so that tests know every byte: header, tags, records, index."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

STATE, CONFIGURATION, DATA = 1, 2, 3
COMPRESSIONS = {"": 0, "lz4": 1, "zstd": 2}
SCALARS = {"int64_t": "<q", "uint32_t": "<I", "double": "<d", "float": "<f", "Bool": "<?"}


@dataclass
class Layout:
    """Fields in order: name → C++ type of a value, "Point3Df", "float[3]", "vector<int64_t>" or
    "string"."""

    fields: dict[str, str]

    def text(self) -> str:
        """The JSON of the tags."""
        pieces, offset, index = [], 0, 0
        for name, kind in self.fields.items():
            if kind == "string":
                pieces.append({"name": name, "type": "DataPieceString", "index": index})
                index += 1
            elif kind.startswith("vector<"):
                of = kind[7:-1]
                pieces.append({"name": name, "type": f"DataPieceVector<{of}>", "index": index})
                index += 1
            else:
                base, _, count = kind.rstrip("]").partition("[")
                piece = {"name": name, "type": f"DataPieceValue<{base}>", "offset": offset}
                if count:
                    piece |= {"type": f"DataPieceArray<{base}>", "size": int(count)}
                pieces.append(piece)
                offset += len(_fixed(kind, None))
        return json.dumps({"data_layout": pieces})

    def pack(self, values: dict[str, Any]) -> bytes:
        """One block of these fields; those left out are zero or empty."""
        fixed, variable = b"", []
        for name, kind in self.fields.items():
            value = values.get(name)
            if kind == "string":
                variable.append((value or "").encode())
            elif kind.startswith("vector<"):
                code = SCALARS[kind[7:-1]]
                variable.append(
                    b"".join(struct.pack(code, v) for v in (() if value is None else value))
                )
            else:
                fixed += _fixed(kind, value)
        places, at = b"", 0
        for part in variable:
            places += struct.pack("<II", at, len(part))
            at += len(part)
        return fixed + places + b"".join(variable)


def _fixed(kind: str, value: Any) -> bytes:
    base, _, count = kind.rstrip("]").partition("[")
    code, width = SCALARS.get(base), 1
    if base.startswith("Point"):
        code, width = {"f": "<f", "d": "<d"}[base[-1]], int(base[5])
    assert code is not None
    width *= int(count or 1)
    if value is None:
        return bytes(struct.calcsize(code) * width)
    return np.ravel(value).astype(np.dtype(code)).tobytes()


@dataclass
class Track:
    """One stream. id: (type, instance). content: of data records. layout: of theirs.

    records: (time in s, kind, payload). version: of data records.
    """

    id: tuple[int, int]
    content: str = "data_layout"
    layout: Layout = field(default_factory=lambda: Layout({}))
    configuration: Layout = field(default_factory=lambda: Layout({}))
    flavor: str = ""
    device: str = "Test Class"
    tags: dict[str, str] = field(default_factory=dict)
    records: list[tuple[float, int, bytes]] = field(default_factory=list)
    version: int = 1

    def configure(self, **values: Any) -> Track:
        self.records.append((0.0, CONFIGURATION, self.configuration.pack(values)))
        return self

    def add(self, time: float, block: bytes = b"", **values: Any) -> Track:
        head = self.layout.pack(values) if "data_layout" in self.content else b""
        self.records.append((time, DATA, head + block))
        return self

    @property
    def vrs_tags(self) -> dict[str, str]:
        return {
            f"RF:Data:{self.version}": self.content,
            f"DL:Data:{self.version}:0": self.layout.text(),
            "RF:Configuration:1": "data_layout",
            "DL:Configuration:1:0": self.configuration.text(),
            "VRS_Original_Recordable_Name": self.device,
            "VRS_Recordable_Flavor": self.flavor,
            **self.tags,
        }


def vrs_bytes(
    tracks: Sequence[Track],
    tags: dict[str, str] | None = None,
    compression: str = "",
    index: str = "zstd",
) -> bytes:
    """A whole file. compression: of records. index: "zstd", "", "front", "none" (cut off)."""
    head_size, record_head = 80, 32
    description = _record(2, 0, 2, DATA, 0.0, _description(tracks, tags or {}))
    rows = sorted(
        (time, position, track.id, kind, payload, track.version if kind == DATA else 1)
        for position, track in enumerate(tracks)
        for time, kind, payload in track.records
    )
    records, entries = b"", b""
    for time, _, (kind_id, instance), kind, payload, version in rows:
        record = _record(kind_id, instance, version, kind, time, payload, compression)
        entries += struct.pack("<dIBiH", time, len(record), kind, kind_id, instance)
        records += record
    ids = b"".join(struct.pack("<iH", *track.id) for track in tracks)
    listed = entries if index in ("", "front") else pa.compress(entries, "zstd", asbytes=True)
    body = struct.pack("<I", len(tracks)) + ids + struct.pack("<I", len(rows)) + listed
    raw_size = 0 if index in ("", "front") else len(body) - len(listed) + len(entries)
    index_record = _record(1, 0, 2, DATA, 0.0, body, raw_size=raw_size)
    after = head_size + len(description)
    first, index_at = after, after + len(records)
    parts = [description, records, index_record]
    if index == "front":
        first, index_at = after + len(index_record), after
        parts = [description, index_record, records]
    elif index == "none":
        index_at, parts = 0, [description, records]
    header = struct.pack(
        "<8sQIIqqqQQQ4s4s",
        b"VisionRe", 1, head_size, record_head, index_at, head_size,
        first if index == "front" else 0, 0, 0, 0, b"cord", b"VRS2",
    )  # fmt: skip
    return header + b"".join(parts)


def write_vrs(path: Path, tracks: Sequence[Track], **options: Any) -> Path:
    """Write a file and return its path."""
    path.write_bytes(vrs_bytes(tracks, **options))
    return path


def _record(
    kind_id: int,
    instance: int,
    version: int,
    kind: int,
    time: float,
    payload: bytes,
    compression: str = "",
    raw_size: int = 0,
) -> bytes:
    packed = pa.compress(payload, compression, asbytes=True) if compression and payload else payload
    code = COMPRESSIONS[compression] if compression and payload else 2 if raw_size else 0
    raw_size = len(payload) if compression and payload else raw_size
    size = 32 + len(packed)
    head = struct.pack(
        "<IIiIdHBBI", size, 0, kind_id, version, time, instance, kind, code, raw_size
    )
    return head + packed


def _description(tracks: Sequence[Track], tags: dict[str, str]) -> bytes:
    out = struct.pack("<I", len(tracks))
    for track in tracks:
        out += struct.pack("<iH", *track.id) + _map({}) + _map(track.vrs_tags)
    return out + _map(tags)


def _map(texts: dict[str, str]) -> bytes:
    out = struct.pack("<I", len(texts))
    for pair in texts.items():
        for text in pair:
            data = text.encode()
            out += struct.pack("<I", len(data)) + data
    return out
