"""Every real recording opens, and a window over it loads; or it says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import genlock as gl

OPTIONS: dict[str, dict[str, Any]] = {
    "rgbd-redwood": {"streams": {"color": {"time": {"rate": 30.0}}}},
}
REFUSED = {
    "aria-vrs": "several",  # a folder of two recordings: each opens by itself
    "lerobot-v20-gr00t": "episode",  # a data set: its episodes open
    "vrs-oss": "recordings",
    "audio": "recordings",
    "video-": "recordings",
    "images": "times",
    "exr": "times",
    "mcap-euroc-img-imu": "recordings",
    "rosbag1-foxglove": "recordings",
    "gopro-gpmf": "recordings",
}
"""Folders that hold several recordings, or pictures without times."""

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


def test_every_folder_opens_or_says_why_not(real: Path) -> None:
    for folder in sorted(p for p in real.iterdir() if p.is_dir()):
        refused = next((why for name, why in REFUSED.items() if folder.name.startswith(name)), None)
        if refused is None:
            assert load_all(folder, **OPTIONS.get(folder.name, {})) >= 1, folder
            continue
        try:
            load_all(folder)
        except gl.GenlockError as error:
            assert str(folder) in str(error), folder
    assert load_all(f"{real / 'lerobot-v20-gr00t'}#episode=3") > 3
