"""`genlock preview`: one look at a recording, as a page or a picture of its own."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from tqdm.auto import tqdm

from genlock._nanoseconds import SECOND_NS
from genlock.cli._output import RecordingPath, say
from genlock.doctor import Finding, check
from genlock.errors import FieldError
from genlock.recording import Recording
from genlock.recording import open as open_recording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (".html", ".png")
STYLE = (
    "body{font:15px system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em}"
    "img{max-width:100%}table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:left;"
    "border-bottom:1px solid #ddd}.error{color:#b00}.warning{color:#a60}.note{color:#068}"
)


def preview(
    path: RecordingPath,
    out: Annotated[Path, typer.Option("-o", "--out", help="An .html or .png to write.")],
    duration: Annotated[float, typer.Option(min=0.01, help="Seconds to show closely.")] = 2.0,
    start: Annotated[
        float | None, typer.Option(help="Where, in seconds from the start (default: the middle).")
    ] = None,
) -> None:
    """Write one look at a recording: its streams in time, and a window of each closely."""
    if out.suffix.lower() not in KINDS:
        raise typer.BadParameter(f"{out} is none of {', '.join(KINDS)}", param_hint="--out")
    with open_recording(path) as recording:
        steps = _steps(recording, out, start, duration)
        bar = tqdm(steps, "preview", 3, unit="", delay=1, disable=None, leave=False)
        for step in bar:
            bar.set_postfix_str(step, refresh=False)
    say(str(out))


def _steps(recording: Recording, out: Path, start: float | None, duration: float) -> Iterator[str]:
    """Write the file, in three steps; each is named once it is done."""
    figures = _figures(recording, start, duration)
    yield "read"
    findings = check(recording) if out.suffix.lower() == ".html" else []
    yield "checked"
    if out.suffix.lower() == ".html":
        out.write_text(page(recording, figures, findings), encoding="utf-8")
    else:
        _write_png(out, figures)
    yield "drawn"


def _figures(recording: Recording, start: float | None, duration: float) -> list[Figure]:
    """The streams on one time axis, and a window of them (from the middle of what they share)."""
    from genlock.demo import choose_fields
    from genlock.notebook import plot, plot_streams

    figures = [plot_streams(recording)]
    try:
        fields = choose_fields(recording)
    except FieldError:  # labels alone: nothing to plot
        return figures
    if start is None:
        span = recording.opened.span(field.stream for field in fields.values())
        whole_ns = span.end_ns - span.start_ns
        start_ns = span.start_ns + max(0, whole_ns - round(duration * SECOND_NS)) // 2
    else:
        start_ns = recording.start_ns + round(start * SECOND_NS)
    figures.append(plot(recording.read(fields, start_ns, duration)))
    return figures


def page(recording: Recording, figures: list[Figure], findings: list[Finding]) -> str:
    """A page that needs nothing but itself: pictures are inside."""
    title = html.escape(recording.uri)
    rows = "".join(
        f"<tr><td>{html.escape(name)}<td>{stream.info.modality}<td>{html.escape(stream.info.codec)}"
        f"<td>{'x'.join(map(str, stream.info.shape))}<td>{stream.info.rate or 0:g}"
        f"<td>{len(stream.timeline)}</tr>"
        for name, stream in recording.streams.items()
    )
    said = "".join(
        f'<li class="{finding.severity}">{html.escape(str(finding))}</li>' for finding in findings
    )
    pictures = "".join(
        f'<p><img alt="{alt}" src="{_data_url(figure)}">'
        for figure, alt in zip(figures, ("streams in time", "a window"), strict=False)
    )
    head = "<tr><th>stream<th>modality<th>codec<th>shape<th>Hz<th>rows</tr>"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style><h1>{title}</h1><table>{head}{rows}</table>{pictures}"
        f"<h2>Checks</h2><ul>{said or '<li>nothing found</li>'}</ul></html>\n"
    )


def _data_url(figure: Figure) -> str:
    return f"data:image/png;base64,{base64.b64encode(_png(figure)).decode()}"


def _png(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=100, bbox_inches="tight")
    return file.getvalue()


def _write_png(out: Path, figures: list[Figure]) -> None:
    """The figures below each other, on white."""
    from matplotlib.image import imread, imsave

    pictures = [imread(io.BytesIO(_png(figure)))[..., :3] for figure in figures]
    width = max(picture.shape[1] for picture in pictures)
    padded = [
        np.pad(p, ((0, 0), (0, width - p.shape[1]), (0, 0)), constant_values=1.0) for p in pictures
    ]
    imsave(out, np.concatenate(padded))
