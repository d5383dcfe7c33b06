"""Which of what lies in a folder is a recording of its own."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

import genlock as gl
from genlock import sources
from genlock.collection import recordings
from genlock.location import Location
from vrs_writer import Layout, Track, write_vrs

CSV = "t_ns,x\n1000000000,1\n1500000000,2\n2000000000,3\n"
TOML = '[recording]\nclock = "c"\n[streams.imu]\nkind = "sensor"\npath = "imu.csv"\n'


@pytest.fixture
def clip(cases: Path) -> Path:
    return cases / "inputs" / "v24_oneframe.mp4"


def relative(folder: Path) -> list[str]:
    return [str(Path(uri).relative_to(folder)) for uri in recordings(folder)]


def declared(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "imu.csv").write_text(CSV)
    (folder / "recording.toml").write_text(TOML)


def test_declared_recordings_at_any_depth(tmp_path: Path) -> None:
    for name in ("day2/b", "day1/deep/a", "day1/c"):
        declared(tmp_path / name)
    (tmp_path / "notes.txt").write_text("nothing")
    assert relative(tmp_path) == ["day1/c", "day1/deep/a", "day2/b"]
    assert recordings(tmp_path / "day2" / "b") == [str(tmp_path / "day2" / "b")]


def test_media_files_are_recordings_each(tmp_path: Path, clip: Path) -> None:
    for name in ("a.mp4", "b.mp4", "more/c.mp4"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(clip, tmp_path / name)
    (tmp_path / "labels.csv").write_text(CSV)
    assert relative(tmp_path) == ["a.mp4", "b.mp4", "more/c.mp4"]


def test_a_file_beside_tables_is_one_recording_with_them(tmp_path: Path, clip: Path) -> None:
    (tmp_path / "walk").mkdir()
    shutil.copy(clip, tmp_path / "walk" / "a.mp4")
    assert relative(tmp_path) == ["walk/a.mp4"]
    (tmp_path / "walk" / "imu.csv").write_text(CSV)
    assert relative(tmp_path) == ["walk"]


def test_tables_count_where_there_is_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "imu1.csv").write_text(CSV)
    (tmp_path / "imu2.csv").write_text(CSV)
    (tmp_path / "empty").mkdir()
    assert relative(tmp_path) == ["imu1.csv", "imu2.csv"]
    declared(tmp_path / "session")
    assert relative(tmp_path) == ["session"]


def test_folders_of_pictures(tmp_path: Path) -> None:
    for name in ("one/1.png", "two/1.png"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    assert relative(tmp_path) == ["one", "two"]


def test_nothing_and_nowhere(tmp_path: Path) -> None:
    assert recordings(tmp_path) == []
    with pytest.raises(gl.OpenError, match="does not exist"):
        recordings(tmp_path / "absent")


def test_a_link_back_up_does_not_turn_in_circles(tmp_path: Path) -> None:
    declared(tmp_path / "set" / "a")
    (tmp_path / "set" / "again").symlink_to(tmp_path)
    assert relative(tmp_path / "set") == ["a"]
    (tmp_path / "set" / "itself").symlink_to(tmp_path / "set")
    (tmp_path / "set" / "nowhere").symlink_to(tmp_path / "absent")
    assert relative(tmp_path / "set") == ["a"]


def test_a_data_set_gives_its_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several = ModuleType("several")
    several.__dict__.update(
        claims=lambda location, head: location.name == "set",
        episodes=lambda location: [f"{location.uri}/#episode={i}" for i in range(3)],
    )
    monkeypatch.setitem(sys.modules, "genlock.sources.several", several)
    monkeypatch.setattr(sources, "FORMATS", ("several", *sources.FORMATS))
    (tmp_path / "set").mkdir()
    assert relative(tmp_path) == [f"set/#episode={i}" for i in range(3)]
    assert recordings(f"{tmp_path}/set/#episode=2") == [f"{tmp_path}/set/#episode=2"]


def test_windows_take_a_folder_of_many(tmp_path: Path) -> None:
    for name in ("b", "a"):
        declared(tmp_path / name)
    expected = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert list(gl.Windows(tmp_path, duration=0.5).recordings) == expected
    listed = gl.Windows([tmp_path / "b", str(tmp_path)], duration=0.5)
    assert list(listed.recordings) == [expected[1], *expected]


def test_opening_a_folder_of_many_names_what_lists_them(tmp_path: Path) -> None:
    declared(tmp_path / "a")
    with pytest.raises(gl.OpenError, match=r"gl\.recordings lists them"):
        gl.open(tmp_path)


def test_an_absent_path_is_skipped_or_raised(tmp_path: Path) -> None:
    declared(tmp_path / "a")
    paths = [tmp_path / "a", tmp_path / "absent"]
    with pytest.raises(gl.OpenError, match="absent does not exist"):
        gl.Windows(paths, duration=0.5)
    windows = gl.Windows(paths, duration=0.5, on_error="skip")
    assert [uri for uri, _ in windows.skipped] == [str(tmp_path / "absent")]


def outside(tmp_path: Path) -> Path:
    """A folder with a link to a file and one to a folder that lie elsewhere."""
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "blob").write_text(CSV)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "imu.csv").symlink_to(tmp_path / "store" / "blob")
    (folder / "sub").symlink_to(tmp_path / "store")
    return folder


def test_a_listed_link_to_a_file_is_followed(tmp_path: Path) -> None:
    folder = outside(tmp_path)
    assert Location(folder).child("imu.csv", listed=True).read().decode() == CSV
    for name in ("sub", "sub/blob", "../store/blob", "/etc/passwd"):
        for listed in (True, False):
            with pytest.raises(gl.OpenError, match="outside"):
                Location(folder).child(name, listed)
    (folder / "sub").unlink()
    with gl.open(folder) as recording:
        assert list(recording.streams) == ["imu"]


def test_a_declared_link_may_not_lead_outside(tmp_path: Path) -> None:
    folder = outside(tmp_path)
    (folder / "recording.toml").write_text(TOML)
    with pytest.raises(gl.LayoutError, match="leads outside"):
        gl.open(folder)


def test_a_declared_link_may_lead_into_the_hubs_store(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "set" / "blobs", tmp_path / "set" / "snapshots" / "0a1b"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for name, text in (("imu.csv", CSV), ("recording.toml", TOML)):
        (blobs / f"of-{name}").write_text(text)
        (snapshot / name).symlink_to(Path("../../blobs") / f"of-{name}")
    with gl.open(snapshot) as recording:
        assert recording.streams["imu"].timeline.ns.tolist()[0] == 1_000_000_000
    (snapshot / "imu.csv").unlink()
    (snapshot / "imu.csv").symlink_to("/etc/passwd")
    with pytest.raises(gl.LayoutError, match="leads outside"):
        gl.open(snapshot)


def test_a_folder_of_several_vrs_files_is_as_many_recordings(tmp_path):
    layout = Layout({"capture_timestamp_ns": "int64_t", "value": "double"})
    for name in ("b.vrs", "a.vrs"):
        track = Track((1202, 1), layout=layout)
        write_vrs(tmp_path / name, [track.add(0, capture_timestamp_ns=5, value=1.0)])
    found = [str(tmp_path / "a.vrs"), str(tmp_path / "b.vrs")]
    assert gl.recordings(tmp_path) == found
    assert gl.recordings(tmp_path.parent / tmp_path.name) == found
    (tmp_path / "b.vrs").unlink()
    assert gl.recordings(tmp_path) == [str(tmp_path)]
