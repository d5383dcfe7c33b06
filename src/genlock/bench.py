"""How fast does this recording load on this machine, which stage holds it up, what would help?

Runs of the same loader over the same windows, with one thread per stage, with as many as there are
CPUs, and in a child process, and the video's packet table, give the numbers for the advice.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from genlock._field import Field
from genlock._nanoseconds import regular_grid
from genlock.demo import choose_fields
from genlock.errors import WindowError
from genlock.fields import Video
from genlock.interfaces import UnitTable
from genlock.loader import CACHE_BYTES, Loader
from genlock.recording import Recording
from genlock.recording import open as open_recording
from genlock.spans import Windows
from genlock.stats import StageStats, Stats, available_cpus
from genlock.windows import Window

WORK = {
    "plan": "planning",
    "video": "decoding video",
    "image": "decoding images",
    "audio": "decoding sound",
    "table": "reading tables",
    "transform": "transforming",
}
SAME, SCALES = 1.15, 1.3
"""Speed-ups: below the first, threads bring nothing; above the second, they do."""
RUN_UP = 0.25
"""Share of decoded packets that only lead from the key frame to the window, worth a word."""
STEP = 300_000
"""Turns of an empty loop, about 5 ms: long enough for threads to ask for the interpreter."""
CACHED, AROUND = 0.25, 1.1
"""Share of the memory that decoded windows may take; what a cache takes for them, around arrays."""
UNSPARED = ("plan", "transform")
"""Stages that a cache of decoded windows does not spare."""
WAITING = 0.5
"""CPU seconds per busy second below which threads wait rather than work."""


@dataclass(frozen=True)
class Run:
    """One run of the loader. threads: the most that a stage has.

    step_speed: how fast a step in Python runs beside it, 1 being its speed alone.
    """

    threads: int
    seconds: float
    stats: Stats
    step_speed: float = 1.0

    @property
    def windows_per_s(self) -> float:
        return self.stats.windows / self.seconds

    @property
    def busiest(self) -> StageStats:
        return max(self.stats.stages, key=lambda stage: stage.load)


@dataclass(frozen=True)
class Decoding:
    """Packets of one video stream that a window costs, on average over windows.

    wanted: frames used. span: packets from the first to the last of them in decode order. run_up:
    packets before, from the key frame on.
    """

    stream: str
    wanted: float
    span: float
    run_up: float

    @property
    def run_up_share(self) -> float:
        return self.run_up / (self.run_up + self.span)


@dataclass(frozen=True)
class Bench:
    """What was measured. open_s: to open the recording. cpus: usable here. windows: of an epoch.

    one, many: runs with one thread per stage, and with the loader's own choice. process: the same
    in a child process, where that is possible.
    """

    recording: str
    cpus: int
    open_s: float
    windows: int
    one: Run
    many: Run
    decoding: tuple[Decoding, ...]
    process: Run | None = None

    @property
    def speedup(self) -> float:
        """How many times as fast it is with more threads."""
        return self.many.windows_per_s / self.one.windows_per_s

    @property
    def bottleneck(self) -> str:
        """One sentence: which stage holds the loader up."""
        stage = self.many.busiest
        what = WORK.get(stage.name, stage.name)
        on_cpu = stage.cpu_s / stage.busy_s if stage.busy_s else 0.0
        return (
            f"The bottleneck is {what}: its {stage.threads} thread"
            f"{'s were' if stage.threads > 1 else ' was'} busy {min(stage.load, 1):.0%} of the "
            f"time, {on_cpu:.0%} of that on the CPU."
        )

    @property
    def advice(self) -> list[str]:
        """What the numbers say would help, with them."""
        return list(_advice(self))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        runs = {"one_thread": self.one, "threads": self.many, "process": self.process}
        return {
            "recording": self.recording,
            "cpus": self.cpus,
            "open_s": self.open_s,
            "windows": self.windows,
            **{name: _plain(run) for name, run in runs.items() if run is not None},
            "decoding": [asdict(cost) for cost in self.decoding],
            "bottleneck": self.bottleneck,
            "advice": self.advice,
        }


def _plain(run: Run) -> dict[str, Any]:
    stats = asdict(run.stats)
    speeds = {"windows_per_s": run.windows_per_s, "step_speed": run.step_speed}
    return {"seconds": run.seconds, **speeds, **stats}


def _advice(bench: Bench) -> Iterator[str]:
    one, many, stage = bench.one, bench.many, bench.many.busiest
    rates = f"{one.windows_per_s:.1f} windows/s with one thread, {many.windows_per_s:.1f} with more"
    waits = stage.busy_s > 0 and stage.cpu_s / stage.busy_s < WAITING and stage.load > 0.5
    if waits:
        yield (
            f"Waiting: {stage.name} used the CPU for {stage.cpu_s:.1f} of {stage.busy_s:.1f} busy "
            "seconds: it waits for the disk, the network or other programs. Copy the data nearer, "
            "or measure again on a quiet machine."
        )
    elif stage.threads > 1 and bench.speedup < SAME:
        yield f"Threads: more bring nothing here ({rates}): threads=1 leaves CPUs to the training."
    elif bench.speedup > SCALES and stage.threads >= bench.cpus and stage.load > 0.7:
        yield f"Threads: all {bench.cpus} CPUs are in use ({rates}): more CPUs would help."
    for cost in bench.decoding:
        if stage.name == "video" and cost.run_up_share > RUN_UP:
            gop = max(1, round(cost.span / 4))
            yield (
                f"Key frames: of {cost.run_up + cost.span:.0f} packets decoded for a lone window "
                f"of {cost.stream!r}, {cost.run_up:.0f} only lead from the key frame to it. "
                f"Re-encode with a shorter GOP: ffmpeg -i IN -c:v libx264 -g {gop} OUT."
            )
    apart = bench.process
    if apart is not None and apart.step_speed > SCALES * many.step_speed:
        yield (
            f"Process: a step in Python runs at {many.step_speed:.0%} of its speed beside the "
            f"loader's threads and at {apart.step_speed:.0%} beside its process: "
            "Loader(…, process=True)."
        )
    per_epoch = many.stats.bytes / many.stats.windows * bench.windows if many.stats.windows else 0
    memory = _memory_bytes()
    if stage.name not in UNSPARED and 0 < per_epoch < CACHED * memory:
        room = ceil(AROUND * per_epoch)
        size = "" if room <= CACHE_BYTES else f", cache_bytes={room}"
        yield (
            f"Cache: an epoch's {bench.windows} windows of these fields take "
            f"{per_epoch / 1e6:.0f} MB of {memory / 1e6:.0f} MB of memory: "
            f'Loader(…, cache="ram"{size}) decodes them in the first epoch alone.'
        )


def _memory_bytes() -> int:
    pages = os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    return int(pages * os.sysconf("SC_PAGE_SIZE")) if pages > 0 else 0


def bench(
    target: Any, *, seconds: float = 3.0, duration: float = 1.0, batch_size: int = 4
) -> Bench:
    """Measure how fast a recording loads, with small fields of each modality.

    seconds: how long each run lasts at least. duration: of windows, in seconds; they
    overlap by half and are shuffled. Raises what opening and reading raise, WindowError for a
    recording shorter than a window.
    """
    began = time.perf_counter()
    with open_recording(target) as recording:
        open_s = time.perf_counter() - began
        fields = choose_fields(recording)
        over = [field.stream for field in fields.values()]
        windows = Windows(
            recording, duration=duration, stride=duration / 2, over=over, shuffle=True
        )
        if not len(windows):
            raise WindowError(f"{recording.uri} is shorter than {duration} s: ask for less")
        costs = tuple(_decoding(recording, fields, windows))
        size = min(batch_size, len(windows))
        ways: list[dict[str, Any]] = [{"threads": 1}, {}]
        if sys.platform == "linux":
            ways.append({"process": True})
        alone_s = min(_step() for _ in range(5))
        bar = tqdm(ways, "measuring", delay=1, disable=None, leave=False)
        options: dict[str, Any] = {"batch_size": size, "cache_bytes": 0}  # decoding is measured
        runs = [_run(Loader(windows, fields, **options, **way), seconds, alone_s) for way in bar]
        one, many, *rest = runs
        cpus, process = available_cpus(), rest[0] if rest else None
        return Bench(recording.uri, cpus, open_s, len(windows), one, many, costs, process)


def _run(loader: Loader, seconds: float, alone_s: float) -> Run:
    """Load for a while with a short step in Python after each batch, as training has."""
    began, steps = time.perf_counter(), []
    with loader:
        while True:
            for _ in loader:
                steps.append(_step())
                elapsed = time.perf_counter() - began
                if elapsed > seconds:
                    stats, speed = loader.stats(), alone_s / float(np.median(steps))
                    threads = max(stage.threads for stage in stats.stages)
                    return Run(threads, elapsed, stats, speed)


def _step() -> float:
    """Seconds that some milliseconds' worth of Python take."""
    began = time.perf_counter()
    for _ in range(STEP):
        pass
    return time.perf_counter() - began


def _decoding(
    recording: Recording, fields: Mapping[str, Field], windows: Windows
) -> Iterator[Decoding]:
    for field in fields.values():
        stream = recording.streams[field.stream]
        if isinstance(field, Video) and stream.info.encoding == "packets" and field.rate:
            with closing(recording.opened.source.units(field.stream)) as units:
                table = units.spec.table
            if table is not None:
                rate, ns = field.rate, stream.timeline.ns
                costs = [_cost(table, ns, window, rate) for window in windows]
                yield Decoding(field.stream, *np.mean(costs, axis=0).tolist())


def _cost(table: UnitTable, ns: Any, window: Window, rate: Any) -> tuple[int, int, int]:
    """Frames wanted, packets from the first to the last, packets from the key frame before."""
    grid = regular_grid(window.start_ns, window.duration_ns, rate)
    rows = np.unique(np.clip(np.searchsorted(ns, grid, "right") - 1, 0, len(ns) - 1))
    units = table.row_unit[rows]
    first, last = int(units.min()), int(units.max())
    keys = np.flatnonzero(table.key[: first + 1])
    key = int(keys[-1]) if len(keys) else 0
    return len(rows), last - first + 1, first - key
