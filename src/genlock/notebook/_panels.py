"""Panels of a sample's plot: one drawing rule for each kind of series."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.mlab import specgram
from matplotlib.ticker import MaxNLocator

from genlock._nanoseconds import SECOND_NS
from genlock.notebook._pictures import INVALID, depth_range_of, rgb_of
from genlock.notebook._series import Kind, Series, shortened
from genlock.notebook._tracks import COLOURS
from genlock.stream import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw = Callable[["Axes", Series, float], None]
MOST_THUMBNAILS = 10
MOST_TICKS = 250
"""Grids finer than this have no tick for each time."""
MOST_NAMED, MOST_LETTERS = 8, 12
"""Columns that a legend names, and how long: it stands in the margin."""
FLOOR_DB = -80.0
THINNEST_SIDE = 0.4


def contact_sheet(axis: Axes, series: Series, seconds: float) -> None:
    """Frames at their grid times; masked ones faded."""
    count = len(series.mask)
    step = -(-count // MOST_THUMBNAILS) or 1
    width = seconds * step / max(1, count)
    limits = depth_range_of(series.values) if series.kind == "depth" else None
    for i in range(0, count, step):
        left = min(float(series.seconds[i]), seconds - width)
        axis.imshow(
            rgb_of(series.values[i], limits),
            aspect="auto",
            extent=(left, left + 0.97 * width, 0.0, 1.0),
            alpha=1.0 if series.mask[i] else 0.25,
        )
    axis.set_ylim(0, 1)
    axis.set_yticks([])
    if limits is not None:
        _depth_key(axis, limits)


def _depth_key(axis: Axes, limits: tuple[float, float]) -> None:
    """What the colours of depth mean, right of the frames."""
    inset = axis.inset_axes((1.008, 0.0, 0.012, 1.0))
    ramp = np.linspace(limits[0], limits[1], 64)[:, None].astype(np.float32)
    inset.imshow(rgb_of(ramp, limits), aspect="auto", extent=(0, 1, limits[1], limits[0]))
    inset.set_xticks([])
    inset.set_yticks(limits, [f"{limit:.2g} m" for limit in limits], fontsize=7)
    inset.yaxis.tick_right()
    inset.set_title("hatch: invalid", fontsize=6, color=INVALID[1], loc="left", pad=5)


def waveform(axis: Axes, series: Series, seconds: float) -> None:
    """Sound, one line for each channel."""
    traces(axis, series, seconds)
    peak = np.nanmax(np.abs(series.traces), initial=1e-6)
    axis.set_ylim(-1.1 * peak, 1.1 * peak)


def spectrogram(axis: Axes, series: Series, seconds: float) -> None:
    """Power of the mean of all channels over frequency, in dB below the loudest."""
    sound = np.nan_to_num(series.values).mean(0)
    rate = len(sound) / seconds
    width = min(512, max(16, len(sound) // 8))
    if len(sound) < width:
        return
    found: Any = specgram(sound, width, rate, noverlap=width * 3 // 4)[:3]
    power, frequencies, centres = found
    level = 10 * np.log10(power / max(float(power.max()), 1e-20) + 10 ** (FLOOR_DB / 10))
    half = width / 8 / rate
    extent = (centres[0] - half, centres[-1] + half, 0.0, frequencies[-1] / 1000)
    colours = ListedColormap(_ramp())
    axis.imshow(level, colours, aspect="auto", origin="lower", extent=extent, vmin=FLOOR_DB, vmax=0)
    axis.set_ylim(0, frequencies[-1] / 1000)
    axis.set_ylabel("kHz")


def _ramp() -> Sequence[tuple[float, float, float]]:
    """The colours of depth from the farthest, dark, to the nearest, bright."""
    ramp = np.linspace(1, 2, 128)[::-1, None].astype(np.float32)
    return [(r / 255, g / 255, b / 255) for r, g, b in rgb_of(ramp, (1, 2))[:, 0].tolist()]


def traces(axis: Axes, series: Series, seconds: float) -> None:
    """A line for each column, broken where masked; rows are marked if there is room."""
    lines = series.traces
    marker = "." if len(series.mask) <= MOST_TICKS // 4 else None
    names = [shortened(label, MOST_LETTERS) for label in series.labels]
    for i, (line, label) in enumerate(zip(lines, names, strict=True)):
        colour = COLOURS[i % len(COLOURS)]
        axis.plot(series.seconds, line, color=colour, lw=0.9, marker=marker, ms=3, label=label)
    if 1 < len(lines) <= MOST_NAMED and series.kind != "audio":
        style: dict[str, Any] = {
            "fontsize": 7,
            "frameon": False,
            "handlelength": 1.0,
            "borderaxespad": 0.3,
        }
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.05), labelspacing=0.15, **style)


def labels(axis: Axes, values: Sequence[Label], start_ns: int, seconds: float) -> None:
    """Annotations as bars."""
    for i, label in enumerate(values):
        left = max(0.0, (label.start_ns - start_ns) / SECOND_NS)
        right = min(seconds, (label.end_ns - start_ns) / SECOND_NS)
        axis.barh(0, right - left, 0.7, left, color=COLOURS[i % len(COLOURS)], alpha=0.75)
        axis.text((left + right) / 2, 0, str(label.value), ha="center", va="center", color="w")
    axis.set_ylim(-0.5, 0.5)
    axis.set_yticks([])


def grid_and_mask(axis: Axes, series: Series, seconds: float) -> None:
    """Grid times as ticks along the top, red spans where nothing valid is."""
    ends = np.append(series.seconds, seconds)
    edges = np.diff(np.concatenate([[0], ~series.mask, [0]]))
    for first, stop in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        axis.axvspan(ends[first], max(ends[stop], ends[first]), color=INVALID[0], alpha=0.22, lw=0)
    if len(series.mask) <= MOST_TICKS:
        top = np.ones(len(series.mask))
        axis.plot(
            series.seconds,
            top,
            "|",
            color="#66727f",
            ms=5,
            clip_on=False,
            transform=axis.get_xaxis_transform(),
        )


PANELS: dict[Kind, tuple[tuple[Draw, float], ...]] = {
    "pictures": ((contact_sheet, 1.2),),
    "depth": ((contact_sheet, 1.2),),
    "audio": ((waveform, 0.9), (spectrogram, 1.1)),
    "sensor": ((traces, 1.2),),
    "pose": ((traces, 1.2),),
}
"""How each kind is drawn: panels, with their heights in inches."""


def pose_path(axis: Any, series: Series) -> None:
    """The path in 3-D, coloured by time from dark to bright, with equal scales."""
    path = series.traces[:3, series.mask]
    colours = np.linspace(0, 1, path.shape[1])
    axis.plot(*path, color="#b8c0c8", lw=0.8)
    axis.scatter(*path, c=colours, cmap=ListedColormap(_ramp()), s=9, depthshade=False)
    axis.set_title(
        f"{shortened(series.name, 2 * MOST_LETTERS)}: path in metres, from dark to bright",
        fontsize=8,
    )
    low, high = path.min(1), path.max(1)
    # Room along the thin directions too, or their tick labels pile up.
    sides = np.maximum(high - low, max(1e-6, THINNEST_SIDE * float((high - low).max())))
    centre = (low + high) / 2
    ends = np.stack([centre - sides / 2, centre + sides / 2], axis=1)
    axis.set(xlim3d=ends[0], ylim3d=ends[1], zlim3d=ends[2])
    axis.set_box_aspect(sides, zoom=1.15)
    for direction in (axis.xaxis, axis.yaxis, axis.zaxis):
        direction.set_major_locator(MaxNLocator(4))
    axis.tick_params(labelsize=6, pad=-2)
