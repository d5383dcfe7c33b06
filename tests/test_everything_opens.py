"""Every real recording opens, and a window over it loads; or it says why not."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import genlock as gl

OPTIONS: dict[str, dict[str, Any]] = {
    "rgbd-redwood": {"streams": {"color": {"time": {"rate": 30.0}}}},
}
REFUSED = {
    "aria-vrs": "holds 2 recordings: open one of aria_gen2_unit_test_sequence_with_bluetooth.vrs, "
    "recording.vrs",
    "lerobot-v20-gr00t": "holds 5 episodes, each a recording of its own: open one, such as",
    "vrs-oss": "holds 2 recordings: open one of chunks.vrs, sample_file.vrs",
}
"""Folders of several recordings: which of them is meant cannot be guessed."""
PROBLEMS = {
    "euroc-micro": {"state_groundtruth_estimate0": "data.csv"},
    "images": {"images": "the name 'gradient.heic' does not say when that was: add time ="},
    "neon": {
        "world": "there is no Neon_Scene_Camera_v1 ps1.mp4",
        "eye": "there is no Neon_Sensor_Module_v1 ps1.mp4",
    },
}
"""Streams that are listed with what keeps them from being read."""

MEDIA = {".mp4", ".mov", ".mkv", ".webm", ".ts", ".wav", ".ogg", ".mp3", ".vrs", ".mcap", ".bag"}


def field_for(stream: gl.Stream) -> Any:
    match stream.info.modality:
        case "video" if stream.info.encoding == "packets":
            return gl.Video(stream.name, rate=5, size=(32, 32))
        case "video":
            return gl.Video(stream.name, size=(32, 32))
        case "depth":
            return gl.Depth(stream.name, size=(32, 32))
        case "audio":
            return gl.Audio(stream.name, rate=16_000)
        case "pose":
            return gl.Pose(stream.name, rate=50)
        case "sensor":
            return gl.Sensor(stream.name, rate=50, dtype="float64")
        case _:
            return gl.Labels(stream.name)


def load_all(path: Path | str, **options: Any) -> int:
    """Load a window of every usable stream; returns how many streams gave something valid."""
    found = 0
    with gl.open(path, **options) as recording:
        assert recording.streams
        for stream in recording.streams.values():
            if stream.problem is not None or not len(stream.timeline):
                continue
            sample = recording.read({"x": field_for(stream)}, stream.timeline.start_ns, 0.2)
            found += bool(len(sample["x"])) and bool(sample.mask.get("x", [True])[0:1])
    return found


def test_every_file_opens_and_loads(real: Path) -> None:
    files = sorted(p for p in real.rglob("*") if p.suffix in MEDIA)
    assert len(files) > 40
    for path in files:
        assert load_all(path) >= 1, path


def folders(real: Path) -> list[Path]:
    return sorted(path for path in real.iterdir() if path.is_dir())


def test_every_folder_of_one_recording_opens(real: Path) -> None:
    for folder in folders(real):
        if folder.name == "exr" and find_spec("OpenEXR") is None:
            with pytest.raises(gl.MissingExtraError, match=r"pip install 'genlock\[exr\]'"):
                load_all(folder)
        elif folder.name not in REFUSED and folder.name != "images":
            assert load_all(folder, **OPTIONS.get(folder.name, {})) >= 1, folder


def test_every_stream_that_cannot_be_read_says_why(real: Path) -> None:
    for folder in folders(real):
        if folder.name in REFUSED:
            continue
        with gl.open(folder, **OPTIONS.get(folder.name, {})) as recording:
            found = {s.name: str(s.problem) for s in recording.streams.values() if s.problem}
        expected = PROBLEMS.get(folder.name, {})
        assert found.keys() == expected.keys(), folder
        for name, why in expected.items():
            assert why in found[name]


@pytest.mark.parametrize("name", list(REFUSED))
def test_a_folder_of_several_recordings_says_what_to_open(real: Path, name: str) -> None:
    with pytest.raises(gl.OpenError, match=re.escape(f"{real / name} {REFUSED[name]}")):
        gl.open(real / name)
    found = gl.recordings(real / name)
    assert len(found) == int(REFUSED[name].split()[1])
    for path in found:
        if "#" not in path or path[-1] in "23":  # the files of other episodes are not here
            assert load_all(path) >= 1, path
