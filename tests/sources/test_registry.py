"""The table of formats: who opens what, and what is said if nobody does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from genlock.errors import LayoutError, OpenError
from genlock.interfaces import OpenOptions
from genlock.location import Location
from genlock.sources import FORMATS, format_of, open_source


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


def test_declared_streams_must_exist(tmp_path: Path) -> None:
    (tmp_path / "imu.csv").write_text("t_ns,x\n1,2\n")
    place = Location(tmp_path / "imu.csv")
    # a table serves the streams that are declared of it, under their names
    renamed = open_source(place, OpenOptions(streams={"gyro": {"clock": "device"}}))
    assert list(renamed.streams) == ["gyro"]
    with pytest.raises(LayoutError, match=r"streams=: \[streams\.imu\] zero: .*'zero_ns'"):
        open_source(place, OpenOptions(streams={"imu": {"zero": 5}}))
