"""One pass over the windows: a planning thread, decode pools, batches that come out in order.

    order ─► plan (one thread) ─► pools, one per modality ─► transform ─► Channel ─► consumer

A `Pending` carries its place in the order from the start, so what the consumer has received is
the state of the loader, whatever was prefetched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from genlock._memory import Ring
from genlock._pool import SharedPool
from genlock._threads import Channel, ChannelClosed, Meter, Runner, TaskPool, join
from genlock.batch import Assembly, Collated, Sample
from genlock.errors import GenlockError
from genlock.fetch import Job, Slot, SlotSpec, plan_window, snap_window
from genlock.fields import Fields
from genlock.opened import DecoderPool, Opened
from genlock.windows import Window

Transform = Callable[[Sample, np.random.Generator], Any]
POOLS = ("video", "image", "audio", "table", "transform")
RECORDINGS_KEPT_OPEN = 64


@dataclass(frozen=True)
class Failure:
    """A window that could not be loaded: where, and why."""

    window: Window
    field: str | None
    error: Exception


class Engine:
    """What lives as long as a loader: open recordings, decoders, worker threads, memory.

    It never refers to the loader, so that a forgotten loader is collected and closes it.
    """

    def __init__(
        self,
        fields: Fields,
        order: list[str],
        open_recording: Callable[[str], Opened],
        threads: Mapping[str, int],
        prefetch: int,
        transform: Transform | None,
        on_error: str,
        decoders: DecoderPool,
        snaps: bool,
    ) -> None:
        self.snaps = snaps
        self.fields = fields
        self.order = order
        self.transform = transform
        self.on_error = on_error
        self.prefetch = prefetch
        self.recordings: SharedPool[Opened] = SharedPool(RECORDINGS_KEPT_OPEN, open_recording)
        self.decoders = decoders
        self.ring = Ring(prefetch + 2)
        self.planning = Meter()
        self.templates: dict[str, SlotSpec | None] = {}
        self._threads = threads
        self._pools: dict[str, TaskPool] = {}
        self._epoch: Epoch | None = None
        self._lock = threading.Lock()
        self.closed = False

    def submit(self, pool: str, task: Callable[[], None]) -> None:
        """Run a task on the threads of a pool, which start when first needed."""
        with self._lock:
            if self.closed:
                raise ChannelClosed
            if pool not in self._pools:
                self._pools[pool] = TaskPool(pool, self._threads[pool])
        self._pools[pool].submit(task)

    def count(self, job: Job, slot: Slot) -> None:
        """Note what a job delivered in its pool's statistics."""
        nbytes = 0 if job.spec is None else slot.values.nbytes
        self._pools[job.pool].meter.count(len(slot.times), nbytes)

    @property
    def occupancy(self) -> float:
        """Mean number of batches that a request found on their way, in the running epoch."""
        return self._epoch.channel.mean_occupancy if self._epoch is not None else 0.0

    @property
    def pools(self) -> Mapping[str, TaskPool]:
        return dict(self._pools)

    def begin(self, epoch: Epoch) -> None:
        """Make this the running epoch; the one before it stops."""
        if self._epoch is not None:
            join(self._epoch.stop())
        self._epoch = epoch

    def close(self) -> None:
        """Stop everything and wait for threads to end. Safe to call twice and from anywhere."""
        with self._lock:
            self.closed = True
            pools = list(self._pools.values())
        epochs = [self._epoch.stop()] if self._epoch is not None else []
        join([thread for threads in (*epochs, *(p.stop() for p in pools)) for thread in threads])
        self.decoders.close()
        self.recordings.close()


@dataclass
class Pending:
    """A batch on its way, at its place in the order."""

    number: int
    windows: list[Window]
    positions: list[int]
    assembly: Assembly | None = None
    failures: dict[int, Failure] = field(default_factory=dict)
    fatal: dict[int, BaseException] = field(default_factory=dict)
    done: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    outstanding: int = 0

    def is_done(self) -> bool:
        return self.done.is_set()

    def finish(self, tasks: int = 1) -> None:
        """Note that tasks have ended; the batch is done with the last one."""
        with self.lock:
            self.outstanding -= tasks
            last = self.outstanding == 0
        if last:
            self.done.set()

    def first_error(self) -> BaseException | None:
        """The failure that comes first in the order of samples."""
        errors = {**{i: f.error for i, f in self.failures.items()}, **self.fatal}
        return errors[min(errors)] if errors else None


@dataclass
class _SampleTasks:
    """The tasks of one sample: one per pool, then the transform."""

    epoch: Epoch
    pending: Pending
    index: int
    outstanding: int
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fill(self, jobs: Mapping[str, Job]) -> None:
        """Fill the fields of one pool; a field that fails is masked and noted."""
        assert self.pending.assembly is not None
        for name, job in jobs.items():
            if self.epoch.stopped:
                break
            slot = self.pending.assembly.slot(self.index, name)
            try:
                job.fill(slot, self.epoch.engine.decoders)
                self.epoch.engine.count(job, slot)
            except Exception as error:
                slot.clear()
                self._failed(name, error)
        with self.lock:
            self.outstanding -= 1
            last = self.outstanding == 0
        if last:
            self.epoch.engine.recordings.release(self.pending.windows[self.index].recording)
            self.filled()

    def _failed(self, name: str, error: Exception) -> None:
        order = list(self.epoch.engine.fields)
        with self.lock:
            known = self.pending.failures.get(self.index)
            if known is None or order.index(name) < order.index(known.field or name):
                failure = Failure(self.pending.windows[self.index], name, error)
                self.pending.failures[self.index] = failure

    def filled(self) -> None:
        """Go on to the transform, if there is one and the sample will be delivered."""
        engine = self.epoch.engine
        dropped = self.index in self.pending.failures and engine.on_error != "mask"
        if engine.transform is None or dropped or self.epoch.stopped:
            self.pending.finish()
            return
        try:
            engine.submit("transform", self._transform)
        except ChannelClosed:
            self.pending.finish()

    def _transform(self) -> None:
        transform, pending = self.epoch.engine.transform, self.pending
        assert pending.assembly is not None and transform is not None
        try:
            sample = pending.assembly.sample(self.index)
            result = transform(sample, self.epoch.generator(pending.positions[self.index]))
            pending.assembly.replace(self.index, _as_sample(result, sample))
        except BaseException as error:
            error.add_note(f"in the transform of {pending.windows[self.index]}")
            pending.fatal[self.index] = error
        pending.finish()


def _as_sample(result: Any, sample: Sample) -> Sample:
    if isinstance(result, Sample):
        return result
    if not isinstance(result, Mapping):
        raise TypeError(f"a transform returns the sample or a mapping, not {result!r:.80}")
    return replace(sample, data=dict(result))


class Epoch:
    """A pass over some batches of an epoch, from the first wanted to the last.

    batches: (number, positions, windows) of this rank's batches, in order; consumed on the
    planning thread. batch_size: batches with fewer windows are padded with masked samples.
    seeds: (seed, epoch). others: windows to learn shapes from when none of a batch can be planned.
    `next` is called by one consumer.
    """

    def __init__(
        self,
        engine: Engine,
        batches: Iterator[tuple[int, list[int], list[Window]]],
        seeds: tuple[int, int],
        batch_size: int,
        others: Callable[[], Iterator[Window]],
    ) -> None:
        self.engine = engine
        self.stopped = False
        self._seeds = seeds
        self._batches = batches
        self._batch_size = batch_size
        self._others = others
        self.channel: Channel[Pending] = Channel(engine.prefetch)
        self._waiting: Pending | None = None
        engine.begin(self)
        self._planner = Runner("plan", self._plan_all)

    def generator(self, position: int) -> np.random.Generator:
        """The random generator of a position: a function of (seed, epoch, position)."""
        return np.random.default_rng([*self._seeds, position])

    def next(self, wait: bool = True) -> Pending | None:
        """The next batch in order, once it is done; None if it is not and `wait` is False.

        Raises ChannelClosed after the last one.
        """
        pending = self.channel.get() if wait else self.channel.poll(Pending.is_done)
        if pending is not None:
            self._waiting = pending
            if not self.stopped:
                pending.done.wait()
            self._waiting = None
            if self.stopped:
                raise ChannelClosed
        return pending

    def stop(self) -> Sequence[threading.Thread]:
        """Stop planning and drop what waits; returns the thread, to be joined."""
        self.stopped = True
        self.channel.close(discard=True)
        if (waiting := self._waiting) is not None:
            waiting.done.set()
        return self._planner.stop()

    def _plan_all(self) -> None:
        try:
            for number, positions, windows in self._batches:
                pending = Pending(number, windows, positions, outstanding=len(windows) + 1)
                self.channel.put(pending)
                try:
                    self._dispatch(pending)
                except ChannelClosed:
                    raise
                except BaseException as error:
                    pending.fatal[-1] = error
                    pending.done.set()
                else:
                    pending.finish()
        finally:
            self.channel.close()

    def _dispatch(self, pending: Pending) -> None:
        with self.engine.planning.measure():
            jobs = [self._plan(pending, i) for i in range(len(pending.windows))]
            if not any(jobs) and not self.engine.templates:
                self._find_templates()
            jobs += [None] * (self._batch_size - len(jobs))
            pending.assembly = Assembly(
                pending.windows, jobs, self.engine.templates, self.engine.ring
            )
            if not self.engine.templates:
                self._learn_templates(next((j for j in jobs if j), {}))
        for i, planned in enumerate(jobs[: len(pending.windows)]):
            pools: dict[str, dict[str, Job]] = {}
            for name, job in (planned or {}).items():
                pools.setdefault(job.pool, {})[name] = job
            tasks = _SampleTasks(self, pending, i, len(pools))
            for pool, share in pools.items():
                self.engine.submit(pool, partial(tasks.fill, share))
            if not pools:
                tasks.filled()

    def _plan(self, pending: Pending, index: int) -> dict[str, Job] | None:
        window = pending.windows[index]
        try:
            pending.windows[index], jobs = self._plan_window(window)
            return jobs
        except Exception as error:
            pending.failures[index] = Failure(window, None, error)
            return None

    def _plan_window(self, window: Window) -> tuple[Window, dict[str, Job]]:
        opened = self.engine.recordings.acquire(window.recording)
        try:
            if self.engine.snaps:
                window = snap_window(opened, self.engine.fields, window)
            return window, plan_window(opened, self.engine.fields, self.engine.order, window)
        except BaseException:
            self.engine.recordings.release(window.recording)
            raise

    def _find_templates(self) -> None:
        for window in self._others():
            try:
                _, jobs = self._plan_window(window)
            except GenlockError:
                continue
            self._learn_templates(jobs)
            self.engine.recordings.release(window.recording)
            return

    def _learn_templates(self, jobs: Mapping[str, Job]) -> None:
        self.engine.templates = {name: job.spec for name, job in jobs.items()}


def settle_failures(pending: Pending, on_error: str) -> Collated | None:
    """Finish a batch by the policy; None if nothing of it is left.

    Raises the first error in order: any with "raise", a transform's own always.
    """
    if pending.fatal or (pending.failures and on_error == "raise"):
        error = pending.first_error()
        assert error is not None
        raise error
    assembly = pending.assembly
    assert assembly is not None
    if on_error == "skip" and pending.failures:
        keep = [i for i in range(len(pending.windows)) if i not in pending.failures]
        return assembly.collate(keep) if keep else None
    return assembly.collate()
