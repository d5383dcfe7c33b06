"""Things that cost something to open, kept for the next user: exclusive or shared."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    def close(self) -> None: ...


V = TypeVar("V", bound=Closable)
Distance = Callable[[V], int | None]


class ExclusivePool(Generic[V]):
    """Lends each thing to one user at a time; opens another when all of a key are in use.

    capacity: how many idle things are kept; the least recently used are closed. A thing whose
    user failed is closed instead of kept. Thread-safe. After a fork the child starts with none
    and leaves the parent's alone.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, tuple[Hashable, V]] = OrderedDict()
        self._lent = 0
        self._closed = False

    @contextmanager
    def lease(
        self,
        key: Hashable,
        make: Callable[[], V],
        distance: Distance[V] | None = None,
        spread: bool = False,
    ) -> Iterator[V]:
        """Lend the thing of this key that was used last, or make one.

        distance: how far a thing is from what it is wanted for, None if it may as well be another.
        The nearest is lent; without a near one, that used longest ago, unless they are to spread,
        each to stay where it is: then one is made while there is room.
        """
        if os.getpid() != self._process:
            self._reset()
        thing = self._take(key, distance, spread)
        try:
            if thing is None:
                thing = make()
            yield thing
        except BaseException:
            with self._lock:
                self._lent -= 1
            if thing is not None:
                thing.close()
            raise
        self._keep(key, thing)

    def _take(self, key: Hashable, distance: Distance[V] | None, spread: bool) -> V | None:
        with self._lock:
            idle = [token for token, (other, _) in self._idle.items() if other == key]
            chosen = idle[-1:] if distance is None else self._nearest(idle, distance, spread)
            self._lent += 1
            return self._idle.pop(chosen[0])[1] if chosen else None

    def _nearest(self, idle: list[int], distance: Distance[V], spread: bool) -> list[int]:
        measured = ((distance(self._idle[token][1]), token) for token in idle)
        near = [(far, token) for far, token in measured if far is not None]
        if near:
            return [min(near)[1]]
        return [] if spread and len(self._idle) + self._lent < self.capacity else idle[:1]

    def _keep(self, key: Hashable, thing: V) -> None:
        with self._lock:
            self._lent -= 1
            self._idle[id(thing)] = (key, thing)
            excess = len(self._idle) - (0 if self._closed else self.capacity)
            surplus = [self._idle.popitem(last=False)[1][1] for _ in range(excess)]
        for old in surplus:
            old.close()

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._closed = True
            idle = [thing for _, thing in self._idle.values()]
            self._idle.clear()
        for thing in idle:
            thing.close()


class SharedPool(Generic[V]):
    """Lends one thread-safe thing per key to any number of users at once.

    capacity: how many are kept open while nobody uses them. Two users who ask for the same key at
    once wait for one opening. A failure to open is not remembered. Thread-safe, and after a fork
    like `ExclusivePool`.
    """

    def __init__(self, capacity: int, make: Callable[[str], V]) -> None:
        self.capacity = capacity
        self._make = make
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: OrderedDict[str, V] = OrderedDict()
        self._users: dict[str, int] = {}
        self._closed = False

    @contextmanager
    def lease(self, key: str) -> Iterator[V]:
        """Lend the thing of this key, opening it if needed."""
        thing = self.acquire(key)
        try:
            yield thing
        finally:
            self.release(key)

    def acquire(self, key: str, users: int = 1) -> V:
        """Take part in using the thing of this key until `release`, once for each user."""
        if os.getpid() != self._process:
            self._reset()
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
            self._users[key] = self._users.get(key, 0) + users
        try:
            with opening:
                with self._lock:
                    if key in self._open:
                        self._open.move_to_end(key)
                        return self._open[key]
                thing = self._make(key)
                with self._lock:
                    self._open[key] = thing
                return thing
        except BaseException:
            self.release(key, users)
            raise

    def release(self, key: str, users: int = 1) -> None:
        with self._lock:
            self._users[key] -= users
            if self._users[key]:
                return
            del self._users[key]
            surplus = self._surplus()
        for old in surplus:
            old.close()

    def _surplus(self) -> list[V]:
        unused = [key for key in self._open if key not in self._users]
        excess = len(self._open) - (0 if self._closed else self.capacity)
        for key in unused[: max(0, excess)]:
            self._opening.pop(key, None)
        return [self._open.pop(key) for key in unused[: max(0, excess)]]

    def close(self) -> None:
        """Close what nobody uses; the rest closes when its last user is done."""
        if os.getpid() != self._process:
            return
        with self._lock:
            self._closed = True
            surplus = self._surplus()
        for old in surplus:
            old.close()
