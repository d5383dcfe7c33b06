"""One pass over the windows: a planning thread, decode pools, batches that come out in order.

    order ─► plan (one thread) ─► pools, one per modality ─► transform ─► Channel ─► consumer

A `Pending` carries its place in the order from the start, so what the consumer has received is
the state of the loader, whatever was prefetched.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from genlock._engine import Engine
from genlock._pending import Pass, Pending, SampleTasks, fill_share
from genlock._threads import Channel, ChannelClosed, Runner
from genlock._walks import Walks
from genlock._work import Failure, Finished
from genlock.assembly import Assembly
from genlock.errors import GenlockError
from genlock.fetch import plan_windows, snap_window
from genlock.jobs import Planned
from genlock.windows import Window

LIGHT = frozenset({"audio", "table", "cache"})
"""Pools whose jobs take little longer than it takes to hand one to another thread."""


class Epoch:
    """A pass over some batches of an epoch, from the first wanted to the last.

    `next` is called by one consumer.
    """

    def __init__(self, engine: Engine, epoch: int, first: int) -> None:
        self._engine = engine
        self._shared = Pass(engine, (engine.work.windows.seed, epoch))
        self._batches = engine.work.batches(epoch, first)
        self._channel: Channel[Pending] = Channel(engine.work.prefetch)
        self._waiting: Pending | None = None
        self._walks = Walks()
        self._planner = Runner("plan", self._plan_all)

    @property
    def stopped(self) -> bool:
        """Whether it was stopped before its end."""
        return self._shared.stopped

    def next(self, wait: bool = True) -> Finished | None:
        """The next batch in order, once it is done; None if it is not and `wait` is False.

        Raises its first error in order, by the policy; ChannelClosed after the last one.
        """
        pending = self._next(wait)
        if pending is None:
            return None
        failures = [pending.failures[i] for i in sorted(pending.failures)]
        collated = pending.settle(self._engine.work.on_error)
        return Finished(pending.number, failures, collated)

    def _next(self, wait: bool) -> Pending | None:
        self._engine.spans.count("batches in the queue", len(self._channel))
        pending = self._channel.get() if wait else self._channel.poll(Pending.is_done)
        if pending is not None:
            self._waiting = pending
            if not self.stopped:
                pending.done.wait()
            self._waiting = None
            if self.stopped:
                raise ChannelClosed
        return pending

    @property
    def queued(self) -> float:
        """Mean number of batches on their way that a request found."""
        return self._channel.mean_occupancy

    def stop(self) -> Sequence[threading.Thread]:
        """Stop planning and drop what waits; returns the thread, to be joined."""
        self._shared.stopped = True
        self._channel.close(discard=True)
        if (waiting := self._waiting) is not None:
            waiting.done.set()
        return self._planner.stop()

    def _plan_all(self) -> None:
        number = 0
        try:
            for number, positions, windows in self._batches:
                pending = Pending(number, windows, positions, outstanding=len(windows) + 1)
                self._channel.put(pending)
                try:
                    self._dispatch(pending)
                except ChannelClosed:
                    raise
                except BaseException as error:
                    pending.fail(error)
                else:
                    pending.finish()
        except ChannelClosed:
            raise
        except BaseException as error:  # of the windows: else the epoch would end early, unseen
            self._end_with(number + 1, error)
        finally:
            self._channel.close()

    def _end_with(self, number: int, error: BaseException) -> None:
        pending = Pending(number, [], [])
        pending.fail(error)
        self._channel.put(pending)

    def _dispatch(self, pending: Pending) -> None:
        with self._engine.planning.measure():
            jobs = self._jobs(pending)
            if not any(jobs) and not self._engine.templates:
                self._find_templates()
                if not self._engine.templates and self._engine.work.on_error == "mask":
                    # a masked batch needs shapes, and no window that was tried tells them
                    first = pending.first_error()
                    if first is not None:
                        raise first
            jobs += [None] * (self._engine.work.batch_size - len(jobs))
            assembly = Assembly(pending.windows, jobs, self._engine.templates, self._engine.ring)
            pending.assembly = assembly
            if not self._engine.templates:
                self._learn_templates(next((j for j in jobs if j), {}))
        self._submit(pending, assembly)

    def _submit(self, pending: Pending, assembly: Assembly) -> None:
        """Hand the jobs of a batch to the pools: heavy ones each by itself, light ones together."""
        light: dict[str, list[tuple[SampleTasks, Mapping[str, Planned]]]] = {}
        for i, planned in enumerate(assembly.jobs[: len(pending.windows)]):
            shares: dict[tuple[str, str], dict[str, Planned]] = {}
            for name, job in (planned or {}).items():
                part = "" if job.pool in LIGHT else name
                shares.setdefault((job.pool, part), {})[name] = job
            cached = all(pool == "cache" for pool, _ in shares)
            tasks = SampleTasks(self._shared, pending, assembly, i, len(shares), cached)
            for (pool, name), share in shares.items():
                if pool in LIGHT:
                    light.setdefault(pool, []).append((tasks, share))
                else:
                    walk = self._walks.of(share[name])
                    self._engine.submit(pool, partial(fill_share, [(tasks, share)]), walk)
            if not shares:
                tasks.filled()
        for pool, wanted in light.items():
            runs = self._engine.work.threads[pool]
            for k in range(min(runs, len(wanted))):
                self._engine.submit(pool, partial(fill_share, wanted[k::runs]))

    def _jobs(self, pending: Pending) -> list[dict[str, Planned] | None]:
        """The jobs of each window, None where they cannot be planned.

        Windows of a recording are planned together, and one by one if that fails, since a failure
        is one window's.
        """
        jobs: list[dict[str, Planned] | None] = [None] * len(pending.windows)
        to_plan: dict[str, list[int]] = {}
        for i in range(len(jobs)):
            try:
                if self._engine.work.windows.snap == "keyframe":
                    pending.windows[i] = self._snapped(pending.windows[i])
                jobs[i] = self._engine.cache.get(pending.windows[i])
                if jobs[i] is None:
                    to_plan.setdefault(pending.windows[i].recording, []).append(i)
            except Exception as error:
                pending.failures[i] = Failure(pending.windows[i], None, error)
        for alike in to_plan.values():
            self._plan_alike(pending, alike, jobs)
        return jobs

    def _plan_alike(
        self, pending: Pending, alike: Sequence[int], jobs: list[dict[str, Planned] | None]
    ) -> None:
        try:
            planned = self._plan([pending.windows[i] for i in alike])
        except Exception as error:
            if len(alike) == 1:
                pending.failures[alike[0]] = Failure(pending.windows[alike[0]], None, error)
                return
            for i in alike:
                self._plan_alike(pending, [i], jobs)
        else:
            for i, found in zip(alike, planned, strict=True):
                jobs[i] = found

    def _snapped(self, window: Window) -> Window:
        with self._engine.recordings.lease(window.recording) as opened:
            return snap_window(opened, self._engine.work.fields, window)

    def _plan(self, windows: Sequence[Window]) -> list[dict[str, Planned]]:
        """Plan windows of one recording, which each of them holds open until it is decoded."""
        recording = windows[0].recording
        opened = self._engine.recordings.acquire(recording, len(windows))
        try:
            fields, order = self._engine.work.fields, self._engine.order
            return [{**jobs} for jobs in plan_windows(opened, fields, order, windows)]
        except BaseException:
            self._engine.recordings.release(recording, len(windows))
            raise

    def _find_templates(self) -> None:
        for window in self._engine.work.some_windows():
            try:
                (jobs,) = self._plan([window])
            except GenlockError:
                continue
            self._learn_templates(jobs)
            self._engine.recordings.release(window.recording)
            return

    def _learn_templates(self, jobs: Mapping[str, Planned]) -> None:
        self._engine.templates = {name: job.spec for name, job in jobs.items()}
