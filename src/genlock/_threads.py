"""Threads: the only file that starts any.

`Channel` is a bounded queue that can be closed from either end; `TaskPool` runs the tasks of a
`TaskQueue` on named worker threads; `Runner` is one thread with a loop of its own. All
threads are daemons, hold no reference to what owns them, and are stopped and joined by `close`.
A native call that does not return is abandoned with a warning that shows where it stands.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from genlock._meter import Meter
from genlock._trace import SpanLog

T = TypeVar("T")
Task = Callable[[], None]

JOIN_SECONDS = 1.5
"""How long `close` waits for threads in all, so that closing a loader takes less than 2 s."""


class ChannelClosed(Exception):
    """The channel was closed: nothing more goes in, or nothing more will come out."""


class Channel(Generic[T]):
    """A first-in first-out queue of bounded length.

    `close` lets what is inside come out first; `close(discard=True)` empties it. Both wake every
    thread that waits. Thread-safe and reentrant, since a garbage collection may close it from
    within any of its own methods.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._gets = 0
        self._found = 0

    def put(self, item: T) -> None:
        """Wait for room and append. Raises ChannelClosed."""
        with self._changed:
            while len(self._items) >= self.capacity and not self._closed:
                self._changed.wait()
            if self._closed:
                raise ChannelClosed
            self._items.append(item)
            self._changed.notify_all()

    def get(self) -> T:
        """Wait for an item and take it. Raises ChannelClosed once closed and empty."""
        with self._changed:
            self._gets += 1
            self._found += len(self._items)
            while not self._items and not self._closed:
                self._changed.wait()
            return self._take()

    def poll(self, ready: Callable[[T], bool]) -> T | None:
        """Take the first item without waiting, if there is one and it is ready."""
        with self._changed:
            return self._take() if self._items and ready(self._items[0]) else None

    def _take(self) -> T:
        if not self._items:
            raise ChannelClosed
        item = self._items.popleft()
        self._changed.notify_all()
        return item

    def close(self, discard: bool = False) -> None:
        with self._changed:
            self._closed = True
            if discard:
                self._items.clear()
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def mean_occupancy(self) -> float:
        """Mean number of items that a `get` found waiting."""
        return self._found / self._gets if self._gets else 0.0


class TaskQueue:
    """Tasks in the order they came; of those of one walk, one runs at a time. Thread-safe.

    A walk names tasks that go on where the one before ended, so that each but the first is cheap
    once the others are done. Reentrant, as `Channel` is.
    """

    def __init__(self) -> None:
        self._tasks: deque[tuple[Task, Hashable]] = deque()
        self._walks: set[Hashable] = set()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, task: Task, walk: Hashable = None) -> None:
        """Append a task, of no walk with None. Raises ChannelClosed."""
        with self._changed:
            if self._closed:
                raise ChannelClosed
            self._tasks.append((task, walk))
            self._changed.notify()

    def take(self) -> tuple[Task, Hashable]:
        """Wait for the first task whose walk nobody is on, and go on it until `leave`.

        Raises ChannelClosed.
        """
        with self._changed:
            while True:
                if self._closed:
                    self._tasks.clear()
                    raise ChannelClosed
                for at, (task, walk) in enumerate(self._tasks):
                    if walk not in self._walks:
                        del self._tasks[at]
                        if walk is not None:
                            self._walks.add(walk)
                        return task, walk
                self._changed.wait()

    def leave(self, walk: Hashable) -> None:
        """End a task of a walk: its next one may run."""
        if walk is not None:
            with self._changed:
                self._walks.discard(walk)
                self._changed.notify()

    def close(self) -> None:
        """Drop what waits, and end every `take`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class TaskPool:
    """Worker threads that run tasks in the order of a `TaskQueue`.

    A task is a callable without arguments that keeps its own failures; one that lets an exception
    out is a bug, reported on stderr as for any thread. submit never blocks: whoever submits bounds
    what is outstanding.
    """

    def __init__(self, name: str, threads: int, spans: SpanLog | None = None) -> None:
        self.name = name
        self.threads = threads
        self.meter = Meter(name, spans or SpanLog())
        self._tasks = TaskQueue()
        self._workers = [
            _start(f"genlock-{name}-{i}", _work, self._tasks, self.meter) for i in range(threads)
        ]

    def submit(self, task: Task, walk: Hashable = None) -> None:
        """Queue a task; walk: see `TaskQueue`. Raises ChannelClosed after `stop`."""
        self._tasks.put(task, walk)

    def stop(self) -> Sequence[threading.Thread]:
        """Drop what is queued and tell the workers to end; returns them, to be joined."""
        self._tasks.close()
        return self._workers


class Runner:
    """One thread that runs a function until it returns or its channel is closed."""

    def __init__(self, name: str, run: Callable[[], None]) -> None:
        self._thread = _start(f"genlock-{name}", _until_closed, run)

    def stop(self) -> Sequence[threading.Thread]:
        """The thread, to be joined; whoever made `run` closes what it waits on."""
        return [self._thread]


def join(threads: Sequence[threading.Thread], seconds: float = JOIN_SECONDS) -> None:
    """Wait for threads to end; warn of those that do not, with their stacks, and leave them."""
    deadline = time.monotonic() + seconds
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))
    for thread in threads:
        if thread.is_alive() and thread is not threading.current_thread():
            frame = sys._current_frames().get(thread.ident or 0)
            stack = "".join(traceback.format_stack(frame)[-4:]) if frame else ""
            message = f"{thread.name} is inside a call that does not return; it is left behind"
            warnings.warn(f"{message}:\n{stack}", ResourceWarning, stacklevel=2)


def on_own_thread() -> bool:
    """Whether the caller runs on a thread that was started here."""
    return isinstance(threading.current_thread(), _Thread)


class _Thread(threading.Thread):
    """A daemon thread of ours."""


def _start(name: str, target: Callable[..., None], *args: object) -> threading.Thread:
    thread = _Thread(target=target, args=args, name=name, daemon=True)
    thread.start()
    return thread


def _work(tasks: TaskQueue, meter: Meter) -> None:
    while True:
        try:
            task, walk = tasks.take()
        except ChannelClosed:
            return
        try:
            with meter.measure():
                task()
        finally:
            tasks.leave(walk)
        del task  # a waiting worker must not keep the last task's arrays alive


def _until_closed(run: Callable[[], None]) -> None:
    try:
        run()
    except ChannelClosed:
        return
