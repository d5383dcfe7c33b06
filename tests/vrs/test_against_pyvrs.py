"""Every record of the real VRS files, against Meta's reader (`pip install --no-deps vrs`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from genlock._vrs.chunks import Chunks
from genlock._vrs.file import VrsFile
from genlock._vrs.index import CONFIGURATION, DATA, STATE
from genlock._vrs.stream import VrsStream
from genlock.location import Location

pyvrs = pytest.importorskip("pyvrs", reason="Meta's reader is not here: pip install --no-deps vrs")

FILES = {
    "aria-vrs/recording.vrs": 785,
    "aria-vrs/aria_gen2_unit_test_sequence_with_bluetooth.vrs": 997,
    "vrs-oss/sample_file.vrs": 307,
    "vrs-oss/chunks.vrs": 306,
}
"""Files, and how many records of all kinds they hold."""
KINDS = {"state": STATE, "configuration": CONFIGURATION, "data": DATA}


class Both(NamedTuple):
    """A file in both readers. theirs: data records by stream, in order of time."""

    file: VrsFile
    chunks: Chunks
    reader: Any
    theirs: dict[str, list[Any]]


@pytest.fixture(scope="module", params=list(FILES))
def both(request: pytest.FixtureRequest, real: Path) -> Iterator[Both]:
    path = real / request.param
    reader = pyvrs.SyncVRSReader(str(path))
    theirs: dict[str, list[Any]] = {}
    for record in reader.filtered_by_fields(record_types={"data"}):
        theirs.setdefault(record.stream_id, []).append(record)
    file = VrsFile(Location(path))
    with closing(file.open()) as chunks, closing(reader):
        yield Both(file, chunks, reader, theirs)


def streams(both: Both) -> Iterator[tuple[VrsStream, list[Any]]]:
    for identity in both.file.streams:
        stream = VrsStream(both.file, both.chunks, identity)
        yield stream, both.theirs.get(str(identity), [])


def test_every_record_is_listed(both: Both, request: pytest.FixtureRequest) -> None:
    assert {str(identity) for identity in both.file.streams} >= both.reader.stream_ids
    found: Counter[tuple[str, int]] = Counter()
    for identity in both.file.streams:
        for kind in KINDS.values():
            found[str(identity), kind] = len(both.file.records(identity, kind))
    theirs = Counter((r.stream_id, KINDS[r.record_type]) for r in both.reader)
    assert +found == theirs
    assert found.total() == len(both.reader) == FILES[request.node.callspec.params["both"]]


def test_times_are_theirs(both: Both) -> None:
    for stream, theirs in streams(both):
        seconds = np.array([record.timestamp for record in theirs])
        np.testing.assert_array_equal(stream.records.times, seconds)
        np.testing.assert_array_equal(stream.record_times_ns, np.rint(seconds * 1e9))


def test_every_field_is_theirs(both: Both) -> None:
    compared = 0
    for stream, theirs in streams(both):
        for row, record in enumerate(theirs):
            if not record.n_metadata_blocks:
                continue
            values = stream.values(both.chunks, stream.records, row)
            for name, expected in dict(record.metadata_blocks[0]).items():
                if isinstance(expected, dict) or name not in values:
                    continue
                np.testing.assert_array_equal(
                    np.ravel(values[name]), np.ravel(np.asarray(expected)), f"{stream.id} {name}"
                )
                compared += 1
    assert compared > 300


def test_every_byte_of_pictures_and_sound_is_theirs(both: Both) -> None:
    compared = 0
    for stream, theirs in streams(both):
        for row, record in enumerate(theirs):
            blocks = list(record.image_blocks) + list(record.audio_blocks)
            if len(blocks) == 1:
                block = stream.block(both.chunks, stream.records, row)
                held = np.asarray(blocks[0]).tobytes()
                # coded sound comes in an array for all its samples, of which the rest is unset
                coded = stream.content.audio is not None and stream.content.audio.format == "opus"
                assert block == (held[: len(block)] if coded else held), (str(stream.id), row)
                compared += 1
    assert compared >= 20


def test_tags_are_theirs(both: Both) -> None:
    assert both.file.tags == both.reader.file_tags
    theirs = both.reader.stream_tags
    assert {str(i): dict(tags.user) for i, tags in both.file.streams.items()} == theirs
