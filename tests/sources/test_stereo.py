"""Stereo video in one HEVC track: both views are streams, and each shows its own pictures."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

import genlock as gl

STEREO = "video-mvhevc/water_180_mvhevc_5frames.mov"


def both_views(path: Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Luma of the base and second view, as FFmpeg gives all views of each packet in turn."""
    views: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    with av.open(str(path)) as container:
        context = container.streams.video[0].codec_context
        context.options = {"view_ids": "-1"}
        frames = [f for packet in container.demux(video=0) for f in packet.decode()]
        for i, frame in enumerate(frames):
            plane = frame.planes[0]
            rows = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
            views[i % 2].append(rows[:, : frame.width].copy())
    return views


def test_both_views_are_streams_in_any_order(real: Path) -> None:
    base, second = both_views(real / STEREO)
    assert len(base) == len(second) == 5
    assert any((a != b).any() for a, b in zip(base, second, strict=True))
    with gl.open(real / STEREO) as recording:
        assert [s for s in recording.streams if s.startswith("video")] == ["video", "video-view1"]
        left, right = recording.streams["video"], recording.streams["video-view1"]
        np.testing.assert_array_equal(left.timeline.ns, right.timeline.ns)
        assert left.info.shape == right.info.shape == (2160, 1934)
        fields = {
            "left": gl.Video("video", color="gray", offsets=[0]),
            "right": gl.Video("video-view1", color="gray", offsets=[0]),
        }
        for row in (3, 0, 4, 1):
            sample = recording.read(fields, int(left.timeline.ns[row]), 0.01)
            assert np.array_equal(sample["left"][0, 0], base[row])
            assert np.array_equal(sample["right"][0, 0], second[row])


@pytest.mark.parametrize("name", ["video-hdr/bt2020_10bit.mp4", "video-timing/sample_h265.ts"])
def test_ordinary_hevc_has_one_view(real: Path, name: str) -> None:
    with gl.open(real / name) as recording:
        assert [s for s in recording.streams if s.startswith("video")] == ["video"]
