"""One pass over the windows: a planning thread, decode pools, batches that come out in order.

    order ─► plan (one thread) ─► pools, one per modality ─► transform ─► Channel ─► consumer

A `Pending` carries its place in the order from the start, so what the consumer has received is
the state of the loader, whatever was prefetched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from genlock._memory import Block, Ring, pageable
from genlock._pool import SharedPool
from genlock._recent import Budget
from genlock._row_cache import RowCache
from genlock._sample_cache import SampleCache
from genlock._threads import Channel, ChannelClosed, Meter, Runner, TaskPool, join
from genlock._trace import SpanLog
from genlock._work import Adopt, Failure, Finished, Progress, StageCounts, Work
from genlock.assembly import Assembly, Collated
from genlock.batch import Sample
from genlock.errors import GenlockError
from genlock.fetch import plan_window, snap_window
from genlock.fields import Audio, PictureField, check_fields
from genlock.jobs import Planned
from genlock.opened import DecoderPool, Opened
from genlock.slots import Slot, SlotSpec
from genlock.spans import recording_opener
from genlock.windows import Window

RECORDINGS_KEPT_OPEN = 64
MOST_DECODERS = 64
SOUND_SHARE = 4
"""One part in so many of `cache_bytes` is for decoded sound, where there is any."""


LIGHT = frozenset({"audio", "table", "cache"})
"""Pools whose jobs take little longer than it takes to hand one to another thread."""
Task = Callable[[], None]


class Engine:
    """What lives as long as a loader: open recordings, decoders, worker threads, memory.

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
        self.work = work
        self.order = check_fields(work.fields)
        self.recordings: SharedPool[Opened] = SharedPool(
            RECORDINGS_KEPT_OPEN, recording_opener(work.windows)
        )
        self.decoders = _make_decoders(work)
        self.ring = Ring(work.prefetch + 2, allocate)
        self.cache = SampleCache(work.cache_bytes if work.keeps_samples else 0)
        self.planning = Meter("plan", self.spans)
        self.templates: dict[str, SlotSpec | None] = {}
        self._pools: dict[str, TaskPool] = {}
        self._epoch: Epoch | None = None
        self._lock = threading.Lock()
        self.closed = False

    def submit(self, pool: str, task: Task) -> None:
        """Run a task on the threads of a pool, which start when first needed."""
        with self._lock:
            if self.closed:
                raise ChannelClosed
            if pool not in self._pools:
                self._pools[pool] = TaskPool(pool, self.work.threads[pool], self.spans)
        self._pools[pool].submit(task)

    def count(self, job: Planned, slot: Slot) -> None:
        """Note what a job delivered in its pool's statistics."""
        nbytes = 0 if job.spec is None else slot.values.nbytes
        self._pools[job.pool].meter.count(len(slot.times), nbytes)

    def progress(self) -> Progress:
        """What has been done so far."""

        def counts(name: str, threads: int, meter: Meter) -> StageCounts:
            return StageCounts(name, threads, meter.items, meter.busy_s, meter.cpu_s)

        pools = [counts(name, p.threads, p.meter) for name, p in dict(self._pools).items()]
        return Progress(
            stages=(counts("plan", 1, self.planning), *pools),
            queue=self._epoch.channel.mean_occupancy if self._epoch is not None else 0.0,
            buffers=self.ring.allocated,
            samples_cached=self.cache.hits,
            samples_decoded=self.cache.misses,
            frames=self.decoders.rows.needed,
            frames_cached=self.decoders.rows.found,
            cache_bytes=self.cache.bytes + self.decoders.rows.nbytes + self.decoders.sounds.bytes,
            packets=self.decoders.packets,
        )

    def stock(self, size: int, allocate: Callable[[int], Block]) -> None:
        """Take other memory for batches of up to `size` bytes from now on."""
        if allocate is not pageable:
            self.ring.stock(size, allocate)

    def make_room(self) -> None:
        """Finished samples come first in `cache_bytes`; frames and sound get the rest."""
        rest = max(0, self.work.cache_bytes - self.cache.bytes)
        sounds, rows = self.decoders.sounds, self.decoders.rows
        sounds.limit = min(sounds.limit, rest // SOUND_SHARE)
        rows.limit = min(rows.limit, rest - sounds.limit)

    def begin(self, epoch: int, first: int, gpu: int | None = None) -> Epoch:
        """Start an epoch at a batch; the one before it stops. gpu: see `Workers.begin`."""
        if self._epoch is not None:
            join(self._epoch.stop())
        self.decoders.gpu = gpu
        self._epoch = Epoch(self, epoch, first)
        return self._epoch

    def close(self) -> None:
        """Stop everything and wait for threads to end. Safe to call twice and from anywhere."""
        with self._lock:
            self.closed = True
            pools = list(self._pools.values())
        epochs = [self._epoch.stop()] if self._epoch is not None else []
        join([thread for threads in (*epochs, *(p.stop() for p in pools)) for thread in threads])
        self.decoders.close()
        self.recordings.close()
        self.cache.clear()


def _make_decoders(work: Work) -> DecoderPool:
    """The pool of decoders: one for each lane and stream of this rank, unless stated."""
    lanes = (work.windows.lanes or 0) // work.windows.world_size
    fields = work.fields.values()
    streams = {field.stream for field in fields if isinstance(field, PictureField | Audio)}
    busy = max(work.threads["video"], work.threads["image"], work.threads["audio"])
    wanted = max(4 * busy, (lanes + busy) * len(streams))
    heard = any(isinstance(field, Audio) for field in fields)
    sounds = Budget(work.cache_bytes // SOUND_SHARE if heard else 0)
    rows = RowCache(work.cache_bytes - sounds.limit if work.windows.overlapping else 0)
    return DecoderPool(work.decoders or min(wanted, MOST_DECODERS), rows, sounds, lanes > 0)


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
    """The tasks of one sample: one per pool, then the transform. cached: nothing to decode."""

    epoch: Epoch
    pending: Pending
    index: int
    outstanding: int
    cached: bool
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fill(self, jobs: Mapping[str, Planned]) -> None:
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
            if not self.cached:
                self._decoded()
            self.filled()

    def _decoded(self) -> None:
        cache, assembly, i = self.epoch.engine.cache, self.pending.assembly, self.index
        assert assembly is not None
        window, jobs = self.pending.windows[i], assembly.jobs[i]
        self.epoch.engine.recordings.release(window.recording)
        whole = i not in self.pending.failures and not self.epoch.stopped
        if cache.capacity and jobs and whole:
            cache.keep(window, jobs, partial(assembly.slot, i))
            self.epoch.engine.make_room()

    def _failed(self, name: str, error: Exception) -> None:
        order = list(self.epoch.engine.work.fields)
        with self.lock:
            known = self.pending.failures.get(self.index)
            if known is None or order.index(name) < order.index(known.field or name):
                failure = Failure(self.pending.windows[self.index], name, error)
                self.pending.failures[self.index] = failure

    def filled(self) -> None:
        """Go on to the transform, if there is one and the sample will be delivered."""
        engine = self.epoch.engine
        dropped = self.index in self.pending.failures and engine.work.on_error != "mask"
        if engine.work.transform is None or dropped or self.epoch.stopped:
            self.pending.finish()
            return
        try:
            engine.submit("transform", self._transform)
        except ChannelClosed:
            self.pending.finish()

    def _transform(self) -> None:
        transform, pending = self.epoch.engine.work.transform, self.pending
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

    `next` is called by one consumer.
    """

    def __init__(self, engine: Engine, epoch: int, first: int) -> None:
        self.engine = engine
        self.stopped = False
        self._seeds = (engine.work.windows.seed, epoch)
        self._batches = engine.work.batches(epoch, first)
        self.channel: Channel[Pending] = Channel(engine.work.prefetch)
        self._waiting: Pending | None = None
        self._planner = Runner("plan", self._plan_all)

    def generator(self, position: int) -> np.random.Generator:
        """The random generator of a position: a function of (seed, epoch, position)."""
        return np.random.default_rng([*self._seeds, position])

    def next(self, wait: bool = True) -> Finished | None:
        """The next batch in order, once it is done; None if it is not and `wait` is False.

        Raises its first error in order, by the policy; ChannelClosed after the last one.
        """
        pending = self._next(wait)
        if pending is None:
            return None
        failures = [pending.failures[i] for i in sorted(pending.failures)]
        collated = settle_failures(pending, self.engine.work.on_error)
        return Finished(pending.number, failures, collated)

    def _next(self, wait: bool) -> Pending | None:
        self.engine.spans.count("batches in the queue", len(self.channel))
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
        number = 0
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
        except ChannelClosed:
            raise
        except BaseException as error:  # of the windows: else the epoch would end early, unseen
            self._end_with(number + 1, error)
        finally:
            self.channel.close()

    def _end_with(self, number: int, error: BaseException) -> None:
        pending = Pending(number, [], [], fatal={-1: error})
        pending.done.set()
        self.channel.put(pending)

    def _dispatch(self, pending: Pending) -> None:
        with self.engine.planning.measure():
            jobs = [self._plan(pending, i) for i in range(len(pending.windows))]
            if not any(jobs) and not self.engine.templates:
                self._find_templates()
                if not self.engine.templates and self.engine.work.on_error == "mask":
                    # a masked batch needs shapes, and no window that was tried tells them
                    first = pending.first_error()
                    if first is not None:
                        raise first
            jobs += [None] * (self.engine.work.batch_size - len(jobs))
            pending.assembly = Assembly(
                pending.windows, jobs, self.engine.templates, self.engine.ring
            )
            if not self.engine.templates:
                self._learn_templates(next((j for j in jobs if j), {}))
        self._submit(pending, jobs[: len(pending.windows)])

    def _submit(self, pending: Pending, jobs: Sequence[Mapping[str, Planned] | None]) -> None:
        """Hand the jobs of a batch to the pools: heavy ones each by itself, light ones together."""
        fills: dict[str, list[Task]] = {}
        for i, planned in enumerate(jobs):
            pools: dict[str, dict[str, Planned]] = {}
            for name, job in (planned or {}).items():
                pools.setdefault(job.pool, {})[name] = job
            tasks = _SampleTasks(self, pending, i, len(pools), set(pools) == {"cache"})
            for pool, share in pools.items():
                fills.setdefault(pool, []).append(partial(tasks.fill, share))
            if not pools:
                tasks.filled()
        for pool, wanted in fills.items():
            runs = self.engine.work.threads[pool] if pool in LIGHT else len(wanted)
            for k in range(min(runs, len(wanted))):
                self.engine.submit(pool, partial(_in_turn, wanted[k::runs]))

    def _plan(self, pending: Pending, index: int) -> dict[str, Planned] | None:
        window = pending.windows[index]
        try:
            if self.engine.work.windows.snap == "keyframe":
                window = pending.windows[index] = self._snapped(window)
            return self.engine.cache.get(window) or self._plan_window(window)
        except Exception as error:
            pending.failures[index] = Failure(window, None, error)
            return None

    def _snapped(self, window: Window) -> Window:
        with self.engine.recordings.lease(window.recording) as opened:
            return snap_window(opened, self.engine.work.fields, window)

    def _plan_window(self, window: Window) -> dict[str, Planned]:
        opened = self.engine.recordings.acquire(window.recording)
        try:
            return {**plan_window(opened, self.engine.work.fields, self.engine.order, window)}
        except BaseException:
            self.engine.recordings.release(window.recording)
            raise

    def _find_templates(self) -> None:
        for window in self.engine.work.some_windows():
            try:
                jobs = self._plan_window(window)
            except GenlockError:
                continue
            self._learn_templates(jobs)
            self.engine.recordings.release(window.recording)
            return

    def _learn_templates(self, jobs: Mapping[str, Planned]) -> None:
        self.engine.templates = {name: job.spec for name, job in jobs.items()}


def _in_turn(tasks: Sequence[Task]) -> None:
    for task in tasks:
        task()


def settle_failures(pending: Pending, on_error: str) -> Collated | None:
    """Finish a batch by the policy; None if nothing of it is left.

    Raises the first error in order: any with "raise", a transform's own always.
    """
    if pending.fatal or (pending.failures and on_error == "raise"):
        error = pending.first_error()
        assert error is not None
        if isinstance(error, StopIteration):  # to whoever iterates it would mean the end
            raise RuntimeError(f"a worker raised {error!r}") from error
        raise error
    assembly = pending.assembly
    assert assembly is not None
    if on_error == "skip" and pending.failures:
        keep = [i for i in range(len(pending.windows)) if i not in pending.failures]
        return assembly.collate(keep) if keep else None
    return assembly.collate()
