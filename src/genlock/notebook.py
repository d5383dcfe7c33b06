"""Look at data: pictures of recordings and samples for notebooks and files.

Needs matplotlib (`pip install 'genlock[notebook]'`), except `play`, which needs a browser.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av
import numpy as np
from numpy.typing import NDArray

from genlock.batch import Sample
from genlock.errors import FieldError, MissingExtraError
from genlock.recording import Recording
from genlock.timeline import SECOND_NS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_THUMBNAILS = 8


def _figure(rows: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    try:
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "notebook", "plotting") from error
    figure = NewFigure(figsize=(width, height))
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    figure.subplots_adjust(0.9 / width, 0.5 / height, 1 - 0.2 / width, 1 - 0.2 / height, hspace=0.2)
    return figure, list(axes)


def plot_streams(recording: Recording) -> Figure:
    """Every stream's rows on one time axis, in seconds from the recording's start."""
    streams = [s for s in recording.streams.values() if s.problem is None and len(s.timeline)]
    figure, (axes,) = _figure(1, 10, 0.6 + 0.45 * len(streams))
    start_ns = recording.start_ns
    for row, stream in enumerate(streams):
        low, high = stream.timeline.start_ns, stream.timeline.end_ns
        edges = np.linspace(low, high, 401)
        bounds = edges.astype(np.int64)
        counts = [s.stop - s.start for s in map(stream.timeline.rows_in, bounds, bounds[1:])]
        density = np.array(counts, float)[None] / max(1, max(counts))
        left, right = (low - start_ns) / SECOND_NS, (high - start_ns) / SECOND_NS
        extent = (left, right, row - 0.35, row + 0.35)
        axes.imshow(density, extent=extent, aspect="auto", cmap="Blues", vmin=-0.5, vmax=1.2)
        rate = f"{stream.info.rate:g} Hz, " if stream.info.rate else ""
        note = f"{rate}{len(stream.timeline)} rows"
        axes.text(left, row + 0.36, f" {note}", fontsize=7, va="bottom")
    axes.set_yticks(range(len(streams)), [stream.name for stream in streams])
    axes.set_ylim(-0.6, len(streams) - 0.3)
    axes.set_xlim(-0.02 * (recording.end_ns - start_ns) / SECOND_NS, None)
    axes.set_xlabel(f"seconds from {start_ns} ns")
    return figure


def plot(sample: Sample) -> Figure:
    """A sample on one time axis: contact sheets, depth maps, waveforms, sensor and pose traces.

    Masked grid times are marked red below each trace.
    """
    names = [name for name in sample if isinstance(sample[name], np.ndarray)]
    figure, axes = _figure(len(names), 11, 1.5 * len(names) + 0.5)
    start_ns, seconds = sample.window.start_ns, sample.window.duration_ns / SECOND_NS
    for axis, name in zip(axes, names, strict=True):
        panel = _Panel(name, sample[name], sample.mask[name], _seconds(sample, name, start_ns))
        panel.draw(axis, seconds)
    axes[-1].set_xlim(0, seconds)
    axes[-1].set_xlabel(f"seconds from {start_ns} ns")
    return figure


def _seconds(sample: Sample, name: str, start_ns: int) -> NDArray[np.floating[Any]]:
    """Grid times in seconds from the window's start; of audio, every sample's."""
    times, steps = sample.times[name], len(sample.mask[name])
    if len(times) != steps:
        return np.arange(steps) * (sample.window.duration_ns / SECOND_NS / max(1, steps))
    return (times - start_ns) / SECOND_NS


@dataclass
class _Panel:
    name: str
    values: NDArray[Any]
    mask: NDArray[np.bool_]
    seconds: NDArray[np.floating[Any]]

    def draw(self, axis: Axes, duration: float) -> None:
        axis.set_ylabel(self.name)
        is_audio = self.values.ndim == 2 and self.values.shape[1] == len(self.mask) != 0
        if self.values.ndim >= 3:
            self._thumbnails(axis, duration)
            return
        traces = self.values if is_audio and len(self.mask) > len(self.values) else self.values.T
        for trace in traces:
            axis.plot(self.seconds, np.where(self.mask, trace, np.nan), linewidth=0.8)
        missing = self.seconds[~self.mask]
        bottom = np.full(len(missing), axis.get_ylim()[0])
        axis.plot(missing, bottom, "|", color="tab:red", markersize=6, clip_on=False)

    def _thumbnails(self, axis: Axes, duration: float) -> None:
        step = -(-len(self.values) // MAX_THUMBNAILS)
        width = duration * step / max(1, len(self.values))
        for i in range(0, len(self.values), step):
            picture, colors = picture_of(self.values[i])
            left = min(float(self.seconds[i]), duration - width)
            extent = (left, left + 0.96 * width, 0.0, 1.0)
            faded = 1.0 if self.mask[i] else 0.2
            axis.imshow(picture, colors, aspect="auto", extent=extent, alpha=faded)
        axis.set_ylim(0, 1)
        axis.set_yticks([])


def picture_of(frame: NDArray[Any]) -> tuple[NDArray[Any], str | None]:
    """A frame as matplotlib's imshow wants it: [H, W, 3], or [H, W] and a colour map for it.

    Depth pixels that are 0 (invalid) are left blank.
    """
    if frame.ndim == 2:
        return np.ma.masked_equal(frame, 0), "viridis"
    if frame.shape[0] in (1, 3, 4) and frame.shape[-1] not in (1, 3, 4):
        frame = np.moveaxis(frame, 0, -1)
    if frame.dtype == np.uint16:
        frame = (frame >> 8).astype(np.uint8)
    if frame.shape[-1] == 1:
        return frame[..., 0], "gray"
    return frame, None


class Player:
    """A clip with sound, as a self-contained HTML video element; shows itself in a notebook."""

    def __init__(self, mp4: bytes) -> None:
        self.mp4 = mp4

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.mp4).decode()
        return f'<video controls loop src="data:video/mp4;base64,{data}"></video>'

    def save(self, path: str | Path) -> Path:
        """Write the clip as an MP4 file."""
        Path(path).write_bytes(self.mp4)
        return Path(path)


def play(sample: Sample) -> Player:
    """A player for the sample's first video field, with its first audio field as sound."""
    arrays = {n: v for n, v in sample.items() if isinstance(v, np.ndarray)}
    video = next((n for n, v in arrays.items() if v.ndim == 4), None)
    audio = next((n for n, v in arrays.items() if v.ndim == 2 and len(sample.times[n]) == 1), None)
    if video is None:
        raise FieldError("the sample has no video field to play")
    return Player(_encode(sample, arrays, video, audio))


def _encode(
    sample: Sample, arrays: Mapping[str, NDArray[Any]], video: str, audio: str | None
) -> bytes:
    file = io.BytesIO()
    duration = Fraction(sample.window.duration_ns, SECOND_NS)
    frames = arrays[video]
    with av.open(file, "w", format="mp4") as container:
        rate = Fraction(len(frames) / duration).limit_denominator(1001)
        stream = container.add_stream("libx264", rate=rate)
        pictures = [np.ascontiguousarray(_rgb8(frame)) for frame in frames]
        stream.height, stream.width = (side - side % 2 for side in pictures[0].shape[:2])
        stream.pix_fmt = "yuv420p"
        sound = None
        if audio is not None:
            samples = arrays[audio]
            sample_rate = round(samples.shape[1] / duration)
            sound = container.add_stream("aac", rate=sample_rate)
            sound.layout = "mono" if len(samples) == 1 else "stereo"
        for picture in pictures:
            cut = np.ascontiguousarray(picture[: stream.height, : stream.width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(cut, "rgb24")))
        container.mux(stream.encode())
        if sound is not None:
            channels = np.ascontiguousarray(np.clip(samples[:2], -1, 1), np.float32)
            frame = av.AudioFrame.from_ndarray(channels, "fltp", sound.layout.name)
            frame.sample_rate, frame.pts = sample_rate, 0
            container.mux(sound.encode(frame))
            container.mux(sound.encode())
    return file.getvalue()


def _rgb8(frame: NDArray[Any]) -> NDArray[np.uint8]:
    picture, colors = picture_of(frame)
    if colors:
        picture = np.repeat(picture[..., None], 3, axis=2)
    if np.issubdtype(picture.dtype, np.floating):
        picture = np.clip(picture * 255, 0, 255)
    return picture[..., :3].astype(np.uint8)
