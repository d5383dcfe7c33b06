"""A folder of loose files: what is guessed, and that it is said to be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import genlock
from genlock.clock import ClockMap
from genlock.decoders.table import TableDecoder
from genlock.errors import LayoutError, OpenError, TimeUnitError
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources import loose, open_source, table
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline


def write(base: Path, files: Mapping[str, str]) -> Location:
    for name, content in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return Location(base)


def test_tables_become_streams_on_clocks_of_their_own(tmp_path: Path) -> None:
    files = {"imu.csv": "t_us,gx\n1,5\n", "gaze.csv": "t_ms,yaw\n1,6\n", "README.md": "# A walk"}
    source = open_source(write(tmp_path, files))
    assert list(source.streams) == ["gaze", "imu"]
    assert {name: one.info.clock for name, one in source.streams.items()} == {
        "gaze": "gaze",
        "imu": "imu",
    }
    assert source.clock not in ("gaze", "imu")
    assert not set(source.clocks) & {"gaze", "imu"}  # nothing relates them
    imu = source.streams["imu"]
    assert imu.timeline.ns.tolist() == [1000]
    assert TableDecoder(source.units("imu"), imu).columns()["gx"].tolist() == [5]
    line = '[streams.imu] kind = "sensor" path = "imu.csv"'
    assert any(note.endswith(line) for note in imu.info.report.notes)
    source.close()


def test_a_single_file_has_the_only_clock(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, {"imu.csv": "t_us,gx\n1,5\n"}))
    assert source.clock == source.streams["imu"].info.clock == "imu"
    assert source.clocks["imu"].is_identity


def test_a_shared_clock_can_be_declared(tmp_path: Path) -> None:
    place = write(tmp_path, {"imu.csv": "t,gx\n1,5\n", "gaze.csv": "t_ms,yaw\n1,6\n"})
    declared = {
        "imu": {"clock": "device", "time": {"unit": "s"}, "zero_ns": 7},
        "gaze": {"clock": "device"},
    }
    source = open_source(place, OpenOptions(streams=declared))
    assert source.clock == "device"
    assert source.streams["imu"].timeline.ns.tolist() == [10**9 + 7]


def test_files_of_one_stem_stay_apart(tmp_path: Path) -> None:
    np.save(tmp_path / "imu.npy", np.zeros(2, [("t_ns", "i8"), ("x", "f8")]))
    source = open_source(write(tmp_path, {"imu.csv": "t_us,gx\n1,5\n"}))
    assert list(source.streams) == ["imu", "imu.npy"]


def test_a_table_without_times_is_no_stream_but_one_without_unit_is(tmp_path: Path) -> None:
    files = {"metadata.csv": "key,value\na,1\n", "plain.csv": "1,2\n", "imu.csv": "t,x\n1,2\n"}
    place = write(tmp_path, files)
    source = open_source(place)
    assert list(source.streams) == ["imu"]
    assert isinstance(source.streams["imu"].problem, TimeUnitError)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OpenError, match=r"gaze\.csv: line 2 has 1 cells"):
        open_source(write(tmp_path, {"imu.csv": "t_us,gx\n1,5\n", "gaze.csv": "t_ms,yaw\n1\n"}))


@pytest.mark.parametrize(
    "files",
    [{}, {"README.md": "x"}, {"walk1/imu.csv": "t_us,gx\n1,5\n", "walk2/imu.csv": "t_us,x"}],
)
def test_a_folder_without_streams_says_what_to_do(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(
        OpenError, match=r"holds no stream\. If it holds recordings, gl\.recordings lists"
    ):
        open_source(write(tmp_path, files))


def test_declarations_need_their_stream(tmp_path: Path) -> None:
    place = write(tmp_path, {"imu.csv": "t_us,gx\n1,5\n"})
    with pytest.raises(LayoutError, match=r"\[streams\.inu\]: .* did you mean 'imu'"):
        open_source(place, OpenOptions(streams={"inu": {"clock": "device"}}))
    with pytest.raises(LayoutError, match="unit= is for a lone file"):
        open_source(place, OpenOptions("ms"))


def test_a_folder_of_pictures_is_a_stream(tmp_path: Path) -> None:
    for index, name in enumerate(["1.0", "1.5", "2.25"]):
        path = tmp_path / f"rgb/{name}.png"
        path.parent.mkdir(exist_ok=True)
        assert cv2.imwrite(str(path), np.full((4, 6, 3), index, np.uint8))
    source = open_source(write(tmp_path, {"imu.csv": "t_us,gx\n1,5\n"}))
    stream = source.streams["rgb"]
    assert (stream.info.modality, stream.info.shape, stream.info.clock) == ("video", (4, 6), "rgb")
    assert stream.timeline.ns.tolist() == [10**9, 1_500_000_000, 2_250_000_000]
    assert "times are the files' names, read as seconds" in stream.info.report.notes
    assert source.units("rgb").unit(2) == (tmp_path / "rgb/2.25.png").read_bytes()


class Media:
    """Stands for a file of two tracks, or a folder of pictures."""

    clock = "media"
    clocks: Mapping[str, ClockMap] = {}
    closed = False

    def __init__(self, location: Location) -> None:
        self.location = location
        info = StreamInfo("video", "image" if location.is_folder() else "packets", clock="media")
        self.streams = {"video": Stream("video", info, Timeline([5]))}
        if not location.is_folder():
            info = replace(info, modality="audio", encoding="samples")
            self.streams["audio"] = Stream("audio", info, Timeline([5]))

    def units(self, stream: str) -> str:  # type: ignore[override]
        return f"{self.location.name} {stream}"

    def close(self) -> None:
        self.closed = True


def test_tracks_share_the_clock_of_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def format_of(location: Location) -> str | None:
        if location.is_folder():
            return "images" if location.name == "depth" else "loose"
        return {".mp4": "media", ".csv": "table"}.get(location.suffix)

    def open_child(location: Location, options: OpenOptions) -> Source:
        if location.suffix == ".csv":
            return table.open_source(location, options, open_child)
        opened.append(Media(location))
        return opened[-1]

    monkeypatch.setattr(loose, "format_of", format_of)
    files = {"rgb.mp4": "", "imu.csv": "t_us,gx\n1,5\n", "depth/1.png": "", "other/1.csv": ""}
    source = loose.open_source(write(tmp_path, files), OpenOptions(), open_child)
    assert {name: one.info.clock for name, one in source.streams.items()} == {
        "depth": "depth",
        "imu": "imu",
        "rgb-video": "rgb",
        "rgb-audio": "rgb",
    }
    assert source.units("rgb-audio") == "rgb.mp4 audio"
    assert source.units("depth") == "depth video"
    source.close()
    assert [media.closed for media in opened] == [True, True]


def test_errors_and_prints_name_the_clock_and_the_stream_to_mend(tmp_path: Path) -> None:
    files = {"imu.csv": "t_us,gx\n1,5\n", "gaze.csv": "t_ms,yaw\n1,6\n", "hand.csv": "t,x\n1,6\n"}
    write(tmp_path, files)
    with genlock.open(tmp_path) as recording:
        with pytest.raises(genlock.ClockError, match=r"\[clocks\.gaze\] offset_ns = 0"):
            recording.start_ns  # noqa: B018
        assert "1 int64, TimeUnitError: see .problem)" in repr(recording.streams["hand"])
        assert "Timeline(1 rows" in repr(recording.streams["imu"])


def test_names_that_toml_quotes_are_quoted_in_what_is_to_be_written(tmp_path: Path) -> None:
    write(tmp_path, {"left.imu.csv": "t_us,gx\n1,5\n", 'a "b".csv': "t_ms,yaw\n1,6\n"})
    with genlock.open(tmp_path) as recording:
        with pytest.raises(genlock.ClockError) as caught:
            recording.start_ns  # noqa: B018
        notes = recording.streams['a "b"'].info.report.notes
    advice = re.search(r"\[clocks\..*?\] offset_ns = 0", str(caught.value))
    assert advice is not None
    table = tomllib.loads(advice[0].replace("]", "]\n"))["clocks"]
    assert set(table) in ({"left.imu"}, {'a "b"'})
    (line,) = (note.split(": ", 1)[1] for note in notes if "[streams." in note)
    line = line.replace("]", "]\n").replace('" path', '"\npath')
    table = tomllib.loads(line)["streams"]
    assert table == {'a "b"': {"kind": "sensor", "path": 'a "b".csv'}}
