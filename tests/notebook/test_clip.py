from __future__ import annotations

import io

import av
import numpy as np
import pytest

from genlock.notebook._clip import frame_ms, webm
from genlock.notebook._series import Series

SECONDS = 1.0


def pictures(times: list[float], height: int = 48, width: int = 64) -> Series:
    """Frames whose brightness counts up."""
    levels = np.linspace(40, 220, len(times)).astype(np.uint8)
    values = np.broadcast_to(levels[:, None, None, None], (len(times), 3, height, width))
    return Series("rgb", "pictures", values, np.ones(len(times), np.bool_), np.array(times))


def decoded(data: bytes, kind: str) -> list[av.VideoFrame | av.AudioFrame]:
    with av.open(io.BytesIO(data)) as container:
        return list(container.decode(**{kind: 0}))


def test_frames_are_shown_from_their_grid_times() -> None:
    times = [0.0, 0.1, 0.25, 0.8]
    frames = decoded(webm([pictures(times)], None, SECONDS), "video")
    assert [float(frame.pts * frame.time_base) for frame in frames] == pytest.approx(times)
    levels = [frame.to_ndarray(format="rgb24").mean() for frame in frames]
    assert levels == pytest.approx(np.linspace(40, 220, 4), abs=4)


def test_ties_become_frames_of_a_millisecond() -> None:
    assert frame_ms(pictures([0.0, 0.1, 0.1, 0.1004, 0.2])) == [0, 100, 101, 102, 200]


def test_pictures_lie_side_by_side_at_the_first_ones_times() -> None:
    depth = np.full((2, 24, 32), 3.0, np.float32)
    depth[1] = 0
    beside = Series("depth", "depth", depth, np.ones(2, np.bool_), np.array([0.0, 0.5]))
    frames = decoded(webm([pictures([0.0, 0.2, 0.6]), beside], None, SECONDS), "video")
    assert len(frames) == 3
    shown = np.array([frame.to_ndarray(format="rgb24") for frame in frames]).astype(int)
    assert shown.shape == (3, 48, 128, 3)
    red = shown[:, :, 64:].mean((1, 2))
    assert (red[:2, 0] < 256).all() and red[2, 0] > 1.5 * red[2, 1] and red[0, 0] == red[1, 0]


def test_an_odd_size_is_made_even() -> None:
    frames = decoded(webm([pictures([0.0], 33, 47)], None, SECONDS), "video")
    assert (frames[0].height, frames[0].width) == (32, 46)


def test_codecs_are_those_that_every_notebook_plays() -> None:
    with av.open(io.BytesIO(webm([pictures([0.0])], None, SECONDS))) as container:
        codecs = [stream.codec_context.name for stream in container.streams]
    assert codecs == ["vp8", "vorbis"]


def test_sound_keeps_its_time_and_silence_fills_the_window() -> None:
    rate, tone = 16_000, np.zeros((1, 16_000), np.float32)
    tone[0, 8000:8800] = 0.8 * np.sin(np.arange(800) * 0.4)
    steps = np.arange(16_000) / rate
    sound = Series("mic", "audio", tone, np.ones(16_000, np.bool_), steps)
    for one in (sound, None):
        frames = decoded(webm([], one, SECONDS), "audio")
        heard = np.concatenate([frame.to_ndarray() for frame in frames], axis=1)
        first = float(frames[0].pts * frames[0].time_base)
        assert first + heard.shape[1] / 48_000 == pytest.approx(SECONDS, abs=0.03)
        if one is None:
            assert np.abs(heard).max() < 1e-3
        else:
            loud = first + np.flatnonzero(np.abs(heard[0]) > 0.4) / 48_000
            assert (loud[0], loud[-1]) == pytest.approx((0.5, 0.55), abs=0.004)
