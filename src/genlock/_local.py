"""`Local`: the workers of a loader in this process."""

from __future__ import annotations

from collections.abc import Callable

from genlock._engine import Engine
from genlock._epoch import Epoch
from genlock._memory import Block, pageable
from genlock._threads import Runner, join, on_own_thread
from genlock._trace import SpanLog
from genlock._work import Adopt, Progress, Work


class Local:
    """An `Engine` and the epoch that runs on it: `Workers`.

    It never refers to the loader, so that a forgotten loader is collected and closes it.
    allocate: where memory for batches comes from.
    """

    adopt: Adopt

    def __init__(
        self,
        work: Work,
        allocate: Callable[[int], Block] = pageable,
        spans: SpanLog | None = None,
    ) -> None:
        self.spans = spans or SpanLog()
        self._engine = Engine(work, allocate, self.spans)
        self._epoch: Epoch | None = None

    @property
    def closed(self) -> bool:
        return self._engine.closed

    def begin(self, epoch: int, first: int, gpu: int | None = None) -> Epoch:
        """Start an epoch at a batch; the one before it stops. gpu: see `Workers.begin`."""
        if self._epoch is not None:
            join(self._epoch.stop())
        self._engine.decoders.gpu = gpu
        self._epoch = Epoch(self._engine, epoch, first)
        return self._epoch

    def stock(self, size: int, allocate: Callable[[int], Block]) -> None:
        """Take other memory for batches of up to `size` bytes from now on."""
        if allocate is not pageable:
            self._engine.ring.stock(size, allocate)

    def progress(self) -> Progress:
        """What has been done so far."""
        return self._engine.progress(self._epoch.queued if self._epoch is not None else 0.0)

    def close(self) -> None:
        """Stop everything and wait for threads to end. Safe to call twice and from anywhere.

        A forgotten loader is collected on any thread, also on a worker that holds a lock which
        closing takes: then another thread closes, and nobody waits.
        """
        if on_own_thread():
            Runner("close", self._close)
        else:
            self._close()

    def _close(self) -> None:
        planner = self._epoch.stop() if self._epoch is not None else []
        join([*planner, *self._engine.stop()])
        self._engine.release()
