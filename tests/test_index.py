"""The index: what comes from it is what opening gives, and it never stands in the way."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import genlock as gl
from genlock import sources
from genlock.index import Index, IndexedSource, cache_folder
from genlock.index.__main__ import main
from genlock.index._entries import MOST_HEADS
from genlock.index._stored import length_of
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.opened import Opened, span_of
from genlock.stream import Stream

OLD_NS = 1_600_000_000_000_000_000


def settled(path: Path, ns: int = OLD_NS) -> Path:
    """The same path, as if it had not been changed for long."""
    os.utime(path, ns=(ns, ns))
    return path


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "imu.csv"
    path.parent.mkdir()
    path.write_text("t_ns,x\n5,1.5\n7,2.5\n9,4.0\n")
    settled(path.parent)
    return settled(path)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "cache" / "index")


def opened(index: Index, path: Path, **options: Any) -> Source:
    return index.open(Location(path), OpenOptions(**options))


def entries(index: Index) -> list[Path]:
    assert index.folder is not None
    return sorted(index.folder.rglob("*.index"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The uris that a format really opened, in order."""
    uris: list[str] = []
    name_of = sources._format_name

    def noting(location: Location, options: OpenOptions) -> str:
        uris.append(location.uri)
        return name_of(location, options)

    monkeypatch.setattr(sources, "_format_name", noting)
    yield uris


def same_streams(first: Source, second: Source) -> None:
    assert list(first.streams) == list(second.streams)
    assert (first.clock, dict(first.clocks)) == (second.clock, dict(second.clocks))
    for name, stream in first.streams.items():
        same_stream(stream, second.streams[name])


def same_stream(one: Stream, other: Stream) -> None:
    assert one.info == other.info
    assert (one.name, one.intrinsics, one.extrinsics) == (
        other.name,
        other.intrinsics,
        other.extrinsics,
    )
    assert (type(one.problem), str(one.problem)) == (type(other.problem), str(other.problem))
    assert type(one.timeline) is type(other.timeline)
    assert one.timeline.durations_ns is not None or other.timeline.durations_ns is None
    for attribute in ("ns", "durations_ns", "valid"):
        np.testing.assert_array_equal(
            getattr(one.timeline, attribute), getattr(other.timeline, attribute)
        )


def values(source: Source, stream: str) -> Any:
    with_units = source.units(stream)
    try:
        return with_units.unit(0)
    finally:
        with_units.close()


def test_a_second_opening_does_not_open(csv: Path, index: Index, made: list[str]) -> None:
    first = opened(index, csv)
    assert made == [str(csv)]
    second = opened(index, csv)
    assert made == [str(csv)]
    assert isinstance(second, IndexedSource)
    same_streams(first, second)
    assert values(second, "imu")["x"].tolist() == [1.5, 2.5, 4.0]
    assert made == [str(csv)] * 2
    second.close()


def test_what_was_said_when_opening_is_part_of_the_entry(csv: Path, index: Index) -> None:
    declared = {"imu": {"zero_ns": 100, "clock": "device"}}
    for _ in range(2):
        assert opened(index, csv).streams["imu"].timeline.ns.tolist() == [5, 7, 9]
        placed = opened(index, csv, streams=declared)
        assert placed.streams["imu"].timeline.ns.tolist() == [105, 107, 109]
        assert values(placed, "imu")["x"].tolist() == [1.5, 2.5, 4.0]
        placed.close()


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("t_ns,x\n5,1.5\n7,2.5\n9,4.0\n11,5\n", OLD_NS),
        ("t_ns,x\n5,1.5\n7,2.5\n8,4.0\n", OLD_NS + 1),
    ],
    ids=["size", "time"],
)
def test_a_file_that_changed_is_opened_anew(csv: Path, index: Index, text: str, ns: int) -> None:
    opened(index, csv)
    csv.write_text(text)
    settled(csv, ns)
    times = [int(line.split(",")[0]) for line in text.splitlines()[1:]]
    for _ in range(2):
        assert opened(index, csv).streams["imu"].timeline.ns.tolist() == times
    assert len(entries(index)) == 1


def test_a_file_that_has_just_changed_is_not_kept(csv: Path, index: Index) -> None:
    csv.touch()
    os.utime(csv, ns=(2**62, 2**62))  # its clock is ahead: it may change again unnoticed
    opened(index, csv)
    assert entries(index) == []


def test_a_file_that_appears_makes_a_folder_anew(csv: Path, index: Index) -> None:
    assert list(opened(index, csv.parent).streams) == ["imu"]
    (csv.parent / "recording.toml").write_text(
        '[recording]\nclock = "c"\n[streams.gyro]\nkind = "sensor"\npath = "imu.csv"\n'
    )
    settled(csv.parent / "recording.toml")
    settled(csv.parent, OLD_NS + 1)
    for _ in range(2):
        assert list(opened(index, csv.parent).streams) == ["gyro"]


def test_a_folder_depends_on_files_that_came_from_the_index(csv: Path, index: Index) -> None:
    opened(index, csv, streams={"imu": {}})
    opened(index, csv)
    opened(index, csv.parent)
    csv.write_text("t_ns,x\n1,1\n")
    settled(csv, OLD_NS + 1)
    assert opened(index, csv.parent).streams["imu"].timeline.ns.tolist() == [1]


def test_a_folder_depends_on_files_that_could_not_be_opened(csv: Path, index: Index) -> None:
    (csv.parent / "recording.toml").write_text(
        '[recording]\nclock = "c"\n[streams.imu]\nkind = "sensor"\npath = "imu.csv"\n'
        '[streams.gyro]\nkind = "sensor"\npath = "gyro.npy"\n'
    )
    gyro = csv.parent / "gyro.npy"
    gyro.write_bytes(b"\x93NUMPY, but no more of it")
    for path in (gyro, csv.parent / "recording.toml", csv.parent):
        settled(path)
    for _ in range(2):
        assert isinstance(opened(index, csv.parent).streams["gyro"].problem, gl.OpenError)
    assert len(entries(index)) == 2
    np.save(gyro, np.array([(1, 2.0)], [("t_ns", "i8"), ("x", "f8")]))
    settled(gyro, OLD_NS + 1)
    settled(csv.parent)
    assert opened(index, csv.parent).streams["gyro"].timeline.ns.tolist() == [1]


def test_a_file_that_changes_between_opening_and_reading_is_refused(
    csv: Path, index: Index
) -> None:
    opened(index, csv)
    source = opened(index, csv)
    csv.write_text("t_ns,x\n1,1\n")
    settled(csv, OLD_NS + 1)
    with pytest.raises(gl.OpenError, match=r"imu\.csv has changed since it was opened"):
        source.units("imu")


def damaged(data: bytes) -> Iterator[bytes]:
    yield b""
    yield data[: len(data) // 2]
    yield data[:-1]
    yield data.replace(b"genlock index 2", b"genlock index 1")
    for at in range(0, len(data), 7):
        yield data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]


def test_a_damaged_entry_is_ignored_and_rewritten(csv: Path, index: Index) -> None:
    opened(index, csv)
    [entry] = entries(index)
    sound = entry.read_bytes()
    for bad in damaged(sound):
        entry.write_bytes(bad)
        assert opened(index, csv).streams["imu"].timeline.ns.tolist() == [5, 7, 9]
        assert entry.read_bytes() == sound


SPAN = (5, 11)
"""Of the fixture's times 5, 7, 9: the last row takes as long as those before."""


def spans(index: Index, path: Path, over: list[str] | None = None) -> tuple[int, int]:
    return tuple(span_of(Location(path), OpenOptions(), {}, over, index)[1:])


def test_a_span_is_known_without_opening(csv: Path, index: Index, made: list[str]) -> None:
    location = Location(csv)
    assert index.extents(location, OpenOptions()) == {}
    opened(index, csv)
    assert index.extents(location, OpenOptions()) == {"imu": ("sensor", "imu", 3, *SPAN)}
    made.clear()
    assert spans(index, csv) == spans(index, csv, ["imu"]) == SPAN
    assert made == []
    settled(csv, OLD_NS + 1)
    assert index.extents(location, OpenOptions()) == {}
    assert index.extents(location, OpenOptions(index=False)) == {}
    assert Index(None).extents(location, OpenOptions()) == {}


def test_a_span_comes_from_a_sound_head(csv: Path, index: Index) -> None:
    opened(index, csv)
    [entry] = entries(index)
    sound = entry.read_bytes()
    length = length_of(sound)
    for at in range(length):
        entry.write_bytes(sound[:at] + bytes([sound[at] ^ 0x41]) + sound[at + 1 :])
        assert index.extents(Location(csv), OpenOptions()) == {}
    for bad in (sound[:length], sound[:-1], sound + b"\0", sound[:length] * 2, sound[length:]):
        entry.write_bytes(bad)
        assert index.extents(Location(csv), OpenOptions()) == {}
        assert opened(index, csv).streams["imu"].timeline.ns.tolist() == [5, 7, 9]
        assert entry.read_bytes() == sound
    entry.write_bytes(sound[:-1] + b"x")  # the head says nothing that is not so
    assert index.extents(Location(csv), OpenOptions())["imu"][3:] == SPAN


def test_a_long_head_is_read_whole(csv: Path, index: Index) -> None:
    names = [f"stream{number:03d}" for number in range(200)]
    (csv.parent / "recording.toml").write_text(
        '[recording]\nclock = "c"\n'
        + "".join(f'[streams.{name}]\nkind = "sensor"\npath = "imu.csv"\n' for name in names)
    )
    settled(csv.parent / "recording.toml")
    settled(csv.parent)
    opened(index, csv.parent)
    extents = index.extents(Location(csv.parent), OpenOptions())
    assert extents == dict.fromkeys(names, ("sensor", "c", 3, *SPAN))
    assert max(length_of(entry.read_bytes()) for entry in entries(index)) > MOST_HEADS


def test_spans_are_refused_alike(csv: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams without common time, on unrelated clocks, that are not there: as without an index."""
    monkeypatch.setattr(Index, "of_user", lambda: index)
    (csv.parent / "late.csv").write_text("t_ns,x\n50,1\n60,2\n")
    (csv.parent / "recording.toml").write_text(
        '[recording]\nclock = "c"\n[streams.imu]\nkind = "sensor"\npath = "imu.csv"\n'
        '[streams.late]\nkind = "sensor"\npath = "late.csv"\n'
        '[streams.other]\nkind = "sensor"\npath = "imu.csv"\nclock = "device"\n'
    )
    for path in (*csv.parent.iterdir(), csv.parent):
        settled(path)
    refused = {
        ("imu", "late"): gl.WindowError,
        ("imu", "other"): gl.ClockError,
        ("imu", "absent"): gl.StreamError,
    }
    for _ in range(2):
        assert spans(index, csv.parent, ["late"]) == (50, 70)
        assert spans(index, csv.parent, ["other"]) == SPAN
        for over, kind in refused.items():
            with pytest.raises(kind) as expected:
                Opened(Location(csv.parent), OpenOptions(index=False)).span(over)
            with pytest.raises(kind) as caught:
                spans(index, csv.parent, list(over))
            assert str(caught.value) == str(expected.value)


def test_a_problem_of_a_stream_is_raised_each_time(
    csv: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "of_user", lambda: index)
    csv.write_text("time,x\n1,1\n2,2\n")  # of what unit?
    settled(csv)
    for _ in range(2):
        with pytest.raises(gl.TimeUnitError):
            spans(index, csv, ["imu"])
    assert len(entries(index)) == 1
    assert index.extents(Location(csv), OpenOptions()) == {}


def test_another_version_of_the_code_makes_its_own(
    csv: Path, index: Index, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(index, csv)
    monkeypatch.setattr("genlock.index._entries.code", lambda: "another")
    for _ in range(2):
        opened(index, csv)
    assert len(made) == 2
    assert len(entries(index)) == 1


def test_processes_may_write_the_same_entry_at_once(csv: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from genlock.index import cache_folder; from genlock.index.ahead import *\n"
        "for i in range(30):\n"
        "    index_one(sys.argv[1])\n"
        "    [file.unlink(True) for file in cache_folder().rglob('*.index') if i % 3 == 0]\n"
        "print(index_one(sys.argv[1]))"
    )
    environment = {**os.environ, "GENLOCK_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", code, str(csv)]
    writers = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for writer in writers:
        out, errors = writer.communicate(timeout=100)
        assert (out.strip(), errors) == (b"None", b"")
    index = Index(tmp_path / "cache" / "index")
    assert len(entries(index)) == 1
    assert not list((tmp_path / "cache").rglob("*.part"))
    assert isinstance(opened(index, csv), IndexedSource)


def test_a_folder_that_cannot_be_written_is_no_error(csv: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = Index(tmp_path / "file" / "index")
    for _ in range(2):
        assert not isinstance(opened(blocked, csv), IndexedSource)


def test_a_full_disk_is_no_error(csv: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("genlock.index._entries.tempfile.mkstemp", full)
    assert opened(index, csv).streams["imu"].timeline.ns.tolist() == [5, 7, 9]


def test_where_the_index_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GENLOCK_CACHE", str(tmp_path))
    assert Index.of_user().folder == tmp_path / "index"
    monkeypatch.setenv("GENLOCK_INDEX", "0")
    assert Index.of_user().folder is None
    monkeypatch.delenv("GENLOCK_CACHE")

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    assert cache_folder() is None


def test_off_by_argument(csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENLOCK_CACHE", str(tmp_path / "cache"))
    gl.open(csv.parent, index=False).close()
    assert not (tmp_path / "cache").exists()
    gl.open(csv.parent).close()
    assert (tmp_path / "cache").exists()


def test_what_is_in_memory_is_not_kept(csv: Path, index: Index) -> None:
    source = index.open(Location("memory:imu.csv", csv.read_bytes()), OpenOptions())
    assert source.streams["imu"].timeline.ns.tolist() == [5, 7, 9]
    assert not entries(index)


def test_a_url_is_kept_by_its_version(csv: Path, index: Index, made: list[str]) -> None:
    url = f"local://{csv}"
    for _ in range(2):
        source = index.open(Location(url), OpenOptions())
        assert source.streams["imu"].timeline.ns.tolist() == [5, 7, 9]
    assert made == [url]
    settled(csv, OLD_NS + 10**9)
    index.open(Location(url), OpenOptions())
    assert made == [url] * 2
    folder = f"local://{csv.parent}"
    assert list(index.open(Location(folder), OpenOptions()).streams) == ["imu"]
    (csv.parent / "gyro.csv").write_text("t_ns,x\n1,1\n")
    assert list(index.open(Location(folder), OpenOptions()).streams) == ["gyro", "imu"]


def test_a_url_without_a_version_is_not_kept(index: Index) -> None:
    with fsspec.open("memory://bucket/imu.csv", "wb") as file:
        file.write(b"t_ns,x\n1,2\n")
    index.open(Location("memory://bucket/imu.csv"), OpenOptions())
    assert entries(index) == []


def test_ahead(csv: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, made: list[str]) -> None:
    (csv.parent / "bad.mp4").write_bytes(b"\0\0\0\x18ftypmp42 and then nothing")
    monkeypatch.setenv("GENLOCK_CACHE", str(csv.parents[1] / "cache"))
    assert main([str(csv), str(csv.parent / "bad.mp4")]) == 1
    out, err = capsys.readouterr()
    assert "bad.mp4" in err
    assert str(csv.parents[1] / "cache" / "index") in out
    made.clear()
    assert isinstance(Opened(Location(csv)).source, IndexedSource)
    assert made == []
    monkeypatch.setenv("GENLOCK_INDEX", "0")
    assert main([str(csv)]) == 1
    assert "GENLOCK_INDEX" in capsys.readouterr().err
