"""Files written byte by byte: every kind of index and compression gives the same records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from genlock._vrs.chunks import Chunks, chunk_locations
from genlock._vrs.file import StreamId, VrsFile
from genlock._vrs.index import CONFIGURATION
from genlock._vrs.layout import DataLayout
from genlock._vrs.stream import VrsStream
from genlock.errors import DecodeError, LimitError, OpenError
from genlock.location import Location
from vrs_writer import Layout, Track, vrs_bytes, write_vrs

FIELDS = Layout(
    {"t": "int64_t", "on": "Bool", "p": "Point3Df", "q": "double[4]", "name": "string",
     "stamps": "vector<int64_t>"}
)  # fmt: skip


def made() -> list[Track]:
    first = Track((1202, 1), layout=FIELDS, configuration=Layout({"rate": "double"}), flavor="a/b")
    first.configure(rate=50.0)
    second = Track((1202, 2), layout=FIELDS, tags={"extra": "naïve"})
    for i in range(40):
        first.add(i / 50, t=i, on=i % 2, p=[i, 2, 3], q=[0, 0, i, 1], name="x" * i)
        second.add(i / 50 + 0.001, t=-i, stamps=range(i))
    return [first, second]


def read(location: Location) -> tuple[VrsFile, VrsStream, Chunks]:
    file = VrsFile(location)
    chunks = file.open()
    return file, VrsStream(file, chunks, StreamId(1202, 1)), chunks


def third_record(data: bytearray) -> int:
    _, stream, chunks = read(Location.of(bytes(data)))
    chunks.close()
    return int(stream.records.offsets[3])


@pytest.mark.parametrize("compression", ["", "lz4", "zstd"])
@pytest.mark.parametrize("index", ["zstd", "", "front", "none"])
def test_records_are_found_and_unpacked(tmp_path: Path, compression: str, index: str) -> None:
    path = write_vrs(tmp_path / "a.vrs", made(), compression=compression, index=index)
    file, stream, chunks = read(Location(path))
    rows = stream.rows(chunks)
    assert rows["t"].tolist() == list(range(40))
    assert rows["p"][:, 0].tolist() == list(range(40))
    assert rows["q"][7].tolist() == [0, 0, 7, 1]
    assert stream.values(chunks, stream.records, 5)["name"] == "xxxxx"
    assert stream.configuration["rate"] == 50.0
    assert stream.record_times_ns.tolist() == [20_000_000 * i for i in range(40)]
    other = VrsStream(file, chunks, StreamId(1202, 2))
    assert other.values(chunks, other.records, 3)["stamps"].tolist() == [0, 1, 2]
    assert other.payload_sizes.tolist() == [69 + 8 * i for i in range(40)]
    assert len(file.records(StreamId(1202, 1), CONFIGURATION)) == 1
    assert bool(file.notes) == (index == "none")
    chunks.close()


def test_a_recording_cut_off_while_it_was_made_keeps_its_whole_records(tmp_path: Path) -> None:
    data = vrs_bytes(made(), index="none")
    (tmp_path / "a.vrs").write_bytes(data[:-30])
    file, stream, chunks = read(Location(tmp_path / "a.vrs"))
    assert len(stream.records) == 40
    assert len(file.records(StreamId(1202, 2))) == 39
    assert "walked 80 records; the last" in file.notes[0]
    chunks.close()


def test_chunks_read_across_their_borders(tmp_path: Path) -> None:
    data = bytes(range(256)) * 40
    for number, (start, stop) in enumerate([(0, 3000), (3000, 3001), (3001, len(data))]):
        (tmp_path / ("x" + (f"_{number}" if number else ""))).write_bytes(data[start:stop])
    chunks = Chunks(chunk_locations(Location(tmp_path / "x")))
    assert chunks.size == len(data)
    assert chunks.read(2990, 50) == data[2990:3040]
    assert chunks.read(len(data) - 3, 10) == data[-3:]
    offsets = np.array([2999, 0, 3000, len(data) - 2, 9000])
    rows = chunks.gather(offsets, 4)
    for offset, row in zip(offsets, rows, strict=True):
        assert row.tobytes() == data[offset : offset + 4].ljust(4, b"\0")
    chunks.close()


def test_tags(tmp_path: Path) -> None:
    file = VrsFile(Location(write_vrs(tmp_path / "a.vrs", made(), tags={"who": "me"})))
    assert file.tags == {"who": "me"}
    assert file.streams[StreamId(1202, 1)].flavor == "a/b"
    assert file.streams[StreamId(1202, 2)].vrs["extra"] == "naïve"


def test_records_of_another_version_are_left_out_and_noted(tmp_path: Path) -> None:
    track = made()[0]
    odd = Track((1202, 1), layout=FIELDS, version=9).add(9.0, t=1)
    _, stream, chunks = read(Location(write_vrs(tmp_path / "a.vrs", [track, odd])))
    assert len(stream.records) == 40
    assert "left out 1 records of other versions" in stream.notes[0]
    chunks.close()


def test_a_stream_that_does_not_say_what_it_holds_has_a_problem(tmp_path: Path) -> None:
    track = made()[0]
    for change in ({"RF:Data:1": "data_layout", "DL:Data:1:0": "{"}, {"DL:Data:1:0": "[]"}):
        track.tags = change
        _, stream, chunks = read(Location(write_vrs(tmp_path / "a.vrs", [track])))
        assert isinstance(stream.problem, DecodeError)
        chunks.close()


def test_a_damaged_record_is_an_error_of_its_own(tmp_path: Path) -> None:
    data = bytearray(vrs_bytes(made(), compression="zstd"))
    start = third_record(data) + 32
    data[start : start + 4] = b"\0\0\0\0"
    file, stream, chunks = read(Location.of(bytes(data)))
    with pytest.raises(DecodeError, match="cannot be unpacked"):
        file.payload(chunks, stream.records, 3)
    rows = stream.rows(chunks)
    assert (rows["t"][2], rows["t"][3], rows["t"][4]) == (2, 0, 4)
    chunks.close()


def test_a_record_that_claims_too_much_is_refused(tmp_path: Path) -> None:
    data = bytearray(vrs_bytes(made(), compression="zstd"))
    start = third_record(data)
    data[start + 28 : start + 32] = b"\xff\xff\xff\xff"
    file, stream, chunks = read(Location.of(bytes(data)))
    with pytest.raises(LimitError, match="4294967295 bytes"):
        file.payload(chunks, stream.records, 3)
    chunks.close()


@pytest.mark.parametrize("seed", range(60))
def test_damaged_bytes_never_crash(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    data = bytearray(vrs_bytes(made(), compression=["", "zstd", "lz4"][seed % 3]))
    for position in random.integers(0, len(data), 1 + seed % 8):
        data[position] = random.integers(0, 256)
    try:
        _, stream, chunks = read(Location.of(bytes(data)))
        stream.rows(chunks)
        for row in range(len(stream.records)):
            stream.block(chunks, stream.records, row)
    except (OpenError, DecodeError):
        pass


def test_layouts_that_cannot_be() -> None:
    for kind in ("DataPieceValue<Frob>", "Thing", "DataPieceVector<Point5Df>"):
        with pytest.raises(ValueError, match="not known"):
            DataLayout.parse(f'{{"data_layout": [{{"name": "a", "type": "{kind}"}}]}}')
