"""`Loader`: windows in, aligned batches on the device out; state, failures, statistics, close."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from genlock._arguments import OnError, check_failures, decoders_of, work_of
from genlock._local import Local
from genlock._outgoing import Outgoing
from genlock._progress import with_bar
from genlock._remote import Remote
from genlock._state import Position, identity, restored, saved
from genlock._trace import SpanLog, Tracing
from genlock._work import Batches, Failure, Finished, Transform, Workers
from genlock.batch import Batch
from genlock.decoders import uses_gpu
from genlock.errors import ClosedError, GenlockError
from genlock.fields import Fields
from genlock.stats import Stats, Tally
from genlock.windows import Windows

if TYPE_CHECKING:  # see Loader.__iter__
    from genlock.device import Backend, Delivery, Device

CACHE_BYTES = 1 << 30
"""Default of `cache_bytes`: 1 GiB."""


class Loader:
    """Iterates over aligned batches; each `iter` is one epoch.

    windows: what to load, in which order. fields: what each batch holds. batch_size: windows per
    batch on this rank; the global batch is batch_size * world size. device: where tensors go:
    "cpu", "cuda", an index, a torch.device or a callable that gives one. transform(sample, rng):
    runs on worker threads with NumPy in and out; rng is seeded by (seed, epoch, position); what
    it raises is always raised here. on_error: "raise" the first failure in order; "skip" leaves
    the batch shorter; "mask" keeps shapes, values zero and mask False. max_failures: a number, or
    a fraction of an epoch's windows, after which a GenlockError is raised. threads: per pool
    ("video", "image", "audio", "table", "cache", "transform") or one number for each. prefetch:
    batches made ahead. tail: "drop" the last incomplete global batch or "pad" it with masked
    samples. cache_bytes: memory for decoded frames that overlapping windows share, and for decoded
    sound (a quarter of it, where there is any); 0 for none.
    cache="ram" keeps finished samples as well, before the transform: they come first in
    cache_bytes, and what does not fit is decoded again. decoders: most that are kept open, each of
    13 to 33 MB for video (default: one per lane and stream, at least 4 per thread, at most 64).
    process: run all of this in one child process, which leaves the interpreter to the training
    loop (Linux; the transform must be importable).

    A loader is used by one thread, holds worker threads until `close` (or the end of its `with`
    block, its collection or the interpreter's exit), and cannot be used in a forked child.
    """

    def __init__(
        self,
        windows: Windows,
        fields: Fields,
        *,
        batch_size: int,
        device: Device = None,
        transform: Transform | None = None,
        on_error: OnError = "raise",
        max_failures: int | float | None = None,
        threads: Mapping[str, int] | int | None = None,
        prefetch: int = 2,
        cache_bytes: int = CACHE_BYTES,
        decoders: int | None = None,
        tail: Literal["drop", "pad"] = "drop",
        cache: Literal["ram"] | None = None,
        process: bool = False,
        pin_memory: bool | None = None,
    ) -> None:
        check_failures(max_failures)
        self._work = work_of(
            windows,
            fields,
            batch_size=batch_size,
            transform=transform,
            on_error=on_error,
            threads=threads,
            prefetch=prefetch,
            cache_bytes=cache_bytes,
            decoders=decoders,
            tail=tail,
            cache=cache,
        )
        self.windows = windows
        self.fields = self._work.fields
        self.batch_size = self._work.batch_size
        self.on_error = on_error
        self.max_failures = max_failures
        self.tail = tail
        self.failures: list[Failure] = []
        self._device, self._pin_memory = device, pin_memory
        self._delivery: Delivery | None = None
        self._stocked = 0
        self._position = Position(0, 0)
        self._continues = True
        self._turn = 0
        self._tally = Tally()
        self._process = os.getpid()
        self._spans = SpanLog()
        self._tracing: Tracing | None = None
        self._workers: Workers = (Remote if process else Local)(self._work, spans=self._spans)
        self._finalizer = weakref.finalize(self, self._workers.close)

    def __len__(self) -> int:
        """Batches in an epoch, the same on every rank."""
        return self._work.steps

    @property
    def global_batch_size(self) -> int:
        """Windows per step over all ranks."""
        return self.batch_size * self.windows.world_size

    @property
    def epoch(self) -> int:
        """The epoch of the batch received last, or the one that `iter` begins with."""
        return self._position.epoch

    def __iter__(self) -> Iterator[Batch]:
        self._check_open()
        if not self._continues:
            self._position = Position(self._position.epoch + 1, 0)
        self._continues = False
        self._turn += 1
        batches = self._workers.begin(*self._position, self._gpu())
        try:
            return _Iterator(self, batches, self._delivery or self._make_delivery())
        except BaseException:
            batches.stop()
            raise

    def _gpu(self) -> int | None:
        """The GPU that batches go to, asked for ahead of them only if a decoder works on it."""
        if not uses_gpu(decoders_of(self.fields)):
            return None
        return (self._delivery or self._make_delivery()).backend.gpu

    def _make_delivery(self) -> Delivery:
        """Import torch, which a child process can spare, while workers make the first batches."""
        from genlock.device import Delivery, make_backend

        self._delivery = Delivery(make_backend(self._device, self._pin_memory))
        self._workers.adopt = self._delivery.backend.adopt
        return self._delivery

    def _stock(self, size: int, backend: Backend) -> None:
        """Give the workers the backend's memory, once a batch has shown how much."""
        if size > self._stocked:
            self._stocked = size
            self._workers.stock(size, backend.allocate)

    def _check_open(self) -> None:
        if os.getpid() != self._process:
            raise ClosedError("this loader belongs to another process: make one after the fork")
        if self._workers.closed:
            raise ClosedError("this loader is closed")

    def _received(self, finished: Finished) -> None:
        self._position = Position(self._position.epoch, finished.number + 1)
        self.failures += finished.failures
        limit = self.max_failures
        if isinstance(limit, float):
            limit *= self.windows.total
        if limit is not None and len(self.failures) > limit:
            message = f"{len(self.failures)} windows failed, more than max_failures allows"
            raise GenlockError(f"{message} ({limit:g})") from self.failures[-1].error

    def state_dict(self) -> dict[str, Any]:
        """Where the training loop is: a few numbers and a fingerprint, whatever was prefetched."""
        return saved(self._position, len(self.failures), self._identity())

    def _identity(self) -> dict[str, Any]:
        return identity(self.windows, self.fields, self.global_batch_size)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to a saved place; the next `iter` continues there.

        A state saved after the last batch of an epoch continues with the next epoch. Raises
        StateError naming what differs from the loader that saved it.
        """
        self._position = restored(state, self._identity(), len(self))
        self._continues = True
        self._turn += 1

    def stats(self) -> Stats:
        """What each stage has done since the loader was made, and the bottleneck."""
        return self._tally.stats(self._workers.progress(), self._work.prefetch, len(self.failures))

    def progress(self, **options: Any) -> Iterator[Batch]:
        """One epoch, as `iter`, under a bar with windows/s and the share of time spent waiting.

        options: of tqdm (`desc`, `disable`, …). Quiet where the output is no terminal.
        """
        batches = iter(self)
        return with_bar(batches, self._tally, self._position.batch, len(self), options)

    def trace(self, path: str | Path) -> Tracing:
        """Record what each stage does, how full the queue is and when copies start, from now on.

        The file, for ui.perfetto.dev or chrome://tracing, is written when the result's `with`
        block ends, its `stop` is called, or the loader is closed. It costs a few µs per task.
        With process=True it shows the child as a process of its own, as of the last batch received.
        """
        if self._tracing is not None:
            self._tracing.stop()
        self._tracing = Tracing(self._spans, path)
        return self._tracing

    def close(self) -> None:
        """End all threads and close all files, within 2 s; safe to call twice."""
        ours = os.getpid() == self._process
        if ours and self._delivery is not None:
            self._delivery.close()
        self._finalizer()
        if ours and self._tracing is not None:
            self._tracing.stop()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(f"{name}={type(field).__name__}" for name, field in self.fields.items())
        return f"Loader({len(self)} batches of {self.batch_size}, {names})"


class _Iterator(Iterator[Batch]):
    """One epoch of a loader. Collected early, it stops what was prefetched."""

    def __init__(self, loader: Loader, batches: Batches, delivery: Delivery) -> None:
        self._loader = loader
        self._turn = loader._turn
        self._outgoing = Outgoing(batches, delivery, loader._spans, loader._stock)
        weakref.finalize(self, batches.stop).atexit = False

    def __next__(self) -> Batch:
        self._loader._check_open()
        if self._turn != self._loader._turn:
            raise ClosedError(
                "a newer iter(loader) or load_state_dict ended this iteration: use one at a time, "
                "or make another loader"
            )
        with self._loader._tally.waiting(), self._loader._spans.span("wait for a batch"):
            while True:
                finished, transfer = self._outgoing.next()
                self._loader._received(finished)
                if transfer is not None:
                    batch = transfer.arrived()
                    self._loader._tally.count(batch)
                    return batch
