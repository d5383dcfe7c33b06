"""`Stats`: what each stage of a loader did, and which of them holds the rest up."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

from genlock._work import POOLS, Progress, StageCounts
from genlock.batch import Batch
from genlock.errors import FieldError


def thread_counts(threads: Mapping[str, int] | int | None) -> dict[str, int]:
    """Threads per pool: as asked, one number for all, or chosen from the CPUs this process may use.

    Decoding video and images takes one thread per CPU; the rest is light and takes one. Raises
    FieldError for an unknown pool or a count below 1.
    """
    heavy = threads if isinstance(threads, int) else available_cpus()
    counts = {name: heavy if name in ("video", "image", "transform") else 1 for name in POOLS}
    if isinstance(threads, int):
        counts = dict.fromkeys(POOLS, threads)
    elif threads is not None:
        unknown = [name for name in threads if name not in POOLS]
        if unknown:
            raise FieldError(f"threads: no pool {unknown[0]!r}; there are {', '.join(POOLS)}")
        counts.update(threads)
    if min(counts.values()) < 1:
        raise FieldError("threads: each pool needs at least one thread")
    return counts


def available_cpus() -> int:
    """CPUs that this process may use, by affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Tally:
    """What the consumer's side counts: waiting, batches, bytes."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.ended = 0.0
        self.waited_s = 0.0
        self.batches = self.windows = self.bytes = 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time the training loop spends inside the loader."""
        start = time.perf_counter()
        self.began = start if self.began is None else self.began
        try:
            yield
        finally:
            self.ended = time.perf_counter()
            self.waited_s += self.ended - start

    def count(self, batch: Batch) -> None:
        self.batches += 1
        self.windows += len(batch.windows)
        self.bytes += sum(tensor.nbytes for tensor in batch.tensors())

    def stats(self, progress: Progress, prefetch: int, failures: int) -> Stats:
        """Put the counts of both sides together."""
        elapsed = self.ended - (self.began or self.ended)

        def stage(counts: StageCounts) -> StageStats:
            load = counts.busy_s / (counts.threads * elapsed) if elapsed else 0.0
            return StageStats(*counts, load)

        return Stats(
            stages=tuple(map(stage, progress.stages)),
            batches=self.batches,
            windows=self.windows,
            bytes=self.bytes,
            failures=failures,
            elapsed_s=elapsed,
            waited_s=self.waited_s,
            queue=progress.queue,
            queue_capacity=prefetch,
            buffers=progress.buffers,
            samples_cached=progress.samples_cached,
            samples_decoded=progress.samples_decoded,
            cache_bytes=progress.cache_bytes,
            frames=progress.frames,
            frames_cached=progress.frames_cached,
            packets=progress.packets,
        )


@dataclass(frozen=True)
class StageStats:
    """One stage since the loader was made.

    busy_s: seconds in which its threads worked, added up. cpu_s: CPU seconds of its threads.
    load: busy_s over threads times elapsed time, 0 to 1.
    """

    name: str
    threads: int
    items: int
    busy_s: float
    cpu_s: float
    load: float


@dataclass(frozen=True)
class Stats:
    """Statistics of a loader; `print` shows a table and a sentence.

    elapsed_s: from the first request of a batch to the last. waited_s: how long the training loop
    waited inside the loader. queue: mean number of finished or planned batches that a request
    found. bytes: of the batches delivered. buffers: blocks of memory that had to be made.
    samples_cached, samples_decoded: with cache="ram", samples that came from memory, and those
    that had to be decoded. frames: that windows needed; frames_cached: those of them that were
    decoded before. packets: of video that were decoded, the way from key frames included, what was
    skipped not. cache_bytes: what the caches hold.
    """

    stages: tuple[StageStats, ...]
    batches: int
    windows: int
    bytes: int
    failures: int
    elapsed_s: float
    waited_s: float
    queue: float
    queue_capacity: int
    buffers: int
    samples_cached: int = 0
    samples_decoded: int = 0
    cache_bytes: int = 0
    frames: int = 0
    frames_cached: int = 0
    packets: int = 0

    @property
    def bottleneck(self) -> str:
        """One sentence that names what to look at first."""
        if not self.batches:
            return "Nothing was loaded yet."
        share = self.waited_s / self.elapsed_s if self.elapsed_s else 0.0
        if share < 0.05:
            return f"The training loop is the bottleneck: it waited {share:.0%} of the time."
        busiest = max(self.stages, key=lambda stage: stage.load)
        waits = (
            f"the training loop waited {share:.0%} of the time, and "
            f"the busiest stage is {busiest.name} ({busiest.load:.0%} of {busiest.threads} "
            f"thread{'s' if busiest.threads > 1 else ''})"
        )
        if share < 0.5 and busiest.load < 0.5:
            return f"No lasting bottleneck: {waits}: the start, or bursts that prefetch= evens out."
        return f"The loader is the bottleneck: {waits}."

    def _repr_html_(self) -> str:
        cells = [
            (s.name, s.threads, s.items, f"{s.busy_s:.2f}", f"{s.cpu_s:.2f}", f"{s.load:.0%}")
            for s in self.stages
        ]
        rows = "".join("<tr><td>" + "<td>".join(map(str, row)) + "</tr>" for row in cells)
        head = "<tr><th>stage<th>threads<th>items<th>busy s<th>CPU s<th>load</tr>"
        said = "".join(
            f"<p>{escape(line)}</p>" for line in str(self).splitlines()[len(cells) + 1 :]
        )
        return f"<table>{head}{rows}</table>{said}"

    def __str__(self) -> str:
        head = f"{'stage':<10} {'threads':>7} {'items':>8} {'busy s':>9} {'CPU s':>9} {'load':>6}"
        rows = [
            f"{s.name:<10} {s.threads:>7} {s.items:>8} {s.busy_s:>9.2f} {s.cpu_s:>9.2f} "
            f"{s.load:>6.0%}"
            for s in self.stages
        ]
        tail = (
            f"{self.batches} batches, {self.windows} windows, {self.bytes / 1e6:.1f} MB in "
            f"{self.elapsed_s:.2f} s; queue {self.queue:.1f} of {self.queue_capacity}; "
            f"{self.buffers} buffers made; {self.failures} failures"
        )
        lines = [head, *rows]
        if self.frames:
            share = self.frames_cached / self.frames
            lines.append(
                f"{self.frames} frames needed, {share:.0%} of them decoded before; "
                f"{self.packets} packets of video decoded"
            )
        if looked_up := self.samples_cached + self.samples_decoded:
            lines.append(f"{self.samples_cached / looked_up:.0%} of samples from the cache")
        lines += [f"caches hold {self.cache_bytes / 1e6:.1f} MB", tail, self.bottleneck]
        return "\n".join(lines)
