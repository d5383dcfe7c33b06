"""Messages between a loader and its child process: pickled, with descriptors beside them.

    parent ─ Ask ─► child        child ─ (Parcel, numbers and descriptors of new segments) ─► parent

Arrays are never in a message: a parcel says where in shared memory they lie.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import threading
import traceback
from dataclasses import dataclass, field
from typing import Any

from genlock._memory import ArraySpec
from genlock._trace import Spans
from genlock._work import Failure, Progress
from genlock.color import Finish
from genlock.errors import GenlockError
from genlock.windows import Window

HEADER = struct.Struct("<QI")
MOST_DESCRIPTORS = 8
PIECE = 1 << 16
"""Bytes asked for at once: most messages are shorter; a long buffer is mapped anew each time."""
ANY_EPOCH = -1
"""Serial of a parcel that concerns every epoch: the child could not start."""


class Wire:
    """Sends and receives whole messages over a Unix stream socket.

    `send` is thread-safe; `receive` belongs to one thread at a time.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._sending = threading.Lock()
        self._bytes = bytearray()
        self._descriptors: list[int] = []

    def send(self, message: Any, descriptors: list[int] | None = None) -> None:
        """Send a message. Raises OSError if the other side is gone."""
        data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        given = descriptors or []
        with self._sending:
            socket.send_fds(self.socket, [HEADER.pack(len(data), len(given))], given)
            self.socket.sendall(data)

    def receive(self, wait: bool = True) -> tuple[Any, list[int]] | None:
        """The next message and its descriptors, which the caller owns.

        None if `wait` is False and it has not arrived as a whole. Raises EOFError if the other
        side is gone. An interrupt in between loses nothing.
        """
        while (message := self._parsed()) is None:
            flags = socket.MSG_CMSG_CLOEXEC | (0 if wait else socket.MSG_DONTWAIT)
            try:
                data, fds, _, _ = socket.recv_fds(self.socket, PIECE, MOST_DESCRIPTORS, flags)
            except BlockingIOError:
                return None
            except OSError as error:
                raise EOFError from error
            if not data:
                raise EOFError
            self._bytes += data
            self._descriptors += fds
        return message

    def close(self) -> None:
        """Close the socket, and descriptors that arrived for messages not yet taken."""
        self.socket.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors = []

    def _parsed(self) -> tuple[Any, list[int]] | None:
        if len(self._bytes) < HEADER.size:
            return None
        length, count = HEADER.unpack_from(self._bytes)
        end = HEADER.size + length
        if len(self._bytes) < end:
            return None
        message = pickle.loads(memoryview(self._bytes)[HEADER.size : end])
        del self._bytes[:end]
        mine, self._descriptors = self._descriptors[:count], self._descriptors[count:]
        return message, mine


@dataclass(frozen=True)
class Start:
    """What a child is given: where its parent finds modules, and its work, pickled.

    path: sys.path. python_path: the environment's PYTHONPATH. dies_with_thread: the child was
    started by its parent's main thread, so that the kernel may kill it when that thread ends.
    """

    path: list[str]
    python_path: str | None
    work: bytes
    dies_with_thread: bool


@dataclass(frozen=True)
class Ask:
    """What the parent wants: one more batch, of the running epoch or of another.

    begin: (serial, epoch, first batch, gpu). free: leases whose batches the user has let go.
    traced: whether a trace is being recorded.
    """

    begin: tuple[int, int, int, int | None] | None
    free: list[int]
    traced: bool = False


@dataclass(frozen=True)
class BlockAt:
    """A block at the beginning of a segment.

    lease: to be named in `Ask.free` when nobody reads it any more.
    """

    lease: int
    segment: int
    nbytes: int


@dataclass(frozen=True)
class CollatedAt:
    """A `Collated` without its arrays.

    blocks: the first holds the arrays of `layout`, the second, if any, those of `extra`.
    """

    windows: list[Window]
    layout: list[tuple[str, str, ArraySpec]]
    extra: list[tuple[str, ArraySpec]]
    blocks: list[BlockAt]
    lists: dict[str, list[Any]]
    order: list[str]
    finishes: dict[str, Finish]
    columns: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class CarriedError:
    """An error on its way to another process: its type, its place, and its traceback as text."""

    pickled: bytes | None
    summary: str
    notes: list[str]

    @classmethod
    def of(cls, error: BaseException) -> CarriedError:
        """Take an error apart; one that does not survive pickling keeps its text."""
        story = "".join(traceback.format_exception(error)).rstrip()
        notes = [*getattr(error, "__notes__", []), f"In the loader's process:\n{story}"]
        try:
            pickled = pickle.dumps(error)
            pickle.loads(pickled)
        except Exception:
            pickled = None
        return cls(pickled, f"{type(error).__name__}: {error}", notes)

    def restore(self) -> BaseException:
        """The error again; a GenlockError with its text if it cannot be had."""
        try:
            error = pickle.loads(self.pickled or b"")
        except Exception:
            error = GenlockError(f"{self.summary} (of a type that cannot leave its process)")
        error.__notes__ = self.notes
        restored: BaseException = error
        return restored


@dataclass(frozen=True)
class CarriedFailure:
    """A `Failure` on its way."""

    window: Window
    field: str | None
    error: CarriedError

    @classmethod
    def of(cls, failure: Failure) -> CarriedFailure:
        return cls(failure.window, failure.field, CarriedError.of(failure.error))

    def restore(self) -> Failure:
        error = self.error.restore()
        assert isinstance(error, Exception)
        return Failure(self.window, self.field, error)


@dataclass(frozen=True)
class Parcel:
    """One batch, or the end of an epoch (number None), or its error.

    serial: of the epoch it belongs to. gone: segments that will not be used again. spans: what was
    done since the parcel before, if a trace is being recorded.
    """

    serial: int
    progress: Progress
    gone: list[int] = field(default_factory=list)
    number: int | None = None
    collated: CollatedAt | None = None
    failures: list[CarriedFailure] = field(default_factory=list)
    error: CarriedError | None = None
    spans: Spans = field(default_factory=lambda: Spans([], {}))
