"""Seeking: any order of reading gives what decoding the file once from its start gives.

FFmpeg, run sequentially, is the reference: picture by picture, bit by bit.
"""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from whole_streams import read_all

import genlock as gl
from media_clips import encode, number_in, picture

LENGTH = 50
X264 = {"preset": "veryfast", "x264-params": "scenecut=0"}
X265 = {"preset": "ultrafast", "x265-params": "log-level=none:scenecut=0:open-gop=0:rc-lookahead=5"}
OPEN_X265 = {"preset": "ultrafast", "x265-params": "log-level=none:scenecut=0:open-gop=1:bframes=3"}
VP9 = {"deadline": "realtime", "cpu-used": "8", "lag-in-frames": "0"}
VP9_HIDDEN = {"deadline": "good", "cpu-used": "5", "lag-in-frames": "16", "auto-alt-ref": "1"}
SVT = {"preset": "12", "svtav1-params": "keyint=12:hierarchical-levels=3"}
INTRA_REFRESH = {"preset": "veryfast", "x264-params": "intra-refresh=1:keyint=12:scenecut=0"}
OPEN_X264 = {"preset": "veryfast", "x264-params": "open-gop=1:scenecut=0:b-pyramid=normal"}
MANY_SUFFIXES = ("mp4", "mkv", "ts", "avi")

KINDS = [
    ("libx264", "closed", X264, 0, MANY_SUFFIXES),
    ("libx264", "closed-b", X264, 3, MANY_SUFFIXES),
    ("libx264", "open-b", OPEN_X264, 3, MANY_SUFFIXES),
    ("libx264", "intra-refresh", INTRA_REFRESH, 0, ("mp4", "mkv", "ts")),
    ("libx265", "closed", X265, 0, ("mp4", "mkv", "ts")),
    ("libx265", "closed-b", X265, 3, ("mp4", "mkv", "ts")),
    ("libx265", "open-b", OPEN_X265, 3, ("mp4", "mkv", "ts")),
    ("libvpx-vp9", "plain", VP9, 0, ("webm", "mp4", "mkv", "ivf")),
    ("libvpx-vp9", "hidden", VP9_HIDDEN, 0, ("webm", "mp4")),
    ("libvpx", "vp8", VP9_HIDDEN, 0, ("webm", "mkv")),
    ("libsvtav1", "av1", SVT, 0, ("mp4", "mkv", "webm", "obu")),
    ("mpeg4", "plain", {}, 0, MANY_SUFFIXES),
    ("mpeg4", "b", {}, 2, MANY_SUFFIXES),
    ("mpeg2video", "b", {}, 2, ("mkv", "ts", "mpg")),
    ("mjpeg", "intra", {}, 0, ("mp4", "mkv", "avi")),
    ("ffv1", "intra", {}, 0, ("mkv", "avi")),
    ("prores_ks", "intra", {}, 0, ("mov",)),
]
CLIPS = [
    pytest.param(codec, options, b_frames, suffix, id=f"{codec}-{name}-{suffix}")
    for codec, name, options, b_frames, suffixes in KINDS
    for suffix in suffixes
]
PIXELS = {"mjpeg": "yuvj420p", "prores_ks": "yuv422p10le"}


def sequential(path: Path) -> list[np.ndarray]:
    """Luma of every picture that FFmpeg gives from start to end, in its order."""
    with av.open(str(path)) as file:
        track = file.streams.video[0]
        track.codec_context.thread_count = 1
        frames = []
        for frame in file.decode(track):
            gray = "gray10le" if "10" in frame.format.name else "gray"
            luma = frame.reformat(format=gray, src_color_range=2, dst_color_range=2)
            frames.append(luma.to_ndarray())
        return frames


@pytest.mark.parametrize(("codec", "options", "b_frames", "suffix"), CLIPS)
def test_random_access_is_sequential_decoding(
    codec: str,
    options: dict[str, str],
    b_frames: int,
    suffix: str,
    tmp_path: Path,
) -> None:
    pixels = PIXELS.get(codec, "yuv420p")
    path = tmp_path / f"clip.{suffix}"
    encode(path, codec, LENGTH, options=options, b_frames=b_frames, gop=12, pixels=pixels)
    expected = sequential(path)
    assert len(expected) == LENGTH
    dtype = str(expected[0].dtype)
    with gl.open(path) as recording:
        ns = recording.streams["video"].timeline.ns
        everything = read_all(recording, gl.Video("video", color="gray", dtype=dtype))
        assert everything.mask["x"].all() and len(ns) == LENGTH
        assert all(np.array_equal(a[0], b) for a, b in zip(everything["x"], expected, strict=True))
        start_ns = int(ns[0])
        offsets = [f"{t - start_ns}e-9" for t in ns]

        @settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(st.lists(st.integers(0, LENGTH - 1), min_size=1, max_size=6))
        def in_any_order(rows: list[int]) -> None:
            chosen = [offsets[row] for row in rows]
            field = gl.Video("video", offsets=chosen, color="gray", dtype=dtype, tolerance=0)
            sample = recording.read({"x": field}, start_ns, 1)
            assert sample.mask["x"].all()
            for row, frame in zip(rows, sample["x"], strict=True):
                assert np.array_equal(frame[0], expected[row]), row

        in_any_order()
    # a reader that begins anywhere: nothing was read before
    for row in (LENGTH - 1, 23, 12, 11, 25):
        with gl.open(path) as recording:
            field = gl.Video("video", offsets=[0], color="gray", dtype=dtype, tolerance=0)
            frame = recording.read({"x": field}, int(ns[row]), 1)["x"][0, 0]
            assert np.array_equal(frame, expected[row]), row


@pytest.mark.parametrize(
    ("suffix", "codec", "pixels"),
    [
        ("avi", "msvideo1", "rgb555le"),
        ("avi", "zmbv", "bgr0"),
        ("mov", "qtrle", "rgb24"),
        ("flv", "flashsv", "bgr24"),
        ("avi", "huffyuv", "yuv422p"),
    ],
)
def test_codecs_that_few_players_know(suffix: str, codec: str, pixels: str, tmp_path: Path) -> None:
    """Codecs whose pictures build on all before them are read again from their start."""
    grays = [av.VideoFrame.from_ndarray(picture(n), format="gray") for n in range(30)]
    frames = [gray.reformat(format=pixels) for gray in grays]
    path = encode(tmp_path / f"old.{suffix}", codec, frames, pixels=pixels, gop=10)
    with gl.open(path) as recording:
        ns = recording.streams["video"].timeline.ns
        for row in (15, 3, 29, 11, 0, 10):
            field = gl.Video("video", offsets=[0])
            sample = recording.read({"x": field}, int(ns[row]), 1)
            assert number_in(sample["x"][0, 1]) == row
