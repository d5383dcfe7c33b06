"""The table of formats: who opens what, and what is said if nobody does."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from genlock import sources
from genlock.clock import ClockMap
from genlock.errors import LayoutError, OpenError
from genlock.interfaces import OpenChild, OpenOptions
from genlock.location import Location
from genlock.sources import FORMATS, format_of, open_source
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline


def test_content_decides_before_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "table.dat"
    path.write_bytes(b"\x93NUMPY")
    assert format_of(Location(path)) == "table"


def test_every_format_is_there_and_can_say_no(tmp_path: Path) -> None:
    path = tmp_path / "noise.xyz"
    path.write_bytes(b"\x00\x01\x02 nothing that is known \xff" * 20)
    with pytest.raises(OpenError, match=r"noise\.xyz: .*none of the formats") as caught:
        open_source(Location(path))
    assert all(name in str(caught.value) for name in FORMATS)
    assert all(f"genlock.sources.{name}" in sys.modules for name in FORMATS)


def test_what_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(OpenError, match=r"walk\.mp4 does not exist"):
        open_source(Location(tmp_path / "walk.mp4"))


def test_a_folder_with_a_recording_toml_is_that(tmp_path: Path) -> None:
    assert format_of(Location(tmp_path)) == "loose"
    (tmp_path / "recording.toml").write_text("")
    assert format_of(Location(tmp_path)) == "folder"
    assert format_of(Location(tmp_path / "recording.toml")) == "folder"


def test_a_table_serves_the_streams_that_are_declared_of_it(tmp_path: Path) -> None:
    (tmp_path / "imu.csv").write_text("t_ns,x\n1,2\n")
    place = Location(tmp_path / "imu.csv")
    renamed = open_source(place, OpenOptions(streams={"gyro": {"clock": "device"}}))
    assert list(renamed.streams) == ["gyro"]
    with pytest.raises(LayoutError, match=r"streams=: \[streams\.imu\] zero: .*'zero_ns'"):
        open_source(place, OpenOptions(streams={"imu": {"zero": 5}}))


class Clip:
    """A format of one stream, `video`, that looks at no declaration; and its own source."""

    clock = "media"
    clocks: Mapping[str, ClockMap] = {}
    streams: Mapping[str, Stream]
    closed = 0

    def claims(self, location: Location, head: bytes) -> bool:
        return True

    def open_source(self, location: Location, options: OpenOptions, open_child: OpenChild) -> Clip:
        info = StreamInfo("video", "packets", clock="media")
        self.location = location
        self.options = options
        self.streams = {"video": Stream("video", info, Timeline([5, 7]))}
        return self

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def clip(monkeypatch: pytest.MonkeyPatch) -> Clip:
    """The only known format."""
    only = Clip()
    monkeypatch.setitem(sys.modules, "genlock.sources.clip", only)  # type: ignore[arg-type]
    monkeypatch.setattr(sources, "FORMATS", ("clip",))
    return only


def test_a_format_need_not_know_about_places(clip: Clip) -> None:
    declared = {
        "kind": "depth",
        "depth": {"scale": 0.001},
        "zero_ns": 100,
        "clock": "device",
        "exposure_ns": 3,
    }
    source = open_source(Location("memory:a", b"a"), OpenOptions(streams={"video": declared}))
    stream = source.streams["video"]
    assert (stream.info.modality, stream.info.depth) == ("depth", "mm")
    assert (stream.info.clock, stream.info.exposure_ns, source.clock) == ("device", 3, "device")
    assert stream.timeline.ns.tolist() == [105, 107]
    # what is about reading is the format's own business
    assert clip.options.streams == {"video": {"kind": "depth", "depth": {"scale": 0.001}}}
    source.close()
    assert clip.closed == 1


def test_without_a_declaration_nothing_is_wrapped(clip: Clip) -> None:
    assert open_source(Location("memory:a", b"a")) is clip


def test_a_declared_stream_must_be_there(clip: Clip) -> None:
    with pytest.raises(LayoutError, match=r"\[streams\.vidoe\]: .* did you mean 'video'\?"):
        open_source(Location("memory:a", b"a"), OpenOptions(streams={"vidoe": {"kind": "video"}}))
    assert clip.closed == 1
