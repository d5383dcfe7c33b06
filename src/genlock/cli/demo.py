"""`genlock demo`: the same as `python -m genlock.demo`."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    data: Annotated[
        str | None, typer.Option(help="Your own recording (default: a sample that is written).")
    ] = None,
    out: Annotated[str, typer.Option(help="Folder for the picture.")] = "out",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the recording.")] = 3,
) -> None:
    """Load a recording, train a small model on it, say what it took."""
    from genlock.demo import main  # builds models: not needed by other commands

    given = [] if data is None else ["--data", data]
    main([*given, "--out", out, "--epochs", str(epochs)])
