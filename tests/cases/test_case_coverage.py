"""Every row of CASES.tsv has a test that names it, and loaders give what `read` gives."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import genlock as gl
from genlock._nanoseconds import SECOND_NS


def named_cases() -> Iterator[str]:
    """The rows that a `case` marker names, in this folder."""
    for path in sorted(Path(__file__).parent.glob("test_case_*.py")):
        for item in vars(import_module(path.stem)).values():
            for mark in getattr(item, "pytestmark", []):
                yield from mark.args if mark.name == "case" else _of_parameters(mark)


def _of_parameters(mark: pytest.Mark) -> Iterator[str]:
    if mark.name == "parametrize":
        for values in mark.args[1]:
            for inner in getattr(values, "marks", ()):
                yield from inner.args


def test_every_case_has_a_test(cases: Path) -> None:
    with (cases / "CASES.tsv").open(newline="") as file:
        listed = [row["id"] for row in csv.DictReader(file, delimiter="\t")]
    assert sorted(listed) == sorted(set(named_cases()))


FILES = {
    "v01_cut_editlist.mp4": ("video", "audio"),
    "v03_vfr.mp4": ("video",),
    "v05_overcount.avi": ("video",),
    "v07_hevc_opengop.mp4": ("video",),
    "v15_corrupt.mkv": ("video",),
    "v18_tmcd.mov": ("video", "audio"),
    "a01b_adts_no_priming_info.aac": ("audio",),
    "a02_audio_late.mkv": ("video", "audio"),
    "a06_opus.ogg": ("audio",),
    "a09_ext24_4ch.wav": ("audio",),
}


def test_a_loader_gives_what_read_gives(inputs: Path) -> None:
    kinds = {"video": gl.Video("video", rate=25), "audio": gl.Audio("audio")}
    for file, streams in FILES.items():
        fields = {name: kinds[name] for name in streams}
        windows = gl.Windows(inputs / file, duration=Fraction(1, 50), shuffle=True, seed=3)
        with (
            gl.open(inputs / file) as recording,
            gl.Loader(windows, fields, batch_size=1, threads=2, device="cpu") as loader,
        ):
            for batch in loader:
                (window,) = batch.windows
                duration = Fraction(window.duration_ns, SECOND_NS)
                expected = recording.read(fields, window.start_ns, duration)
                for name in fields:
                    assert np.array_equal(batch[name][0].numpy(), expected[name]), (file, window)
                    assert np.array_equal(batch.mask[name][0].numpy(), expected.mask[name])
