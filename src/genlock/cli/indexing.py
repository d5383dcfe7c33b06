"""`genlock index`: open recordings once, so that they open at once from then on."""

from __future__ import annotations

from typing import Annotated

import typer

from genlock.cli._output import FAILED, RecordingPaths, as_json, complain, say
from genlock.collection import recordings
from genlock.index import Index
from genlock.index.ahead import index_all


def index(
    paths: RecordingPaths,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes (default: one for each processor).")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make the index of all recordings below these paths. Exits with 3 if one does not open."""
    found = [uri for path in paths for uri in recordings(path)]
    errors = list(index_all(found, jobs))
    folder = str(Index.of_user().folder)
    if json:
        failed = [{"recording": e.recording, "problem": str(e)} for e in errors]
        as_json({"folder": folder, "recordings": found, "failed": failed})
    else:
        for error in errors:
            complain(str(error))
        say(f"{len(found) - len(errors)} of {len(found)} recordings are in {folder}")
    if errors:
        raise typer.Exit(FAILED)
