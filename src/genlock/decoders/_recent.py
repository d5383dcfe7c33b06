"""`Recent`: the last few values that were made, within a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Keeps the values last used, up to `limit` bytes, and the last one whatever its size."""

    def __init__(self, limit: int, size: Callable[[Value], int]) -> None:
        self._limit = limit
        self._size = size
        self._held = 0
        self._values: OrderedDict[Hashable, Value] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        self._values[key] = value
        self._held += self._size(value)
        while self._held > self._limit and len(self._values) > 1:
            self._held -= self._size(self._values.popitem(last=False)[1])
