"""`Remote`: the workers of a loader in a child process of their own, so that Python's lock, and the
memory that decoders touch, are not the training loop's.

The child is a fresh interpreter, `python -m genlock._child`: nothing is forked and `__main__` is
not imported, so notebooks, scripts from stdin and scripts without a guard work. Batches arrive in
shared memory (`_shared.py`), described by messages on a socket (`_wire.py`). Nothing runs in this
process but the consumer's thread, which waits on that socket: when the child ends, whyever, it
wakes at once.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

from genlock._memory import Block, carve, lease
from genlock._shared import map_shared
from genlock._threads import ChannelClosed
from genlock._trace import SpanLog
from genlock._wire import ANY_EPOCH, Ask, BlockAt, CollatedAt, Parcel, Start, Wire
from genlock._work import Adopt, Finished, Progress, Work
from genlock.assembly import Collated
from genlock.errors import FieldError, GenlockError

CLOSE_SECONDS = 1.0


class Remote:
    """Workers in a child process; begins to start it when made.

    Raises FieldError if the work cannot be sent to another process: a transform that cannot be
    imported there; GenlockError where there is no Linux.
    """

    adopt: Adopt

    def __init__(self, work: Work, spans: SpanLog | None = None) -> None:
        if sys.platform != "linux":
            raise GenlockError("process=True needs Linux: leave it out, and threads do the same")
        self.closed = False
        self._spans = spans or SpanLog()
        self._owner = os.getpid()
        self._progress = Progress()
        self._serial = 0
        self._memory: dict[int, Block] = {}
        self._freed: deque[int] = deque()
        self._receiving = threading.RLock()
        self._child, self._wire = _start(work)

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._child.pid

    def stock(self, size: int, allocate: Callable[[int], Block]) -> None:
        """Nothing: the child's memory is shared, and made fit for copies by `adopt`."""

    def begin(self, epoch: int, first: int, gpu: int | None = None) -> RemoteEpoch:
        """Start an epoch at a batch; the one before it stops. gpu: see `Workers.begin`."""
        self._serial += 1
        self.ask((self._serial, epoch, first, gpu))
        return RemoteEpoch(self, self._serial)

    def ask(self, begin: tuple[int, int, int, int | None] | None = None) -> None:
        """Ask for one more batch, and give back the memory of those that were let go."""
        freed = [self._freed.popleft() for _ in range(len(self._freed))]
        with suppress(OSError):  # the child is gone: `receive` says why
            self._wire.send(Ask(begin, freed, self._spans.on))

    def receive(self, serial: int, wait: bool) -> Parcel | None:
        """The next parcel of an epoch; what came from epochs before it is dropped.

        Raises GenlockError if the child is gone, ChannelClosed if this was closed.
        """
        with self._receiving:
            while not self.closed:
                try:
                    received = self._wire.receive(wait)
                except EOFError:
                    break
                if received is None:
                    return None
                parcel: Parcel
                (parcel, new), descriptors = received
                self._update(parcel, new, descriptors)
                if parcel.serial in (serial, ANY_EPOCH):
                    return parcel
                blocks = parcel.collated.blocks if parcel.collated is not None else []
                self._freed.extend(block.lease for block in blocks)
        if self.closed:
            raise ChannelClosed
        raise GenlockError(f"the loader's process {_how_it_ended(self._child)}")

    def _update(self, parcel: Parcel, new: list[int], descriptors: list[int]) -> None:
        self._progress = parcel.progress
        self._spans.give(parcel.spans, "loader")
        for number, descriptor in zip(new, descriptors, strict=True):
            try:
                self._memory[number] = _adopted(descriptor, number, self.adopt)
            finally:
                os.close(descriptor)
        for number in parcel.gone:
            self._memory.pop(number, None)

    def collated(self, at: CollatedAt) -> Collated:
        """A batch over the shared memory it lies in, which the child gets back in the end."""
        blocks = [self._lease(block) for block in at.blocks]
        names, specs = [name for name, _ in at.extra], [spec for _, spec in at.extra]
        extra = dict(zip(names, carve(blocks[-1], specs), strict=True))
        rest = (at.lists, at.order, at.finishes, at.columns)
        return Collated(at.windows, blocks[0], at.layout, extra, *rest)

    def _lease(self, at: BlockAt) -> Block:
        return lease(self._memory[at.segment], self._freed.append, at.lease)[: at.nbytes]

    def progress(self) -> Progress:
        """What the child had done when it sent the last batch."""
        return self._progress

    def close(self) -> None:
        """End the child and wait for it. Safe to call twice, from anywhere, and after a fork."""
        if self.closed or os.getpid() != self._owner:
            return
        self.closed = True
        with suppress(OSError):  # it is gone already
            self._wire.socket.shutdown(socket.SHUT_RDWR)  # wakes the child, and who waits for it
        try:
            self._child.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        with self._receiving:
            self._wire.close()
            self._memory.clear()


class RemoteEpoch:
    """The batches of an epoch that a child makes, in order."""

    def __init__(self, remote: Remote, serial: int) -> None:
        self._remote = remote
        self._serial = serial
        self._stopped = False

    @property
    def stopped(self) -> bool:
        return self._stopped or self._remote.closed

    def next(self, wait: bool = True) -> Finished | None:
        """The next batch in order; None if it has not arrived and `wait` is False."""
        if self.stopped:
            raise ChannelClosed
        parcel = self._remote.receive(self._serial, wait)
        if parcel is None:
            return None
        if parcel.error is not None:
            raise parcel.error.restore()
        if parcel.number is None:
            raise ChannelClosed
        self._remote.ask()
        failures = [failure.restore() for failure in parcel.failures]
        at = parcel.collated
        collated = None if at is None else self._remote.collated(at)
        return Finished(parcel.number, failures, collated)

    def stop(self) -> None:
        """Take no more. The child makes no more than it has room for, until the next epoch."""
        self._stopped = True


def _start(work: Work) -> tuple[subprocess.Popen[bytes], Wire]:
    """Start a child, with its work on standard input."""
    package = str(Path(__file__).resolve().parents[1])
    python_path = os.environ.get("PYTHONPATH")
    main_thread = threading.current_thread() is threading.main_thread()
    start = Start(list(sys.path), python_path, _pickled(work), main_thread)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    given = os.memfd_create("genlock-start")
    this_process = os.pidfd_open(os.getpid())
    try:
        with os.fdopen(os.dup(given), "wb") as file:
            pickle.dump(start, file)
        os.lseek(given, 0, os.SEEK_SET)
        passed = (theirs.fileno(), this_process)
        options = [f"-W{option}" for option in sys.warnoptions]
        child = subprocess.Popen(
            [sys.executable, "-P", *options, "-m", "genlock._child", *map(str, passed)],
            stdin=given,
            pass_fds=passed,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [package, python_path]))},
            process_group=0,  # a terminal's Ctrl-C is for the parent, which ends the child
        )
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        os.close(given)
        os.close(this_process)
    return child, Wire(ours)


class _Pickler(pickle.Pickler):
    """Refuses what only this process's `__main__` knows."""

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, FunctionType | type) and thing.__module__ == "__main__":
            raise pickle.PicklingError(f"{thing.__qualname__} is defined in __main__")
        return NotImplemented


def _pickled(work: Work) -> bytes:
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(work)
    except Exception as error:
        raise FieldError(
            f"process=True: {error}. Another process must be able to import the transform, so "
            "define it at the top level of a module (not in the script that is run, a notebook, "
            "or a function), and open recordings by path"
        ) from error
    return buffer.getvalue()


def _adopted(descriptor: int, number: int, adopt: Adopt) -> Block:
    undo: list[Callable[[], object]] = []
    size = os.fstat(descriptor).st_size
    block = map_shared(descriptor, size, partial(_undo, undo), number)
    undo.append(adopt(block))
    return block


def _undo(undo: list[Callable[[], object]], *_: int) -> None:
    for step in undo:
        step()


def _how_it_ended(child: subprocess.Popen[bytes]) -> str:
    try:
        status = child.wait(CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        return "has closed its socket"
    if status < 0:
        hint = ", as happens when memory runs out" if status == -9 else ""
        return f"was killed by signal {-status}{hint}"
    return f"ended with status {status}: see what it wrote to stderr"
