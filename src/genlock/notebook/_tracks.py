"""A sample's series as SVG tracks on one time axis, and the numbers that the player reads out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock.batch import Sample
from genlock.notebook._page import element, tip
from genlock.notebook._pictures import depth_range_of, jpeg_uri, rgb_of
from genlock.notebook._series import Seconds, Series, series_of
from genlock.stream import Label

WIDTH, HEIGHT, MARGIN = 1000, 100, 8
"""Units of a track's SVG, stretched over the width there is."""
COLOURS = ("#2563a8", "#d97706", "#2e8b57", "#b83280", "#6b5bd2", "#0e8a9b", "#8a6d3b", "#555f6b")
MOST_ROWS = 3000
"""Most rows of a series that a page keeps; of longer ones every n-th."""
MOST_COLUMNS = 500
"""Columns of a waveform."""
MOST_THUMBNAILS, THUMBNAIL = 10, 64


def tracks(sample: Sample) -> list[tuple[str, dict[str, Any]]]:
    """The tracks of a sample, each as HTML and as the rows that the player shows in it."""
    seconds = sample.window.duration_ns / SECOND_NS
    drawn = [_track(series, seconds) for series in series_of(sample)]
    start_ns = sample.window.start_ns
    for name, values in sample.items():
        if isinstance(values, list) and values and isinstance(values[0], Label):
            drawn.append(_labels(name, values, start_ns, seconds))
    return drawn


def _track(series: Series, seconds: float) -> tuple[str, dict[str, Any]]:
    facts: dict[str, Any] = {"name": series.name, "times": [], "rows": []}
    if series.kind == "audio":
        content = _waveform(series)
    elif series.kind in ("pictures", "depth"):
        content = _filmstrip(series, seconds)
        facts |= _rows(series.seconds, series.mask)
    else:
        stride = -(-len(series.mask) // MOST_ROWS) or 1
        low, high = _limits(series.traces)
        levels = HEIGHT - MARGIN - (series.traces - low) / (high - low) * (HEIGHT - 2 * MARGIN)
        content = "".join(_lines(series.seconds / seconds * WIDTH, levels))
        facts |= _rows(series.seconds[::stride], series.mask[::stride], stride)
        facts["names"] = series.labels if len(series.traces) > 1 else ()
        facts["values"] = _rounded(series.traces[:, ::stride])
        facts["levels"] = _rounded(levels[:, ::stride], 1)
    content += _missing(series, seconds)
    shape = "×".join(map(str, series.values.shape))
    return _row(series.name, content, f"{series.kind} {series.values.dtype}[{shape}]"), facts


def _rows(seconds: Seconds, mask: NDArray[np.bool_], stride: int = 1) -> dict[str, Any]:
    return {"times": np.round(seconds, 6).tolist(), "mask": mask.tolist(), "stride": stride}


def _rounded(traces: NDArray[np.float64], digits: int = 4) -> list[list[float | None]]:
    return [[None if v != v else v for v in row] for row in np.round(traces, digits).tolist()]


def _limits(traces: NDArray[np.float64]) -> tuple[float, float]:
    finite = traces[np.isfinite(traces)]
    if not finite.size:
        return -1.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 1, high + 1)


def _lines(x: Seconds, levels: NDArray[np.float64]) -> Iterator[str]:
    step = -(-len(x) // MOST_ROWS) or 1
    for i, y in enumerate(levels):
        points = [
            None if b != b else f"{a:.1f},{b:.1f}"
            for a, b in zip(x[::step].tolist(), y[::step].tolist(), strict=True)
        ]
        colour = COLOURS[i % len(COLOURS)]
        yield element("path", d=_path(points), stroke=colour, fill="none")
        yield element("path", class_="dot", d="", stroke=colour)


def _path(points: Sequence[str | None]) -> str:
    """Through the points, lifted where one is missing; a lone one is a dot."""
    path, drawing = [], False
    for point in points:
        if point is not None:
            path.append(f"L{point}" if drawing else f"M{point}h0")
        drawing = point is not None
    return "".join(path)


def _waveform(sound: Series) -> str:
    columns = np.array_split(
        np.nan_to_num(sound.values).mean(0), min(MOST_COLUMNS, len(sound.mask))
    )
    loudest = max(1e-9, max(float(np.abs(column).max()) for column in columns))
    x = np.linspace(0, WIDTH, len(columns), endpoint=False)
    middle, scale = HEIGHT / 2, (HEIGHT / 2 - MARGIN) / loudest
    bars = (
        f"M{a:.1f},{middle - c.max() * scale:.1f}V{middle - c.min() * scale + 0.5:.1f}"
        for a, c in zip(x, columns, strict=True)
    )
    return element("path", d="".join(bars), stroke=COLOURS[0], fill="none")


def _missing(series: Series, seconds: float) -> str:
    """Red spans where the mask is False, and for few entries a tick at each grid time."""
    x = np.append(series.seconds / seconds * WIDTH, WIDTH)
    edges = np.diff(np.concatenate([[0], ~series.mask, [0]]))
    spans = zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)
    red = (
        element(
            "rect",
            tip(f"masked: entries {first} to {stop - 1}"),
            class_="masked",
            x=f"{x[first]:.1f}",
            width=f"{max(2.0, x[stop] - x[first]):.1f}",
            height=HEIGHT,
        )
        for first, stop in spans
    )
    ticks = "".join(f"M{a:.1f},0v6" for a in x[:-1]) if len(series.mask) <= MOST_COLUMNS else ""
    return "".join(red) + element("path", class_="grid", d=ticks)


def _labels(
    name: str, labels: Sequence[Label], start_ns: int, seconds: float
) -> tuple[str, dict[str, Any]]:
    bars, spans = [], []
    for i, label in enumerate(labels):
        left, right = (
            min(max((t - start_ns) / SECOND_NS, 0.0), seconds)
            for t in (label.start_ns, label.end_ns)
        )
        spans.append((round(left, 6), round(right, 6), str(label.value)))
        text = f"{label.value}: {label.start_ns} to {label.end_ns} ns"
        x, width = left / seconds * WIDTH, (right - left) / seconds * WIDTH
        place = {"x": f"{x:.1f}", "width": f"{width:.1f}", "y": 25, "height": 50}
        bars.append(element("rect", tip(text), fill=COLOURS[i % len(COLOURS)], **place))
    return _row(name, "".join(bars), "labels"), {"name": name, "times": [], "spans": spans}


def _filmstrip(series: Series, seconds: float) -> str:
    count = len(series.mask)
    step = -(-count // MOST_THUMBNAILS) or 1
    limits = depth_range_of(series.values) if series.kind == "depth" else None
    width = WIDTH * step / max(1, count)
    images = []
    for i in range(0, count, step):
        frame = rgb_of(series.values[i], limits)
        stride = max(1, frame.shape[0] // THUMBNAIL)
        uri = jpeg_uri(np.ascontiguousarray(frame[::stride, ::stride]))
        left = min(float(series.seconds[i]) / seconds * WIDTH, WIDTH - width)
        place = {"x": f"{left:.1f}", "width": f"{width * 0.98:.1f}", "height": HEIGHT}
        images.append(element("image", href=uri, preserveAspectRatio="none", **place))
    return "".join(images)


def _row(name: str, content: str, note: str) -> str:
    box = f"0 0 {WIDTH} {HEIGHT}"
    svg = element("svg", content, viewBox=box, preserveAspectRatio="none")
    title = element("span", element("b", escape(name)) + element("small", escape(note)))
    label = title + element("output")
    return element("div", element("div", label, class_="name") + svg, class_="track")
