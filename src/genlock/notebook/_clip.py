"""A sample's pictures and sound as a WebM clip: VP8 and Vorbis, which every browser plays.

AAC is missing from some of the browsers that notebooks live in, H.264 from others; VS Code, which
has an FFmpeg of its own, also lacks Opus, AV1 and VP9 (microsoft/vscode, issue 156558).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from genlock.notebook._pictures import RGB, depth_range_of, rgb_of
from genlock.notebook._series import Series

SOUND_RATE = 48_000
MILLISECONDS = Fraction(1, 1000)
"""The time base of WebM."""
SILENCE_RATE = 8_000


def webm(pictures: Sequence[Series], sound: Series | None, seconds: float) -> bytes:
    """A clip of `seconds`, in which each picture is shown from its grid time on.

    pictures: fields shown side by side at the times of the first. sound: silence if None, so that
    the clip always lasts as long as its window.
    """
    file = io.BytesIO()
    with av.open(file, "w", format="webm") as container:
        track = _video_track(container, pictures) if pictures else None
        audio = container.add_stream("vorbis", rate=SOUND_RATE, layout="stereo")
        audio.options = {"strict": "experimental"}  # wheels of PyAV have FFmpeg's own encoder only
        if pictures and track is not None:
            _encode_pictures(container, track, pictures, seconds)
        _encode_sound(container, audio, _stereo(sound, seconds))
    return file.getvalue()


def _video_track(container: Any, pictures: Sequence[Series]) -> Any:
    track = container.add_stream("libvpx", rate=1000)
    height, width = _mosaic(pictures, 0).shape[:2]
    track.height, track.width, track.pix_fmt = height, width, "yuv420p"
    track.time_base = track.codec_context.time_base = MILLISECONDS
    track.thread_count = 1  # libvpx's threads wait by spinning, for minutes where cores are busy
    track.options = {"deadline": "realtime", "cpu-used": "6", "crf": "8", "b": "4M", "g": "12"}
    return track


def _encode_pictures(
    container: Any, track: Any, pictures: Sequence[Series], seconds: float
) -> None:
    stamps = frame_ms(pictures[0])
    ends = [*stamps[1:], max(round(seconds * 1000), stamps[-1] + 1)]
    for i, (start, end) in enumerate(zip(stamps, ends, strict=True)):
        frame = av.VideoFrame.from_ndarray(_mosaic(pictures, i), "rgb24")
        frame.pts, frame.time_base, frame.duration = start, MILLISECONDS, end - start
        container.mux(track.encode(frame))
    container.mux(track.encode(None))


def frame_ms(pictures: Series) -> list[int]:
    """When each frame is shown, in whole milliseconds of the clip, rising strictly."""
    stamps: list[int] = []
    for stamp in np.rint(pictures.seconds * 1000).astype(int).tolist():
        stamps.append(max(stamp, stamps[-1] + 1 if stamps else 0))
    return stamps


def _mosaic(pictures: Sequence[Series], index: int) -> RGB:
    """Frame `index` of the first field, and beside it what the others show at that time."""
    time = pictures[0].seconds[index]
    shown = [_frame(part, int(np.abs(part.seconds - time).argmin())) for part in pictures]
    height = shown[0].shape[0] & ~1
    return np.concatenate([_scaled(picture, height) for picture in shown], axis=1)


def _frame(pictures: Series, index: int) -> RGB:
    limits = depth_range_of(pictures.values) if pictures.kind == "depth" else None
    return rgb_of(pictures.values[index], limits)


def _scaled(picture: RGB, height: int) -> RGB:
    """Nearest pixels at a height, with an even width as the codec wants it."""
    width = max(2, round(picture.shape[1] * height / picture.shape[0])) & ~1
    rows = np.arange(height) * picture.shape[0] // height
    columns = np.arange(width) * picture.shape[1] // width
    return np.ascontiguousarray(picture[rows[:, None], columns])


def _stereo(sound: Series | None, seconds: float) -> tuple[NDArray[np.float32], int]:
    """Sound as float32 [2, N] and its rate."""
    if sound is None:
        return np.zeros((2, round(seconds * SILENCE_RATE)), np.float32), SILENCE_RATE
    channels = np.clip(np.nan_to_num(sound.values[[0, -1]]), -1, 1)
    return np.ascontiguousarray(channels, np.float32), round(len(sound.mask) / seconds)


def _encode_sound(container: Any, track: Any, sound: tuple[NDArray[np.float32], int]) -> None:
    samples, rate = sound
    frame = av.AudioFrame.from_ndarray(samples, "fltp", "stereo")
    frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
    for piece in (frame, None):  # the encoder resamples
        container.mux(track.encode(piece))
