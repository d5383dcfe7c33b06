"""A recording's streams on one time axis, as HTML with numbers on hover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from genlock._nanoseconds import SECOND_NS
from genlock.errors import GenlockError
from genlock.fields import Depth, Video
from genlock.notebook._choice import usable
from genlock.notebook._facts import Facts, density, facts_of
from genlock.notebook._page import asset, element, framed, page, tip
from genlock.notebook._pictures import jpeg_uri, rgb_of
from genlock.recording import Recording
from genlock.stream import Stream

Axes = dict[str, tuple[int, int]]
"""Start and end in ns of each clock's time axis."""

WIDTH, BAR = 1000, 22
BINS = 250
COLOURS = {
    "video": "#2563a8",
    "depth": "#6b5bd2",
    "audio": "#2e8b57",
    "sensor": "#d97706",
    "pose": "#b83280",
    "points": "#0f8b8d",
    "labels": "#555f6b",
}
THUMBNAIL = 72
MOST_THUMBNAILS = 6
MOST_GAPS = 500
LEAST_JITTER_NS = 1000
"""Less is rounding."""
HEAD_PX, ROW_PX = 84, 35


def recording_html(recording: Recording) -> str:
    """The recording in a frame of its own."""
    thumbnails = 112 if any(_has_pictures(s) for s in recording.streams.values()) else 0
    height = HEAD_PX + ROW_PX * len(recording.streams) + thumbnails
    return framed(recording_page(recording), height)


def recording_page(recording: Recording) -> str:
    """The recording as a self-contained document."""
    streams = usable(recording)
    facts = {stream.name: facts_of(stream) for stream in streams}
    axes = _axes(recording, facts)
    rows = "".join(
        _row(stream, facts.get(name), axes.get(stream.info.clock, (0, 1)))
        for name, stream in recording.streams.items()
    )
    head = element("b", escape(recording.uri)) + element("span", escape(_span(recording, axes)))
    body = (
        element("header", head)
        + element("div", rows + _ruler(axes), class_="streams")
        + _thumbnails(streams, recording)
    )
    return page(recording.uri, body, asset("overview.css"))


def _span(recording: Recording, axes: Axes) -> str:
    ends = set(axes.values())
    if not ends:
        return "no rows with times"
    if len(ends) > 1:
        return f"{len(axes)} unrelated clocks: each has an axis of its own"
    ((start_ns, end_ns),) = ends
    seconds = (end_ns - start_ns) / SECOND_NS
    return f"clock {recording.clock} · from {start_ns} ns · {seconds:.3f} s"


def _ruler(axes: Axes) -> str:
    """Seconds below the bars, if they share an axis."""
    if len(set(axes.values())) != 1:
        return ""
    ((start_ns, end_ns),) = set(axes.values())
    seconds = (end_ns - start_ns) / SECOND_NS
    marks = "".join(element("span", f"{seconds * i / 4:.3g} s") for i in range(5))
    return element("div", element("div", marks, class_="marks"), class_="ruler")


def _axes(recording: Recording, facts: dict[str, Facts]) -> Axes:
    """The time axis of each clock: one for all streams, unless their clocks are unrelated."""
    try:
        whole = (recording.start_ns, recording.end_ns)
        return {recording.streams[name].info.clock: whole for name in facts}
    except GenlockError:
        axes: Axes = {}
        for name, fact in facts.items():
            clock = recording.streams[name].info.clock
            start, end = axes.get(clock, (fact.start_ns, fact.end_ns))
            axes[clock] = min(start, fact.start_ns), max(end, fact.end_ns)
        return axes


def _row(stream: Stream, facts: Facts | None, axis: tuple[int, int]) -> str:
    info = stream.info
    shape = "×".join(map(str, info.shape))
    kind = " ".join(filter(None, (info.modality, info.codec, shape)))
    label = element("b", escape(stream.name)) + element("small", escape(kind))
    if facts is None:
        problem = str(stream.problem or "no rows")
        bar, numbers = element("em", escape(problem), title=problem), ""
    else:
        box = f"0 0 {WIDTH} {BAR}"
        content = "".join(_drawn(stream, facts, axis))
        bar = element("svg", content, viewBox=box, preserveAspectRatio="none")
        numbers = _numbers(stream, facts)
    parts = element("div", label, class_="name") + bar + element("small", numbers)
    return element("div", parts, class_="stream", title="; ".join(info.report.notes) or None)


def _numbers(stream: Stream, facts: Facts) -> str:
    rate = f"{facts.rate:,.6g} Hz" if facts.rate else "events"
    lost = element("i", f"{facts.lost} lost") if facts.lost else ""
    gaps = element("i", f"{len(facts.gaps)} gaps") if facts.gaps else ""
    jitter = f"±{facts.jitter_ns / 1e6:.3g} ms" if facts.jitter_ns >= LEAST_JITTER_NS else ""
    return " · ".join(filter(None, (rate, f"{facts.rows:,} rows", jitter, gaps, lost)))


def _drawn(stream: Stream, facts: Facts, axis: tuple[int, int]) -> Iterator[str]:
    """The bar: how dense the rows are, and where gaps are."""
    start_ns, end_ns = axis
    scale = WIDTH / (end_ns - start_ns)
    edges, shares = density(stream, facts, BINS)
    x = ((edges - start_ns) * scale).tolist()
    outline = "".join(
        f"M{a:.2f},{BAR}V{BAR * (1 - share):.1f}H{b:.2f}V{BAR}"
        for a, b, share in zip(x, x[1:], shares.tolist(), strict=False)
    )
    text = "\n".join(_sentences(stream, facts, start_ns))
    colour = COLOURS[stream.info.modality]
    yield element("path", tip(text), d=outline, fill=colour)
    for first, last in facts.gaps[:MOST_GAPS]:
        place = f"gap of {(last - first) / 1e6:.3f} ms at {(first - start_ns) / SECOND_NS:.3f} s"
        left, width = (first - start_ns) * scale, max(2.0, (last - first) * scale)
        yield element(
            "rect", tip(place), class_="gap", x=f"{left:.2f}", width=f"{width:.2f}", height=BAR
        )


def _sentences(stream: Stream, facts: Facts, start_ns: int) -> Iterator[str]:
    info, report = stream.info, stream.info.report
    begin, end = ((t - start_ns) / SECOND_NS for t in (facts.start_ns, facts.end_ns))
    yield f"{stream.name}: {facts.rows} rows from {begin:.6f} to {end:.6f} s"
    if facts.rate:
        nominal = f" (nominal {info.rate:g} Hz)" if info.rate else ""
        yield f"{facts.rate:,.6g} Hz by the median step{nominal}"
        yield f"95 % of steps within {facts.jitter_ns / 1e6:.6f} ms of the median"
        yield f"{len(facts.gaps)} gaps"
    yield f"clock {info.clock or 'unnamed'}, stamps mean the {info.stamp} of a row"
    yield (
        f"dropped {report.dropped}, reordered {report.reordered}, "
        f"ties {report.ties}, missing {report.missing}"
    )
    yield from report.notes


def _has_pictures(stream: Stream) -> bool:
    return stream.info.modality in ("video", "depth")


def _thumbnails(streams: Sequence[Stream], recording: Recording) -> str:
    """The first frame of each picture stream, or why it cannot be had."""
    shown = [s for s in streams if _has_pictures(s)][:MOST_THUMBNAILS]
    figures = "".join(
        element("figure", _first_frame(s, recording) + element("figcaption", escape(s.name)))
        for s in shown
    )
    return element("div", figures, class_="frames") if figures else ""


def _first_frame(stream: Stream, recording: Recording) -> str:
    info = stream.info
    size = None
    if len(info.shape) >= 2:
        width = max(
            2, round(info.shape[1] * info.sample_aspect * THUMBNAIL / info.shape[0] / 2) * 2
        )
        size = (THUMBNAIL, width)
    make = Depth if info.modality == "depth" else Video
    field = make(stream.name, offsets=[0], size=size)
    try:
        sample = recording.read({"frame": field}, stream.timeline.start_ns, 1)
        picture = jpeg_uri(rgb_of(sample["frame"][0]))
    except GenlockError as error:
        return element("em", escape(type(error).__name__), title=str(error))
    return element("img", src=picture, alt=f"first frame of {stream.name}")
