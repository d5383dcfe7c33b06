"""`Recent`: values that cost something to make, the ones used last, within a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Budget:
    """Keeps the values last used, up to `limit` bytes, and the last one whatever its size.

    Shared by any number of `Recent`, each with keys of its own. Thread-safe.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """The value of a key, which counts as used now; None if it is not kept."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of some bytes; those used longest ago make room."""
        with self._lock:
            _, before = self._values.pop(key, (None, 0))
            self._values[key] = value, size
            self.bytes += size - before
            while self.bytes > self.limit and len(self._values) > 1:
                self.bytes -= self._values.popitem(last=False)[1][1]

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self.bytes = 0


class Recent(Generic[Value]):
    """Values of one kind in a budget. scope: sets their keys apart from all others in it."""

    def __init__(self, budget: Budget, scope: Hashable, size: Callable[[Value], int]) -> None:
        self._budget = budget
        self._scope = scope
        self._size = size

    def get(self, key: Hashable) -> Value | None:
        found: Value | None = self._budget.get((self._scope, key))
        return found

    def put(self, key: Hashable, value: Value) -> None:
        self._budget.put((self._scope, key), value, self._size(value))
