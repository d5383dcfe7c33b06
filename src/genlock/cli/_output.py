"""What commands take and print: tables for people, JSON for programs, colours on terminals."""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from genlock.doctor import Severity

RecordingPath = Annotated[
    str, typer.Argument(metavar="PATH", help="A recording: a folder, a file or a URL.")
]
RecordingPaths = Annotated[
    list[str],
    typer.Argument(metavar="PATH...", help="Recordings, or folders of many: folders, files, URLs."),
]
ERRORS_FOUND, FAILED, INTERRUPTED = 1, 3, 130
COLORS: Mapping[Severity, str] = {"error": "red", "warning": "yellow", "note": "cyan"}


def say(text: str = "") -> None:
    """Print a line; colours in it are taken out unless stdout is a terminal without NO_COLOR."""
    typer.echo(text, color=False if os.environ.get("NO_COLOR") else None)


def complain(text: str) -> None:
    """Print an error to stderr."""
    label = typer.style("error:", fg="red", bold=True)
    typer.echo(f"{label} {text}", err=True, color=False if os.environ.get("NO_COLOR") else None)


def heading(text: str) -> str:
    """A line that stands out."""
    return typer.style(text, bold=True)


def severity(name: Severity) -> str:
    """A severity in its colour."""
    return typer.style(name, fg=COLORS[name])


def as_json(value: Any) -> None:
    """Print a value as JSON, indented, with non-ASCII characters as they are."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns side by side: numbers to the right, text to the left."""
    columns = list(zip(headers, *rows, strict=True))
    widths = [max(map(_width, column)) for column in columns]
    right = [all(map(_is_number, column[1:])) for column in columns]
    for number, row in enumerate((headers, *rows)):
        cells = [
            " " * (width - _width(cell)) + cell if to_right else cell + " " * (width - _width(cell))
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ]
        line = "  ".join(cells).rstrip()
        say(heading(line) if number == 0 else line)


def _width(text: str) -> int:
    """Columns that a text takes in a terminal."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _is_number(text: str) -> bool:
    return text[:1].isdigit() or (text[:1] in "-+" and text[1:2].isdigit()) or text in ("", "-")
