"""Fields for a first look at a recording whose streams nobody has named yet."""

from __future__ import annotations

from typing import Any

from genlock._field import Field
from genlock.fields import Audio, Depth, Labels, Points, Pose, Sensor, Video
from genlock.recording import Recording
from genlock.stream import Stream

PICTURE_RATE, SENSOR_RATE, SOUND_RATE = 15, 200, 16_000
DRAWN_POINTS = 20_000


def usable(recording: Recording) -> list[Stream]:
    """The streams that have times."""
    return [s for s in recording.streams.values() if s.problem is None and len(s.timeline)]


def default_fields(recording: Recording, height: int = 240) -> dict[str, Field]:
    """One field for each stream that can be shown, by the stream's name.

    height: of pictures, in pixels; they keep their aspect and are never enlarged. Streams are
    sampled at their own rate, but pictures at no more than 15 Hz and tables at no more than 200.
    """
    return {s.name: _field(s, height) for s in usable(recording)}


def _field(stream: Stream, height: int) -> Field:
    info = stream.info
    pictures: dict[str, Any] = {"rate": min(_rate(stream), PICTURE_RATE), "size": None}
    if len(info.shape) >= 2 and info.shape[0] > height:
        width = round(info.shape[1] * info.sample_aspect * height / info.shape[0] / 2) * 2
        pictures["size"] = (height, max(2, width))
    match info.modality:
        case "video":
            return Video(stream.name, **pictures)
        case "depth":
            return Depth(stream.name, **pictures)
        case "audio":
            return Audio(stream.name, rate=SOUND_RATE, channels=1)
        case "pose":
            return Pose(stream.name, rate=min(_rate(stream), SENSOR_RATE))
        case "points":
            columns = [name for name in ("x", "y", "z") if name in info.columns]
            rate = min(_rate(stream), PICTURE_RATE)
            names = columns or info.columns[:3]
            return Points(stream.name, rate=rate, columns=names, max_points=DRAWN_POINTS)
        case "labels":
            return Labels(stream.name)
    numeric = "float" in info.dtype
    method = "linear" if numeric else "nearest"
    return Sensor(stream.name, rate=min(_rate(stream), SENSOR_RATE), method=method)  # type: ignore[arg-type]


def _rate(stream: Stream) -> float:
    """Hz, rounded so that it reads well: the grid need not meet the rows exactly."""
    period_ns = stream.timeline.period_ns
    return max(1.0, float(round(1e9 / period_ns))) if period_ns else 1.0
