"""The two contracts that formats and codecs fill.

A **source** lists a container's streams and hands out *units* of each: packets, encoded bytes,
or arrays. A **decoder** turns units into rows and does not care where they came from.

    Source.units(stream) ─► Units (+ CodecSpec) ─► Decoder ─► rows

`StreamInfo.encoding` says which kind of units a stream has, and so which decoder fits:

| encoding  | units                                                    | decoders       |
|-----------|----------------------------------------------------------|----------------|
| "packets" | inter-coded: decoding starts at a key unit               | video          |
| "image"   | one encoded picture each: bytes (JPEG, PNG, …) or array  | image or depth |
| "samples" | audio: packets, blocks, or a file                        | audio          |
| "columns" | one table: a mapping of column arrays                    | table          |
| "points"  | one point cloud each: a mapping of arrays [P] or [P, k]  | points         |
"""

from genlock.interfaces._decoder import (
    ColumnDecoder,
    Decoder,
    FrameDecoder,
    FrameFormat,
    PointDecoder,
    SampleDecoder,
    Walker,
)
from genlock.interfaces._source import (
    CodecSpec,
    Format,
    OpenChild,
    OpenOptions,
    Resumable,
    Source,
    Units,
    UnitSamples,
    UnitTable,
)

__all__ = [
    "CodecSpec",
    "ColumnDecoder",
    "Decoder",
    "Format",
    "FrameDecoder",
    "FrameFormat",
    "OpenChild",
    "OpenOptions",
    "PointDecoder",
    "Resumable",
    "SampleDecoder",
    "Source",
    "UnitSamples",
    "UnitTable",
    "Units",
    "Walker",
]
