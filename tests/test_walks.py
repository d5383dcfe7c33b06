"""Which windows one decoder does best in turn: against the table of key frames."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl
from genlock._field_order import check_fields
from genlock._walks import PLACES, Walks
from genlock.fetch import plan_window
from genlock.jobs import Planned

FIELDS = {"rgb": gl.Video("camera-rgb", rate=10, size=(16, 16))}


@pytest.fixture
def recording(sample: Path) -> gl.Recording:
    return gl.open(sample)


def job(recording: gl.Recording, after_ns: int, fields: Mapping[str, Any] = FIELDS) -> Planned:
    """The job of a window of 0.2 s that begins so much after the first frame."""
    start_ns = int(recording.streams["camera-rgb"].timeline.ns[0]) + after_ns
    window = gl.Window(recording.uri, start_ns, 200_000_000, 0)
    (only,) = plan_window(recording.opened, fields, check_fields(fields), window).values()
    return only


def key_frames(recording: gl.Recording) -> np.ndarray:
    units = recording.opened.source.units("camera-rgb")
    table = units.spec.table
    units.close()
    return recording.streams["camera-rgb"].timeline.ns[table.key[table.row_unit]]


def test_windows_between_two_key_frames_are_one_walk(recording: gl.Recording) -> None:
    walks, keys = Walks(), key_frames(recording)
    jobs = [job(recording, after) for after in range(0, 8_000_000_000, 170_000_000)]
    found = [walks.of(one) for one in jobs]
    groups = np.searchsorted(keys, [one.begins_ns for one in jobs], "right")
    assert 1 < len(set(groups)) < len(jobs)
    for (left, here), (right, there) in pairwise(zip(found, groups, strict=True)):
        assert (left == right) == (here == there)


def test_going_back_is_another_walk(recording: gl.Recording) -> None:
    walks = Walks()
    here, later = job(recording, 0), job(recording, 100_000_000)
    first = walks.of(here)
    assert walks.of(later) == first and walks.of(here) != first


def test_what_stands_alone_is_on_no_walk(sample: Path, recording: gl.Recording) -> None:
    fields = {"imu": gl.Sensor("imu", rate=50)}
    assert Walks().of(job(recording, 0, fields)) is None
    before = job(recording, -10_000_000_000)  # masked: nothing to decode
    assert Walks().of(before) is None


def test_few_places_are_remembered(recording: gl.Recording) -> None:
    walks, wanted = Walks(), job(recording, 0)
    for i in range(PLACES + 5):
        walks._last["other", str(i)] = (0, object())
        walks.of(wanted)
    assert len(walks._last) <= PLACES
