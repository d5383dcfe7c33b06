"""`genlock check`: a doctor for recordings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated

import typer
from tqdm.auto import tqdm

from genlock._threads import Channel, TaskPool, join
from genlock.cli._output import ERRORS_FOUND, RecordingPaths, as_json, heading, say, severity
from genlock.collection import recordings
from genlock.doctor import SEVERITIES, Decode, Finding, check_path
from genlock.doctor.finding import counted
from genlock.errors import GenlockError
from genlock.stats import available_cpus


def check(
    paths: RecordingPaths,
    decode: Annotated[
        Decode, typer.Option(help="Frames to decode: a few of each stream, all, or none.")
    ] = "sample",
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Recordings checked at once.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what is wrong with recordings, where, and what to do. Exits with 1 on errors."""
    found: list[Finding] = []
    uris = [uri for path in paths for uri in _recordings(path)]
    bar = tqdm(total=len(uris), desc="checking", unit="", delay=1, disable=None, leave=False)
    with bar:
        for path, findings in _checked(uris, decode, threads or available_cpus()):
            found += findings
            if not json:
                with bar.external_write_mode():
                    _show(path, findings)
            bar.update()
    if json:
        as_json([finding.as_dict() for finding in found])
    grave = SEVERITIES[: 2 if strict else 1]
    if any(finding.severity in grave for finding in found):
        raise typer.Exit(ERRORS_FOUND)


def _recordings(path: str) -> list[str]:
    """The recordings that a path stands for; itself where there is none, so that it is told of."""
    try:
        return recordings(path) or [path]
    except GenlockError:
        return [path]


def _checked(
    paths: Sequence[str], decode: Decode, threads: int
) -> Iterator[tuple[str, list[Finding]]]:
    """The findings of each path, in order, several paths at once."""
    done: list[Channel[list[Finding] | BaseException]] = [Channel(1) for _ in paths]

    def run(path: str, channel: Channel[list[Finding] | BaseException]) -> None:
        try:
            channel.put(check_path(path, decode))
        except BaseException as error:
            channel.put(error)

    pool = TaskPool("check", min(threads, len(paths)))
    try:
        for path, channel in zip(paths, done, strict=True):
            pool.submit(partial(run, path, channel))
        for path, channel in zip(paths, done, strict=True):
            result = channel.get()
            if isinstance(result, BaseException):
                raise result
            yield path, result
    finally:
        join(pool.stop())


def _show(path: str, findings: list[Finding]) -> None:
    counts = Counter(finding.severity for finding in findings)
    summary = ", ".join(counted(counts[name], name) for name in SEVERITIES if counts[name])
    say(f"{heading(path)}: {summary or 'nothing found'}")
    for finding in findings:
        time = "" if finding.time_ns is None else f" from {finding.time_ns} ns"
        place = f"{finding.stream or 'recording'}{time}"
        say(f"  {severity(finding.severity)} [{finding.check}] {place}: {finding.problem}")
        say(f"      {finding.advice}")
