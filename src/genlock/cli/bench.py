"""`genlock bench`: how fast a recording loads here, and what holds it up."""

from __future__ import annotations

from typing import Annotated

import typer

from genlock.cli._output import RecordingPath, as_json, heading, say, table
from genlock.stats import StageStats


def bench(
    path: RecordingPath,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each run lasts.")] = 3.0,
    duration: Annotated[float, typer.Option(min=0.01, help="Seconds in a window.")] = 1.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Windows in a batch.")] = 4,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Load a recording as a training run would, and say which stage holds it up."""
    from genlock.bench import bench as measure  # builds no model, but imports what does

    measured = measure(path, seconds=seconds, duration=duration, batch_size=batch_size)
    if json:
        as_json(measured.as_dict())
        return
    one, many = measured.one, measured.many
    say(f"{heading(measured.recording)}: opened in {1000 * measured.open_s:.0f} ms")
    say(f"{many.windows_per_s:.1f} windows/s, {many.stats.bytes / many.seconds / 1e6:.1f} MB/s")
    say(f"{one.windows_per_s:.1f} windows/s with one thread per stage\n")
    rows = [_stage_row(stage, many.seconds) for stage in many.stats.stages]
    table(["stage", "threads", "items/s", "ms each", "CPU ms each", "load"], rows)
    say(f"\n{measured.bottleneck}")
    for sentence in measured.advice:
        say(f"- {sentence}")


def _stage_row(stage: StageStats, seconds: float) -> list[str]:
    """A stage's numbers; planning counts no items."""
    items = stage.items
    each = ["", "", ""]
    if items:
        milliseconds = (1000 * spent / items for spent in (stage.busy_s, stage.cpu_s))
        each = [f"{items / seconds:.1f}", *(f"{value:.2f}" for value in milliseconds)]
    return [stage.name, str(stage.threads), *each, f"{min(stage.load, 1):.0%}"]
