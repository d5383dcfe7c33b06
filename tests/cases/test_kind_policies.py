"""Policies of docs/behaviour.md that no other test of a kind asserts."""

from __future__ import annotations

import io
import re
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile
from PIL import Image
from whole_streams import read_all

import genlock as gl
from media_clips import encode, number_in, picture

ROOT = Path(__file__).resolve().parents[2]


def test_every_policy_names_a_test_that_exists() -> None:
    text = (ROOT / "docs/behaviour.md").read_text()
    named = re.findall(r"`(test_\w+)::(test_\w+)`", text)
    assert len(named) > 30
    sources = {path.stem: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}
    for file, test in named:
        assert f"def {test}(" in sources.get(file, ""), (file, test)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    bodies = [line for line in rows if "| checked by" not in line]
    assert bodies and all("`test_" in line for line in bodies)


def test_a_picture_lasts_until_the_next(tmp_path: Path) -> None:
    ticks = [0, 1, 2, 52, 53]
    path = encode(tmp_path / "pause.mkv", "libx264", 5, pts=ticks.__getitem__)
    with gl.open(path) as recording:
        field = gl.Video("video", offsets=[1, "2.07", "2.2"], color="gray")
        sample = recording.read({"x": field}, 0, 1)
        assert number_in(sample["x"][0, 0]) == 2  # for two seconds
        assert sample.mask["x"].tolist() == [True, True, False]


def test_a_tie_goes_to_the_earlier_picture(tmp_path: Path) -> None:
    path = encode(tmp_path / "clip.mp4", "libx264", 5)
    with gl.open(path) as recording:
        sample = recording.read({"x": gl.Video("video", offsets=["0.06"], color="gray")}, 0, 1)
        assert number_in(sample["x"][0, 0]) == 1
        assert sample.source_times["x"].tolist() == [40_000_000]


def test_times_before_zero_are_kept(tmp_path: Path) -> None:
    """A transport stream that began before its clock wrapped: FFmpeg counts it from below zero."""
    path = encode(tmp_path / "wraps.ts", "libx264", 50, muxing={"output_ts_offset": "95442.7"})
    with gl.open(path) as recording:
        ns = recording.streams["video"].timeline.ns
        assert len(ns) == 50 and ns[0] < 0 < ns[-1]
        sample = recording.read({"x": gl.Video("video", color="gray")}, int(ns[0]), 2)
        assert [number_in(frame[0]) for frame in sample["x"]] == list(range(50))


def test_files_joined_end_to_end_overlap_on_their_clock(tmp_path: Path) -> None:
    """Two transport streams in one file, both from zero: both are listed, at the times they say."""
    first = encode(tmp_path / "a.ts", "libx264", 20, b_frames=0).read_bytes()
    second = [picture(100 + n) for n in range(20)]
    path = tmp_path / "both.ts"
    path.write_bytes(first + encode(tmp_path / "b.ts", "libx264", second, b_frames=0).read_bytes())
    with gl.open(path) as recording:
        stream = recording.streams["video"]
        assert len(stream.timeline) == 40 and stream.info.report.ties == 20
        assert stream.info.report.reordered > 0
        sample = read_all(recording, gl.Video("video", color="gray"))
        found = [
            number_in(frame[0])
            for frame, valid in zip(sample["x"], sample.mask["x"], strict=True)
            if valid
        ]
        # what stands at the joint counts as cut off
        assert sorted(found) == [*range(18), *range(100, 120)]


def test_a_folder_of_animations_gives_first_pictures(tmp_path: Path) -> None:
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    frames = [Image.new("RGB", (16, 16), colour) for colour in colours]
    for format in ("gif", "webp", "png"):
        path = tmp_path / f"moving.{format}"
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=100, lossless=True)
        with gl.open(path) as recording:
            (name,) = recording.streams
            assert len(recording.streams[name].timeline) == 1
            sample = recording.read({"x": gl.Video(name, layout="THWC")}, 0, 1)
            assert (sample["x"] == colours[0]).all()


def test_high_dynamic_range_is_not_tone_mapped(tmp_path: Path) -> None:
    frame = av.VideoFrame(128, 64, "yuv420p10le")
    for plane, code in zip(frame.planes, (940, 512, 512), strict=True):  # white, limited
        np.frombuffer(memoryview(plane), np.uint16)[:] = code
    tags = {"color_trc": 16, "color_primaries": 9, "colorspace": 9}
    path = encode(tmp_path / "pq.mkv", "ffv1", [frame], pixels="yuv420p10le", tags=tags)
    with gl.open(path) as recording:
        info = recording.streams["video"].info
        assert info.color.transfer == "smpte2084"
        values = read_all(recording, gl.Video("video"))["x"]
        assert values.min() >= 253  # at 10000 nits, a tone map would leave less


def test_the_largest_sample_of_a_window_of_whole_ns() -> None:
    """A window holds every k with k / rate < duration, and durations are whole nanoseconds."""
    file = io.BytesIO()
    soundfile.write(file, np.zeros(44_100, np.float32), 44_100, "FLOAT", format="WAV")
    with gl.open(file.getvalue()) as recording:
        for count in (1, 2, 3, 441, 442):
            sample = recording.read({"x": gl.Audio("audio")}, 0, Fraction(count, 44_100))
            ns = round(Fraction(count * 10**9, 44_100))
            assert sample["x"].shape[1] == -(-ns * 44_100 // 10**9)


@pytest.mark.parametrize("codec", ["libvpx-vp9", "ffv1"])
def test_damage_that_no_decoder_sees_is_not_reported(codec: str, tmp_path: Path) -> None:
    """VP9 has no checksum: a picture of wrong bytes may be a picture."""
    options = {"deadline": "realtime", "cpu-used": "8"} if "vp9" in codec else {}
    path = encode(tmp_path / "clip.mkv", codec, 20, options=options)
    with av.open(str(path)) as file:
        payloads = [bytes(packet) for packet in file.demux(video=0) if packet.size]
    payload = max(payloads[1:], key=len)
    ruined = payload[: len(payload) // 2] + bytes(len(payload) - len(payload) // 2)
    path.write_bytes(path.read_bytes().replace(payload, ruined))
    with gl.open(path) as recording:
        sample = read_all(recording, gl.Video("video", color="gray"))
        assert len(sample.mask["x"]) == 20  # nothing is renumbered in any case
        assert not sample["x"][~sample.mask["x"]].any()
