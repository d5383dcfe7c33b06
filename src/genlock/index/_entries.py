"""An entry of the index: one file of two values, the head and the rest.

The head says whether the entry holds (the code that made it, the state of every place that was
looked at) and when the streams are, so that the span of a recording takes its first few KB. The
rest is what the recording is opened from.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from genlock._extents import Extent, placed
from genlock._witness import Witness, still
from genlock.errors import GenlockError
from genlock.index._code import code
from genlock.index._room import make_room, note_use
from genlock.index._stored import length_of, pack, unpack
from genlock.interfaces import Resumable, Source

MOST_HEADS = 4096
"""Bytes that nearly every head fits in."""
Entry = Mapping[str, Any]


def load_head(file: str) -> Entry | None:
    """The head of an entry, if the entry is whole and still true."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        with open(file, "rb", 0) as part:  # noqa: PTH123  asked for each of many recordings
            size = os.fstat(part.fileno()).st_size
            data = part.read(MOST_HEADS)
            length = length_of(data)
            if len(data) < length <= size:
                data += part.read(length - len(data))
        return _holding(file, unpack(data[:length]), size - length)
    return None


def load(file: str) -> Entry | None:
    """An entry, if it is whole, sound and still true."""
    with suppress(OSError, ValueError, TypeError, LookupError):
        data = memoryview(Path(file).read_bytes())
        length = length_of(data)
        head = _holding(file, unpack(data[:length]), len(data) - length)
        return head and {**head, **unpack(data[length:])}
    return None


def _holding(file: str, head: Entry, rest: int) -> Entry | None:
    """A head, if it belongs to `rest` bytes more, and what it says is still so."""
    note_use(file)
    sound = head["rest"] == rest and head["code"] == code()
    return head if sound and still(head["seen"]) else None


def save(file: str, source: Source, witness: Witness) -> None:
    """Write what is kept of a source, whole or not at all, whoever else writes the same.

    Nothing is kept if it is not known on which files it depends.
    """
    if not witness.sound:
        return
    with suppress(OSError, TypeError):
        data = _packed(source, witness)
        folder = Path(file).parent
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as part:
                part.write(data)
            Path(name).replace(file)
            make_room(Path(file))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _packed(source: Source, witness: Witness) -> bytes:
    resumable = isinstance(source, Resumable)
    rest = pack(
        {
            "clock": source.clock,
            "clocks": source.clocks,
            "streams": source.streams,
            "module": type(source).__module__.rpartition(".")[2] if resumable else None,
            "state": source.state() if isinstance(source, Resumable) else None,
        }
    )
    head = {
        "code": code(),
        "seen": witness.seen,
        "extents": _extents(source),
        "rest": len(rest),
    }
    return pack(head) + rest


def _extents(source: Source) -> dict[str, tuple[Any, ...]] | None:
    """When the streams are on the recording's clock; None if some have a problem."""
    try:
        if all(stream.problem is None for stream in source.streams.values()):
            return {
                name: tuple(Extent.of(stream, clock)) for name, stream, clock in placed(source, {})
            }
    except GenlockError:  # of a clock map: whoever asks for the span will see it
        pass
    return None
