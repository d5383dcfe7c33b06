"""What a loader asks of its workers, and what they hand back: the same in this process or another.

    Loader ─ Work ─► Workers ─ begin(epoch, first, gpu) ─► Batches ─ next ─► Finished ─► device

`_local.Local` are the workers in this process; `_remote.Remote` those in a child process, which
runs a `Local` of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from genlock._memory import Block
from genlock.assembly import Collated
from genlock.batch import Sample
from genlock.fields import Fields
from genlock.windows import Window, Windows

Transform = Callable[[Sample, np.random.Generator], Any]
Adopt = Callable[[Block], Callable[[], object]]
POOLS = ("video", "image", "audio", "table", "cache", "transform")


@dataclass(frozen=True)
class Failure:
    """A window that could not be loaded: where, and why."""

    window: Window
    field: str | None
    error: Exception


@dataclass(frozen=True)
class Work:
    """Everything that decides which batches are made, and by how many threads.

    steps: batches in an epoch. batch_size: batches with fewer windows are padded with masked
    samples. cache_bytes: memory for what was decoded before: rows that overlapping windows share
    and, with keeps_samples, finished samples. decoders: most that are kept open, None to choose.
    """

    windows: Windows
    fields: Fields
    batch_size: int
    steps: int
    transform: Transform | None
    on_error: str
    threads: Mapping[str, int]
    prefetch: int
    cache_bytes: int = 0
    keeps_samples: bool = False
    decoders: int | None = None

    def batches(self, epoch: int, first: int) -> Iterator[tuple[int, list[int], list[Window]]]:
        """(number, positions, windows) of this rank's share of each global batch, in order.

        Its positions are those congruent to the rank.
        """
        order = self.windows.order(epoch)
        for number in range(first, self.steps):
            start = number * self.batch_size
            local = range(start, min(start + self.batch_size, len(order)))
            positions = [self.windows.rank + self.windows.world_size * i for i in local]
            yield number, positions, list(order[local.start : local.stop])

    def some_windows(self, count: int = 64) -> Iterator[Window]:
        """Windows spread over all of them, to learn shapes from when none of a batch has any."""
        step = max(1, len(self.windows) // count)
        return (self.windows[i] for i in range(0, len(self.windows), step))


@dataclass(frozen=True)
class Finished:
    """A batch in its place of the order. collated: None if every sample of it was left out."""

    number: int
    failures: list[Failure]
    collated: Collated | None


class StageCounts(NamedTuple):
    """What one stage has done so far; see `stats.StageStats`."""

    name: str
    threads: int
    items: int
    busy_s: float
    cpu_s: float


@dataclass(frozen=True)
class Progress:
    """What workers have done so far.

    queue: mean number of batches on their way that a request found. buffers: blocks of memory
    made. samples_cached: that came from the cache; samples_decoded: that it did not hold. frames:
    rows of pictures that windows needed; frames_cached: those of them that were decoded before;
    packets: of video that went into decoders. cache_bytes: that all caches hold.
    """

    stages: tuple[StageCounts, ...] = ()
    queue: float = 0.0
    buffers: int = 0
    samples_cached: int = 0
    samples_decoded: int = 0
    cache_bytes: int = 0
    frames: int = 0
    frames_cached: int = 0
    packets: int = 0


class Batches(Protocol):
    """The batches of one epoch, in order, for one consumer."""

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before its end."""

    def next(self, wait: bool = True) -> Finished | None:
        """The next batch; None if it is not finished and `wait` is False.

        Raises its first error in order (any with on_error="raise", a transform's own always), and
        ChannelClosed after the last batch or once stopped.
        """

    def stop(self) -> object:
        """Make no more batches. Safe from anywhere, also within a garbage collection."""


class Workers(Protocol):
    """What lives as long as a loader. It never refers to the loader.

    adopt: set before a batch is asked for; called with each block of memory that another process
    shares, before its first batch, as `device.Backend.adopt`.
    """

    adopt: Adopt

    @property
    def closed(self) -> bool: ...

    def begin(self, epoch: int, first: int, gpu: int | None) -> Batches:
        """The batches of an epoch from a number on; the epoch before it stops.

        gpu: index of the one that they go to, where decoders that use a GPU work too.
        """

    def stock(self, size: int, allocate: Callable[[int], Block]) -> None:
        """Make batches of up to `size` bytes in what `allocate` gives, such as pinned memory.

        Called by the consumer, since workers never call torch.
        """

    def progress(self) -> Progress: ...

    def close(self) -> None:
        """End everything within 2 s. Safe to call twice and from anywhere."""
