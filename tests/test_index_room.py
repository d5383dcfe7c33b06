"""What the index keeps when its entries take more than they may."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from genlock.index import Index
from genlock.index._room import FOLDERS, make_room, note_use
from genlock.interfaces import OpenOptions
from genlock.location import Location

NOW = int(time.time())


def entry(folder: Path, name: str, size: int, days_ago: float) -> Path:
    file = folder / f"{name}.index"
    file.write_bytes(bytes(size))
    os.utime(file, (NOW, NOW - 86_400 * days_ago))
    return file


def names(folder: Path) -> str:
    return "".join(sorted(file.stem for file in folder.iterdir()))


@pytest.mark.parametrize(
    ("limit", "kept"), [(100, "abcd"), (99, "acd"), (60, "acd"), (59, "cd"), (1, "d")]
)
def test_what_was_used_longest_ago_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, kept: str
) -> None:
    entry(tmp_path, "a", 10, 5)
    entry(tmp_path, "b", 40, 9)
    entry(tmp_path, "c", 20, 2)
    newest = entry(tmp_path, "d", 30, 20)  # whatever its clock says
    monkeypatch.setenv("GENLOCK_INDEX_BYTES", str(FOLDERS * limit))
    make_room(newest)
    assert names(tmp_path) == kept


def test_use_counts_by_the_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, recent = entry(tmp_path, "a", 10, 5), entry(tmp_path, "b", 10, 0.5)
    before = recent.stat().st_mtime_ns
    for file in (old, recent, tmp_path / "gone.index"):
        note_use(file)
    assert recent.stat().st_mtime_ns == before
    assert old.stat().st_mtime >= NOW
    monkeypatch.setenv("GENLOCK_INDEX_BYTES", str(FOLDERS * 15))
    make_room(tmp_path / "none.index")
    assert names(tmp_path) == "a"  # used after the other


def test_the_index_stays_within_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = []
    for number in range(40):  # into 256 folders
        tables.append(tmp_path / f"table{number}.csv")
        tables[-1].write_text("t_ns,value\n" + "".join(f"{i},{number}\n" for i in range(50)))
        os.utime(tables[-1], (NOW - 100, NOW - 100))
    index = Index(tmp_path / "index")

    def kept() -> int:
        return len(list(index.folder.rglob("*.index")))

    def open_all() -> None:
        for table in tables:
            source = index.open(Location(table), OpenOptions())
            assert len(source.streams[table.stem].timeline) == 50
            source.close()

    open_all()
    folders = len(list(index.folder.iterdir()))
    assert kept() == 40 > folders  # some entries share a folder
    shutil.rmtree(index.folder)
    monkeypatch.setenv("GENLOCK_INDEX_BYTES", "1")
    for _ in range(2):  # what went is made again, and says the same
        open_all()
        assert kept() == folders
    shutil.rmtree(index.folder)
    monkeypatch.setenv("GENLOCK_INDEX_BYTES", "a lot")  # no error: the usual bound
    open_all()
    assert kept() == 40
