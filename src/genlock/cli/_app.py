"""The commands as one program, and how errors become exit codes."""

from __future__ import annotations

import sys

import typer

from genlock.cli._output import FAILED, INTERRUPTED, complain
from genlock.cli.bench import bench
from genlock.cli.checking import check
from genlock.cli.demo import demo
from genlock.cli.indexing import index
from genlock.cli.info import info
from genlock.cli.preview import preview
from genlock.errors import GenlockError

app = typer.Typer(
    name="genlock",
    help="Look at AR/VR recordings, check them, and time how fast they load.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (info, check, preview, bench, index, demo):
    app.command()(command)


def main() -> None:
    """Run the program: 0 fine, 1 a check found errors, 2 wrong usage, 3 failed, 130 interrupted."""
    try:
        app()
    except GenlockError as error:
        complain(str(error))
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
