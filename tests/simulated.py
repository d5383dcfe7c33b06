"""A device whose copies and kernels take time, on a clock that the test moves.

Work is queued on streams and runs when the clock reaches it, in the order that streams and events
allow. A copy reads its host memory only when it runs, so memory reused too early shows in the
values that arrive.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from genlock._memory import Block
from genlock.assembly import Collated
from genlock.batch import Batch
from genlock.device import split_block


@dataclass
class Event:
    """Set when the stream that recorded it gets there."""

    at: float | None = None

    def done(self, now: float) -> bool:
        return self.at is not None and self.at <= now


@dataclass
class Stream:
    """Work in order; each piece starts when the one before it and its event are done."""

    device: SimulatedDevice
    queue: deque[tuple[float, Callable[[], None], Event | None, Event]] = field(
        default_factory=deque
    )
    free_at: float = 0.0

    def run(self, cost: float, work: Callable[[], None], after: Event | None = None) -> Event:
        """Queue a piece of work that takes `cost`; returns the event of its end."""
        event = Event()
        self.queue.append((cost, work, after, event))
        return event

    def advance(self, now: float) -> bool:
        """Run what can end by `now`; says whether anything ran."""
        ran = False
        while self.queue:
            cost, work, after, event = self.queue[0]
            if after is not None and after.at is None:
                break
            start = max(self.free_at, after.at if after is not None and after.at else 0.0)
            if start + cost > now:
                break
            self.queue.popleft()
            work()
            self.free_at = event.at = start + cost
            ran = True
        return ran


class SimulatedDevice:
    """A delivery backend with a copy stream and a compute stream.

    copy_cost: time that one batch's copy takes. now: the clock, moved by `sleep`.
    """

    def __init__(self, copy_cost: float = 1.0, ahead: int = 2) -> None:
        self.ahead = ahead
        self.gpu = None
        self.copy_cost = copy_cost
        self.now = 0.0
        self.copying, self.computing = Stream(self), Stream(self)
        self.transfers: list[SimulatedTransfer] = []

    def allocate(self, size: int) -> Block:
        return np.empty(size, np.uint8)

    def upload(self, collated: Collated) -> SimulatedTransfer:
        self.transfers.append(SimulatedTransfer(self, collated))
        return self.transfers[-1]

    def sleep(self, duration: float) -> None:
        """Let the device work for some time while the host does something else."""
        self.now += duration
        self.settle()

    def settle(self) -> None:
        while self.copying.advance(self.now) | self.computing.advance(self.now):
            pass

    def wait_for(self, event: Event) -> None:
        """Block the host until an event, as a synchronising call would."""
        while not event.done(self.now):
            self.sleep(self.copy_cost / 8)

    def step(self, cost: float, work: Callable[[], None], after: Event) -> Event:
        """Queue a training step that waits for a batch's event on the compute stream."""
        return self.computing.run(cost, work, after)

    @property
    def addresses_in_use(self) -> set[int]:
        """Host memory that copies under way will still read."""
        self.settle()
        return {t.address for t in self.transfers if not t.event.done(self.now)}


class SimulatedTransfer:
    """One batch's copy. It knows where its host memory is, but does not keep it alive or in use:
    that is the library's duty, and what the tests are about.
    """

    def __init__(self, device: SimulatedDevice, collated: Collated) -> None:
        self.device = device
        self.address, self.size = collated.block.ctypes.data, collated.block.nbytes
        self.layout = replace(collated, block=np.empty(0, np.uint8))
        self.landed: Block | None = None
        self.event = device.copying.run(device.copy_cost, self._copy)

    def _copy(self) -> None:
        memory = (ctypes.c_ubyte * self.size).from_address(self.address)
        self.landed = np.frombuffer(memory, np.uint8).copy()

    def batch(self) -> Batch:
        """The batch as it landed."""
        assert self.landed is not None
        parts = split_block(torch.from_numpy(self.landed), self.layout)
        return self.layout.batch(parts, torch.from_numpy)

    def arrived(self) -> Batch:
        self.wait()
        return self.batch()

    def finished(self) -> bool:
        self.device.settle()
        return self.event.done(self.device.now)

    def wait(self) -> None:
        self.device.wait_for(self.event)
