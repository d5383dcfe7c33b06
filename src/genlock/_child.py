"""The process beside the training loop: `python -m genlock._child`, started by `_remote.Remote`.

It runs the whole threaded loader, and ends when its parent closes the socket or dies. Arguments:
descriptors of the socket and of the parent's pidfd; standard input holds the `Start`.

    main thread: requests      sending thread, one per epoch: Epoch.next ─► Parcel
"""

from __future__ import annotations

import ctypes
import os
import pickle
import select
import signal
import socket
import sys
from functools import partial
from itertools import count
from typing import Any, NoReturn

from genlock._epoch import Epoch
from genlock._local import Local
from genlock._memory import ArraySpec, Block, Ring, block_size, carve
from genlock._shared import Segments
from genlock._threads import Channel, ChannelClosed, Runner
from genlock._wire import (
    ANY_EPOCH,
    Ask,
    BlockAt,
    CarriedError,
    CarriedFailure,
    CollatedAt,
    Parcel,
    Start,
    Wire,
)
from genlock._work import Progress, Work
from genlock.assembly import Collated

PR_SET_PDEATHSIG = 1


class Server:
    """Answers each request for a batch, from the running epoch."""

    def __init__(self, work: Work, wire: Wire) -> None:
        self.wire = wire
        self.segments = Segments()
        self.workers = Local(work, self.segments.allocate)
        self._extras = Ring(work.prefetch + 2, self.segments.allocate)
        self._lent: dict[int, Block] = {}
        self._leases = count()
        self._requests: Channel[None] = Channel(sys.maxsize)

    def take(self, ask: Ask) -> None:
        """Free what the parent has done with, and note that it wants one more."""
        self.workers.spans.follow(ask.traced)
        for lease in ask.free:
            self._lent.pop(lease, None)
        if ask.begin is not None:
            serial, epoch, first, gpu = ask.begin
            self._requests.close(discard=True)
            self._requests = Channel(sys.maxsize)
            running = self.workers.begin(epoch, first, gpu)
            Runner("send", partial(self._send_epoch, running, serial, self._requests))
        self._requests.put(None)

    def _send_epoch(self, epoch: Epoch, serial: int, requests: Channel[None]) -> None:
        number: int | None = -1
        while number is not None:
            requests.get()
            parcel = self._next(epoch, serial)
            number = parcel.number
            try:
                self._send(parcel)
            except OSError:
                return  # the parent is gone, and soon this process
            except Exception as error:  # what a transform returned cannot be pickled
                error.add_note("what a transform returns besides arrays must be picklable")
                self._send(self._failed(serial, error))
                return

    def _next(self, epoch: Epoch, serial: int) -> Parcel:
        """The next batch of an epoch, its end, or its error. Raises ChannelClosed if stopped."""
        try:
            finished = epoch.next()
            assert finished is not None
            collated = finished.collated
            placed = None if collated is None else self._placed(collated)
        except ChannelClosed:
            if epoch.stopped:
                raise
            return self._parcel(serial)
        except BaseException as error:
            return self._failed(serial, error)
        failures = list(map(CarriedFailure.of, finished.failures))
        gone = self.segments.take_gone()
        return self._parcel(
            serial, gone=gone, number=finished.number, collated=placed, failures=failures
        )

    def _failed(self, serial: int, error: BaseException) -> Parcel:
        return self._parcel(serial, error=CarriedError.of(error))

    def _parcel(self, serial: int, **what: Any) -> Parcel:
        return Parcel(serial, self.workers.progress(), spans=self.workers.spans.take(), **what)

    def _send(self, parcel: Parcel) -> None:
        blocks = parcel.collated.blocks if parcel.collated is not None else []
        unsent = self.segments.unsent([block.segment for block in blocks])
        with self.workers.spans.span("send"), unsent as (new, descriptors):
            self.wire.send((parcel, new), descriptors)

    def _placed(self, collated: Collated) -> CollatedAt:
        """Lend the memory of a batch to the parent, after what a transform made was put there."""
        specs = [ArraySpec(array.shape, array.dtype) for array in collated.extra.values()]
        blocks = [collated.block]
        if specs:
            memory = self._extras.lend(block_size(specs))
            for place, array in zip(carve(memory, specs), collated.extra.values(), strict=True):
                place[...] = array
            blocks.append(memory)
        return CollatedAt(
            windows=collated.windows,
            layout=collated.layout,
            extra=list(zip(collated.extra, specs, strict=True)),
            blocks=[self._lend(block) for block in blocks],
            lists=collated.lists,
            order=collated.order,
            finishes=collated.finishes,
            columns=collated.columns,
        )

    def _lend(self, block: Block) -> BlockAt:
        lease = next(self._leases)
        self._lent[lease] = block
        return BlockAt(lease, self.segments.number(block), block.nbytes)


def main() -> NoReturn:
    """Serve until the parent closes the socket or is gone."""
    wire, parent = Wire(socket.socket(fileno=int(sys.argv[1]))), int(sys.argv[2])
    try:
        server = Server(_begin(pickle.load(sys.stdin.buffer)), wire)
    except BaseException as error:
        wire.send((Parcel(ANY_EPOCH, Progress(), error=CarriedError.of(error)), []))
        _leave(1)
    waiting = select.poll()
    waiting.register(wire.socket, select.POLLIN)
    waiting.register(parent, select.POLLIN)
    try:
        while not any(descriptor == parent for descriptor, _ in waiting.poll()):
            while (received := wire.receive(wait=False)) is not None:
                server.take(received[0])
    except EOFError:
        pass
    _leave(0)


def _leave(status: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # whatever the threads are in: their files and memory end with the process


def _begin(start: Start) -> Work:
    if start.dies_with_thread:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    sys.path[:] = start.path
    os.environ.pop("PYTHONPATH", None)
    os.environ.update({"PYTHONPATH": start.python_path} if start.python_path is not None else {})
    work: Work = pickle.loads(start.work)
    return work


if __name__ == "__main__":
    main()
