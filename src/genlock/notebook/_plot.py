"""Static plots with matplotlib: a sample, and a recording's streams."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from genlock._nanoseconds import SECOND_NS
from genlock.batch import Sample
from genlock.errors import MissingExtraError
from genlock.notebook._choice import usable
from genlock.notebook._facts import density, facts_of
from genlock.notebook._overview import COLOURS
from genlock.notebook._series import series_of, shortened
from genlock.recording import Recording
from genlock.stream import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES = 11.0
LEFT, RIGHT, TOP, BOTTOM = 0.9, 0.85, 0.2, 0.5
"""Margins in inches."""
BETWEEN, PATH_HEIGHT = 0.14, 3.2
LETTERS = 14
"""Letters of a name to an inch."""
MOST_OF_A_NAME = 32
DPI = 80
BINS = 400


def _new_figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure as NewFigure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "notebook", "plotting") from error
    return NewFigure(figsize=(width, height))


def plot(sample: Sample) -> Figure:
    """A sample on one time axis, in seconds from the window's start.

    Contact sheets, depth in colour with invalid pixels hatched, waveforms with spectrograms,
    sensor and pose traces, labels; below them each pose path in 3-D. Ticks along the top of a
    panel are its grid times; red spans are masked. Needs matplotlib.
    """
    series, seconds = series_of(sample), sample.window.duration_ns / SECOND_NS
    poses = [s for s in series if s.kind == "pose" and s.mask.any()]
    labels = {
        n: v for n, v in sample.items() if isinstance(v, list) and v and isinstance(v[0], Label)
    }
    _new_figure(1, 1)  # before anything that needs matplotlib
    from genlock.notebook import _panels as panels

    rows = [(s, draw, height) for s in series for draw, height in panels.PANELS[s.kind]]
    heights = [height for _, _, height in rows] + [0.4] * len(labels)
    layout = _Layout(heights or [0.4], len(poses))
    for axis, (one, draw, height) in zip(layout.axes, rows, strict=False):
        axis.set_ylabel(shortened(one.name, int(LETTERS * height)))
        draw(axis, one, seconds)
        panels.grid_and_mask(axis, one, seconds)
    for axis, (name, values) in zip(layout.axes[len(rows) :], labels.items(), strict=False):
        axis.set_ylabel(shortened(name, LETTERS // 2))
        panels.labels(axis, values, sample.window.start_ns, seconds)
    for pose, axis in zip(poses, layout.paths, strict=True):
        panels.pose_path(axis, pose)
    layout.finish(seconds, f"seconds from {sample.window.start_ns} ns")
    return layout.figure


class _Layout:
    """Panels of given heights in inches above each other on one axis, then paths in a row."""

    def __init__(self, heights: list[float], paths: int) -> None:
        below = PATH_HEIGHT if paths else 0.0
        total = sum(heights) + BETWEEN * (len(heights) - 1) + TOP + BOTTOM + below
        self.figure = _new_figure(INCHES, total)
        self.axes: list[Axes] = []
        level = total - TOP
        for height in heights:
            level -= height
            place = (LEFT, level, INCHES - LEFT - RIGHT, height)
            self.axes.append(self._add(place, total))
            level -= BETWEEN
        each = (INCHES - LEFT - RIGHT) / max(1, paths)
        places = [(LEFT + i * each, 0.05, each, below - 0.35) for i in range(paths)]
        self.paths = [self._add(place, total, projection="3d") for place in places]

    def _add(self, inches: tuple[float, ...], total: float, **options: Any) -> Axes:
        left, bottom, width, height = inches
        place = (left / INCHES, bottom / total, width / INCHES, height / total)
        return self.figure.add_axes(place, **options)

    def finish(self, seconds: float, label: str) -> None:
        for axis in self.axes:
            axis.set_xlim(0, seconds)
            axis.tick_params(labelsize=7, labelbottom=axis is self.axes[-1])
        self.axes[-1].set_xlabel(label, fontsize=8)


def plot_png(sample: Sample) -> bytes:
    """The plot of a sample as a PNG file."""
    file = io.BytesIO()
    plot(sample).savefig(file, format="png", dpi=DPI)
    return file.getvalue()


def plot_streams(recording: Recording) -> Figure:
    """Every stream's rows on one time axis, in seconds from the recording's start.

    The darker, the more rows; gaps are red. Needs matplotlib. Raises ClockError if the streams'
    clocks are unrelated.
    """
    streams = usable(recording)
    height = 0.8 + 0.45 * len(streams)
    figure = _new_figure(INCHES, height)
    names = [shortened(stream.name, MOST_OF_A_NAME) for stream in streams]
    margin = max(1.2, 0.2 + max(map(len, names), default=0) / LETTERS)
    place = (margin / INCHES, 0.55 / height, 1 - (margin + 0.33) / INCHES, 1 - 0.75 / height)
    axis = figure.add_axes(place)
    start_ns = recording.start_ns
    for row, stream in enumerate(streams):
        facts = facts_of(stream)
        left = (facts.start_ns - start_ns) / SECOND_NS
        edges, shares = density(stream, facts, BINS)
        x = (edges - start_ns) / SECOND_NS
        bars = list(zip(x[:-1], np.diff(x), strict=True))
        shades = 0.15 + 0.85 * shares
        colour = COLOURS[stream.info.modality]
        axis.broken_barh(bars, (row - 0.25, 0.4), color=colour, alpha=shades, lw=0)
        gaps = [((a - start_ns) / SECOND_NS, (b - a) / SECOND_NS) for a, b in facts.gaps]
        axis.broken_barh(gaps, (row - 0.25, 0.4), color="#e8465a", lw=0)
        rate = f"{facts.rate:,.6g} Hz, " if facts.rate else ""
        axis.text(left, row + 0.18, f"{rate}{facts.rows:,} rows", fontsize=7, va="bottom")
    axis.set_yticks(range(len(streams)), names)
    axis.set_ylim(-0.6, len(streams) - 0.3)
    axis.set_xlim(-0.01 * (recording.end_ns - start_ns) / SECOND_NS, None)
    axis.set_xlabel(f"seconds from {start_ns} ns")
    return figure
