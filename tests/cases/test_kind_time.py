"""Time: where files start, what their stamps say, and what they fail to say."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from mp4_boxes import edit
from whole_streams import read_all

import genlock as gl
from genlock._nanoseconds import SECOND_NS
from media_clips import encode, number_in, picture

FRAME_NS = 40_000_000


def numbers(path: Path) -> tuple[list[int], list[int]]:
    """What all pictures of a file spell, -1 where masked, and their times in ns."""
    with gl.open(path) as recording:
        (stream,) = recording.streams
        sample = read_all(recording, gl.Video(stream, color="gray"))
        found = [
            number_in(frame[0]) if valid else -1
            for frame, valid in zip(sample["x"], sample.mask["x"], strict=True)
        ]
        return found, sample.times["x"].tolist()


def test_transport_stream_clocks_that_wrap(tmp_path: Path) -> None:
    wrap = Fraction(2**33, 90_000)
    start = round(float(wrap) - 1, 3)
    path = encode(
        tmp_path / "wraps.ts",
        "libx264",
        60,
        b_frames=2,
        muxing={"output_ts_offset": str(start), "muxdelay": "0"},
    )
    with av.open(str(path)) as file:
        assert file.streams.video[0].time_base == Fraction(1, 90_000)
    found, ns = numbers(path)
    assert found == list(range(60))
    assert set(np.diff(ns).tolist()) == {FRAME_NS}
    with gl.open(path) as recording:
        for index in (59, 3, 30, 20, 24, 25, 26, 0):
            field = gl.Video("video", offsets=[0], color="gray")
            sample = recording.read({"x": field}, ns[index], 1)
            assert number_in(sample["x"][0, 0]) == index


@pytest.mark.parametrize(
    ("suffix", "codec", "b_frames"),
    [
        ("h264", "libx264", 2),
        ("h264", "libx264", 0),
        ("h265", "libx265", 2),
        ("m2v", "mpeg2video", 2),
        ("m4v", "mpeg4", 2),
        ("mjpeg", "mjpeg", 0),
        ("obu", "libsvtav1", 0),
        ("ivf", "libvpx-vp9", 0),
        ("avi", "mpeg4", 2),
        ("avi", "libx264", 2),
        ("avi", "mjpeg", 0),
        ("mpg", "mpeg1video", 2),
        ("flv", "libx264", 2),
        ("nut", "libx264", 2),
        ("asf", "mpeg4", 0),
    ],
)
def test_containers_that_know_little_of_time(
    tmp_path: Path, suffix: str, codec: str, b_frames: int
) -> None:
    pixels = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    path = encode(tmp_path / f"clip.{suffix}", codec, 40, b_frames=b_frames, pixels=pixels)
    found, ns = numbers(path)
    assert found == list(range(40))
    assert np.abs(np.diff(ns) - FRAME_NS).max() <= 1_000_000
    with gl.open(path) as recording:
        for index in (39, 2, 20, 13, 12, 11, 38, 0):
            field = gl.Video("video", offsets=[0], color="gray")
            sample = recording.read({"x": field}, ns[index], 1)
            assert number_in(sample["x"][0, 0]) == index


@pytest.mark.parametrize(
    ("suffix", "muxing"),
    [
        ("mkv", {"live": "1"}),
        ("webm", {"live": "1"}),
        ("mp4", {"movflags": "frag_keyframe+empty_moov"}),
        ("mp4", {"movflags": "frag_every_frame+empty_moov+default_base_moof"}),
        ("mp4", {"movflags": "faststart"}),
    ],
)
def test_recordings_without_a_stated_duration(
    tmp_path: Path, suffix: str, muxing: dict[str, str]
) -> None:
    codec = "libvpx-vp9" if suffix == "webm" else "libx264"
    options = {"deadline": "realtime", "cpu-used": "8"} if suffix == "webm" else {}
    path = tmp_path / f"live.{suffix}"
    encode(path, codec, 40, muxing=muxing, options=options, b_frames=0)
    found, ns = numbers(path)
    assert found == list(range(40))
    assert ns == [n * FRAME_NS for n in range(40)]


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "ts", "mov"])
def test_a_start_other_than_zero_is_kept(tmp_path: Path, suffix: str) -> None:
    path = encode(tmp_path / f"late.{suffix}", "libx264", 20, pts=lambda n: n + 250, b_frames=2)
    found, ns = numbers(path)
    assert found == list(range(20))
    assert set(np.diff(ns).tolist()) == {FRAME_NS}
    assert ns[0] == 10 * SECOND_NS


@pytest.mark.parametrize("suffix", ["mp4", "mkv", "webm", "mov", "ts", "nut"])
def test_variable_rate(tmp_path: Path, suffix: str) -> None:
    ticks = np.cumsum([0, *([40] * 10), 1_000, 10, 5, *([70] * 15), 400, 40]).tolist()
    codec = "libvpx-vp9" if suffix == "webm" else "libx264"
    path = encode(
        tmp_path / f"vfr.{suffix}",
        codec,
        len(ticks),
        pts=ticks.__getitem__,
        time_base=Fraction(1, 1_000),
    )
    found, ns = numbers(path)
    assert found == list(range(len(ticks)))
    assert (np.array(ns) - ns[0]).tolist() == [t * 1_000_000 for t in ticks]
    with gl.open(path) as recording:
        shown = gl.Video("video", rate=100, method="previous", color="gray")
        sample = recording.read({"x": shown}, ns[0], 2)
        expected = np.searchsorted(ticks, np.arange(0, 2_000, 10), "right") - 1
        assert sample.mask["x"].all()
        assert [number_in(frame[0]) for frame in sample["x"]] == expected.tolist()


@pytest.mark.parametrize("suffix", ["mkv", "ts", "avi", "mp4", "webm", "gif", "mov"])
def test_clips_of_one_picture(tmp_path: Path, suffix: str) -> None:
    codec = {"webm": "libvpx-vp9", "avi": "mpeg4", "gif": "gif"}.get(suffix, "libx264")
    pixels = "gray" if suffix == "gif" else "yuv420p"
    path = encode(tmp_path / f"one.{suffix}", codec, [picture(77)], pixels=pixels)
    with gl.open(path) as recording:
        (name,) = recording.streams
        start_ns = recording.start_ns
        sample = recording.read({"x": gl.Video(name, rate=25, color="gray")}, start_ns, "0.32")
        assert sample["x"].shape == (8, 1, 64, 128)
        assert number_in(sample["x"][0, 0]) == 77
        assert sample.mask["x"][0] and not sample.mask["x"][2:].any()


def test_several_tracks_of_a_kind(tmp_path: Path) -> None:
    path = tmp_path / "two.mkv"
    with av.open(str(path), "w") as file:
        tracks = [file.add_stream("libx264", rate=25) for _ in range(2)]
        for track in tracks:
            track.width, track.height, track.pix_fmt = 128, 64, "yuv420p"
        for n in range(20):
            for offset, track in zip((0, 100), tracks, strict=True):
                gray = av.VideoFrame.from_ndarray(picture(n + offset), format="gray")
                frame = gray.reformat(format="yuv420p", dst_color_range=1, src_color_range=1)
                frame.pts, frame.time_base = n, Fraction(1, 25)
                file.mux(track.encode(frame))
        for track in tracks:
            file.mux(track.encode(None))
    with gl.open(path) as recording:
        assert list(recording.streams) == ["video", "video1"]
        fields = {
            "a": gl.Video("video", rate=25, color="gray"),
            "b": gl.Video("video1", rate=25, color="gray"),
        }
        sample = recording.read(fields, 0, "0.8")
        assert [number_in(frame[0]) for frame in sample["a"]] == list(range(20))
        assert [number_in(frame[0]) for frame in sample["b"]] == list(range(100, 120))


@pytest.mark.parametrize(("codec", "suffix"), [("mpeg2video", "ts"), ("libx264", "mp4")])
def test_interlaced_video_is_said_to_be_so(tmp_path: Path, codec: str, suffix: str) -> None:
    options = {"flags": "+ildct+ilme", "x264-params": "tff=1"}
    frames = []
    for n in range(10):
        frame = av.VideoFrame.from_ndarray(picture(n), format="gray").reformat(format="yuv420p")
        frames.append(frame)
    path = encode(tmp_path / f"fields.{suffix}", codec, frames, options=options)
    with gl.open(path) as recording:
        assert recording.streams["video"].info.interlaced
        assert len(recording.streams["video"].timeline) == 10
    path = encode(tmp_path / f"frames.{suffix}", codec, 10)
    with gl.open(path) as recording:
        assert not recording.streams["video"].info.interlaced


def test_sound_and_picture_of_different_lengths(tmp_path: Path) -> None:
    """Video from 1 s to 2 s, audio from 0 s to 3 s: each keeps its own times."""
    path = tmp_path / "lengths.mp4"
    tone = (np.sin(np.arange(24_000) / 5) * 0.3).astype(np.float32)
    with av.open(str(path), "w") as file:
        video = file.add_stream("libx264", rate=25)
        video.width, video.height, video.pix_fmt = 128, 64, "yuv420p"
        audio = file.add_stream("aac", rate=8_000)
        audio.layout = "mono"
        sound = av.AudioFrame.from_ndarray(tone[None], "fltp", "mono")
        sound.sample_rate, sound.pts, sound.time_base = 8_000, 0, Fraction(1, 8_000)
        file.mux(audio.encode(sound))
        for n in range(25):
            frame = av.VideoFrame.from_ndarray(picture(n), format="gray").reformat(
                format="yuv420p", src_color_range=1, dst_color_range=1
            )
            frame.pts, frame.time_base = n + 25, Fraction(1, 25)
            file.mux(video.encode(frame))
        file.mux(video.encode(None))
        file.mux(audio.encode(None))
    with gl.open(path) as recording:
        video_ns = recording.streams["video"].timeline.ns
        assert (int(video_ns[0]), len(video_ns)) == (SECOND_NS, 25)
        sounding = recording.streams["audio"].timeline
        assert (sounding.start_ns, len(sounding)) == (0, 24_000)
        fields = {"v": gl.Video("video", rate=25, color="gray"), "a": gl.Audio("audio")}
        sample = recording.read(fields, 0, 3)
        assert np.flatnonzero(sample.mask["v"]).tolist() == list(range(25, 50))
        assert [number_in(f[0]) for f in sample["v"][25:50]] == list(range(25))
        assert sample.mask["a"].all()


def test_stamps_that_repeat(tmp_path: Path) -> None:
    """Two pictures with one time are two rows; `previous` shows the second, as a player does."""
    times = [0, 1, 2, 2, 3, 4]
    path = tmp_path / "ties.mkv"
    source = encode(tmp_path / "source.mkv", "mjpeg", 6, pixels="yuvj420p")
    with av.open(str(source)) as given, av.open(str(path), "w") as file:
        track = file.add_stream_from_template(given.streams.video[0])
        for n, packet in enumerate(p for p in given.demux(video=0) if p.size):
            packet.stream = track
            packet.time_base = Fraction(1, 25)
            packet.pts = packet.dts = times[n]
            file.mux(packet)
    found, ns = numbers(path)
    assert found == list(range(6))
    assert ns == [t * FRAME_NS for t in times]
    with gl.open(path) as recording:
        assert recording.streams["video"].info.report.ties == 1
        field = gl.Video("video", offsets=["0.08"], color="gray", method="previous")
        assert number_in(recording.read({"x": field}, 0, 1)["x"][0, 0]) == 3


TICKS = 512
"""Ticks of a picture at 25 Hz."""
DELAYS = {"libx264": 2, "libx265": 2, "mpeg4": 1}
"""Pictures by which the muxer delays a codec's B-frames."""
EDITS = {
    "cut at a key picture": ([(1_120, 12)], range(12, 40), 0),
    "cut inside a group": ([(1_080, 13)], range(13, 40), 0),
    "cut at both ends": ([(400, 17)], range(17, 27), 0),
    "delayed": ([(500, None), (1_600, 0)], range(40), 500),
    "delayed and cut": ([(240, None), (1_000, 15)], range(15, 40), 240),
}
"""Edits as (ms, first picture or nothing), the pictures that are shown, ms before the first."""


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("codec", DELAYS)
def test_edit_lists(name: str, codec: str, tmp_path: Path) -> None:
    pieces, expected, start_ms = EDITS[name]
    delay = DELAYS[codec]
    edits = [(ms, -1 if first is None else (first + delay) * TICKS) for ms, first in pieces]
    options = {"x265-params": "log-level=none:scenecut=0", "x264-params": "scenecut=0"}
    path = encode(tmp_path / "cut.mp4", codec, 40, options=options, b_frames=2)
    with av.open(str(path)) as file:
        (track,) = file.streams
        assert track.time_base == Fraction(1, 12_800) and track.codec_context.has_b_frames
    found, ns = numbers(edit(path, edits))
    assert found == list(expected)
    assert ns == [start_ms * 1_000_000 + n * FRAME_NS for n in range(len(expected))]
    with gl.open(path) as recording:
        for index in (len(ns) - 1, 0, 5, 2, 1):
            field = gl.Video("video", offsets=[0], color="gray")
            sample = recording.read({"x": field}, ns[index], 1)
            assert number_in(sample["x"][0, 0]) == expected[index]


def test_several_edits_of_one_track(tmp_path: Path) -> None:
    """A first piece, then a later one: as a player shows them."""
    path = encode(tmp_path / "pieces.mp4", "libx264", 40, b_frames=0)
    with av.open(str(path)) as file:
        assert file.streams.video[0].time_base == Fraction(1, 12_800)
    found, ns = numbers(edit(path, [(400, 0), (400, 24 * TICKS)]))
    assert found == [*range(10), *range(24, 34)]
    assert ns == [n * FRAME_NS for n in range(20)]
