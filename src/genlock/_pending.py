"""`Pending`: a batch on its way, and the tasks that fill it.

jobs of a sample ─► one task per pool ─► the last one: cache, transform ─► done
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from genlock._engine import Engine
from genlock._threads import ChannelClosed
from genlock._work import Failure
from genlock.assembly import Assembly, Collated
from genlock.batch import Sample
from genlock.jobs import Planned
from genlock.windows import Window


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

    def finish(self) -> None:
        """Note that a task has ended; the batch is done with the last one."""
        with self.lock:
            self.outstanding -= 1
            last = self.outstanding == 0
        if last:
            self.done.set()

    def fail(self, error: BaseException) -> None:
        """End the batch with an error that is of no sample, and comes before theirs."""
        self.fatal[-1] = error
        self.done.set()

    def first_error(self) -> BaseException | None:
        """The failure that comes first in the order of samples."""
        errors = {**{i: f.error for i, f in self.failures.items()}, **self.fatal}
        return errors[min(errors)] if errors else None

    def settle(self, on_error: str) -> Collated | None:
        """Finish a batch by the policy; None if nothing of it is left.

        Raises the first error in order: any with "raise", a transform's own always.
        """
        if self.fatal or (self.failures and on_error == "raise"):
            error = self.first_error()
            assert error is not None
            if isinstance(error, StopIteration):  # to whoever iterates it would mean the end
                raise RuntimeError(f"a worker raised {error!r}") from error
            raise error
        assembly = self.assembly
        assert assembly is not None
        if on_error == "skip" and self.failures:
            keep = [i for i in range(len(self.windows)) if i not in self.failures]
            return assembly.collate(keep) if keep else None
        return assembly.collate()


@dataclass
class Pass:
    """What the tasks of one epoch share. seeds: its own. stopped: whether they end early."""

    engine: Engine
    seeds: tuple[int, int]
    stopped: bool = False

    def generator(self, position: int) -> np.random.Generator:
        """The random generator of a position: a function of (seed, epoch, position)."""
        return np.random.default_rng([*self.seeds, position])


@dataclass
class SampleTasks:
    """The tasks of one sample: one per pool, then the transform. cached: nothing to decode."""

    shared: Pass
    pending: Pending
    assembly: Assembly
    index: int
    outstanding: int
    cached: bool
    lock: threading.Lock = field(default_factory=threading.Lock)

    def fill(self, name: str, job: Planned) -> None:
        """Fill a field; one that fails is masked and noted."""
        slot = self.assembly.slot(self.index, name)
        try:
            job.fill(slot, self.shared.engine.decoders)
            self.shared.engine.count([job], [slot])
        except Exception as error:
            slot.clear()
            self._failed(name, error)

    def end(self) -> None:
        """Note that the fields of one pool are filled; the sample goes on with the last."""
        with self.lock:
            self.outstanding -= 1
            last = self.outstanding == 0
        if last:
            if not self.cached:
                self._decoded()
            self.filled()

    def _decoded(self) -> None:
        cache, i = self.shared.engine.cache, self.index
        window, jobs = self.pending.windows[i], self.assembly.jobs[i]
        self.shared.engine.recordings.release(window.recording)
        whole = i not in self.pending.failures and not self.shared.stopped
        if cache.capacity and jobs and whole:
            cache.keep(window, jobs, partial(self.assembly.slot, i))
            self.shared.engine.make_room()

    def _failed(self, name: str, error: Exception) -> None:
        order = list(self.shared.engine.work.fields)
        with self.lock:
            known = self.pending.failures.get(self.index)
            if known is None or order.index(name) < order.index(known.field or name):
                failure = Failure(self.pending.windows[self.index], name, error)
                self.pending.failures[self.index] = failure

    def filled(self) -> None:
        """Go on to the transform, if there is one and the sample will be delivered."""
        engine = self.shared.engine
        dropped = self.index in self.pending.failures and engine.work.on_error != "mask"
        if engine.work.transform is None or dropped or self.shared.stopped:
            self.pending.finish()
            return
        try:
            engine.submit("transform", self._transform)
        except ChannelClosed:
            self.pending.finish()

    def _transform(self) -> None:
        transform, pending = self.shared.engine.work.transform, self.pending
        assert transform is not None
        try:
            sample = self.assembly.sample(self.index)
            result = transform(sample, self.shared.generator(pending.positions[self.index]))
            self.assembly.replace(self.index, _as_sample(result, sample))
        except BaseException as error:
            error.add_note(f"in the transform of {pending.windows[self.index]}")
            pending.fatal[self.index] = error
        pending.finish()


Share = Sequence[tuple[SampleTasks, Mapping[str, Planned]]]
"""What one task fills: of several samples of a batch, the fields of one pool."""


def fill_share(share: Share) -> None:
    """Fill what is kin together, and what fails so one by one, since a failure is one sample's."""
    kin: dict[tuple[str, Hashable], list[tuple[SampleTasks, Planned]]] = {}
    for tasks, jobs in share:
        for name, job in jobs.items():
            kin.setdefault((name, job.kin), []).append((tasks, job))
    for (name, _), group in kin.items():
        if group[0][0].shared.stopped:
            break
        if len(group) == 1 or not _filled_together(name, group):
            for tasks, job in group:
                tasks.fill(name, job)
    for tasks, _ in share:
        tasks.end()


def _filled_together(name: str, group: Sequence[tuple[SampleTasks, Planned]]) -> bool:
    engine, jobs = group[0][0].shared.engine, [job for _, job in group]
    slots = [tasks.assembly.slot(tasks.index, name) for tasks, _ in group]
    try:
        jobs[0].fill_all(jobs, slots, engine.decoders)
    except Exception:
        return False
    engine.count(jobs, slots)
    return True


def _as_sample(result: Any, sample: Sample) -> Sample:
    if isinstance(result, Sample):
        return result
    if not isinstance(result, Mapping):
        raise TypeError(f"a transform returns the sample or a mapping, not {result!r:.80}")
    return replace(sample, data=dict(result))
