"""MP4 files with other edit lists (ISO/IEC 14496-12 8.6.6), for tests of time."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

NESTED = (b"moov", b"trak", b"edts")
Edit = tuple[int, int]
"""Duration in ms as the movie counts, and where it starts in the media's ticks; -1: nothing."""


def edit(path: Path, edits: Sequence[Edit]) -> Path:
    """Give every track of a file, whose index comes last, these edits. Movie ticks must be ms."""
    data = path.read_bytes()
    assert data.rindex(b"moov") > data.index(b"mdat"), "offsets would move"
    body = struct.pack(">II", 0, len(edits))
    body += b"".join(struct.pack(">IiI", duration, start, 1 << 16) for duration, start in edits)
    path.write_bytes(_rewritten(data, body))
    return path


def _rewritten(data: bytes, edit_list: bytes) -> bytes:
    out, at = [], 0
    while at < len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + size]
        if name in NESTED:
            content = _rewritten(content, edit_list)
        elif name == b"elst":
            content = edit_list
        out.append(struct.pack(">I4s", len(content) + 8, name) + content)
        at += size
    return b"".join(out)
