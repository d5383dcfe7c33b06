"""Declarations: the documented format is the one that is read."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from genlock import declaration
from genlock.declaration import RecordingDeclaration, StreamDeclaration, TimeRule
from genlock.errors import LayoutError

DOCS = Path(__file__).resolve().parent.parent / "docs" / "recording-toml.md"
EXAMPLES = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_documentation_are_read(example: str) -> None:
    declared = RecordingDeclaration.read(example.encode(), "recording.toml", {})
    written = set(re.findall(r"^\[streams\.([\w-]+)\]", example, re.MULTILINE))
    assert set(declared.streams) == written
    assert len(EXAMPLES) == 3


def test_every_key_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for key in (*declaration._KEYS, *declaration._PLACING_KEYS, *declaration._TIME):
        assert re.search(rf"`[^`]*\b{key}\b[^`]*`", text), key


def test_numbers_are_read_as_the_decimals_that_are_written() -> None:
    text = (
        '[streams.a]\nkind = "sensor"\npath = "a.csv"\nclock = "c"\ntime = { rate = 29.97 }\n'
        "[clocks.c]\nscale = 1.00004\n"
    )
    declared = RecordingDeclaration.read(text.encode(), "recording.toml", {})
    assert declared.streams["a"].time.rate == Fraction(2997, 100)
    assert declared.clocks["c"].scale == Fraction(100_004, 100_000)
    ntsc = StreamDeclaration.of("a", {"time": {"rate": "30000/1001"}})
    assert ntsc.time.rate == Fraction(30_000, 1001)


def test_reading_is_told_from_placing() -> None:
    values = {"kind": "sensor", "columns": ["x"], "clock": "c", "zero_ns": 3}
    declared = StreamDeclaration.of("a", values)
    assert declared.reading == {"kind": "sensor", "columns": ["x"]}
    # a sidecar gives the times, so that the file's own need not be known
    sidecar = StreamDeclaration.of("a", {**values, "times": {"path": "t.csv"}})
    assert sidecar.times == TimeRule(path="t.csv")
    assert sidecar.reading["time"] == {"rate": 1}


def test_errors_name_file_stream_and_key() -> None:
    with pytest.raises(LayoutError) as caught:
        StreamDeclaration.of("imu", {"time": {"unit": "sec"}}, "walk/recording.toml")
    assert caught.value.stream == "imu"
    start = "walk/recording.toml: [streams.imu] time.unit: 'sec' is not known; there is 's', 'ms'"
    assert str(caught.value).startswith(start)


@pytest.mark.parametrize(
    "name", ["imu", "left-imu_2", "a.b", "left imu", 'a "b" \\c', "Kopfhörer", "a\x7f\n"]
)
def test_names_in_messages_are_keys_of_toml(name: str) -> None:
    with pytest.raises(LayoutError) as caught:
        StreamDeclaration.of(name, {"time": {"unit": "sec"}}, "recording.toml")
    table = str(caught.value).split(": ", 1)[1].split("] time")[0] + "]"
    assert tomllib.loads(table) == {"streams": {name: {}}}
