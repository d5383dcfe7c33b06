"""Where recordings are: fragments that name one of several at a place."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from genlock.location import Location


@pytest.mark.parametrize("uri", ["{}/set/#episode=3", "{}/set#episode=3"])
def test_a_fragment_names_a_recording_in_a_folder(tmp_path: Path, uri: str):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a.txt").write_text("a")
    location = Location(uri.format(tmp_path))
    assert location.fragment == ("episode", "3")
    assert location.uri == uri.format(tmp_path)
    assert location.is_folder()
    assert location.name == "set"
    assert location.names() == ["a.txt"]
    assert location.child("a.txt").read() == b"a"
    assert location.child("a.txt").fragment is None
    assert pickle.loads(pickle.dumps(location)) == location


def test_a_fragment_of_a_url():
    location = Location("memory://bucket/set/#episode=3")
    assert location.fragment == ("episode", "3")
    assert location.child("a.txt").uri == "memory://bucket/set/a.txt"


@pytest.mark.parametrize("name", ["clip #1 [x].mp4", "a#b=1.mp4", "x#episode=3"])
def test_a_file_may_have_a_name_like_that(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(b"data")
    location = Location(tmp_path / name)
    assert location.fragment is None
    assert (location.name, location.read()) == (name, b"data")


def test_places_without_a_fragment():
    assert Location("dir/a#b/c.mp4").fragment is None
    assert Location("memory:0#episode=3", b"x").fragment is None
    assert Location("x#episode=3").fragment == ("episode", "3")
