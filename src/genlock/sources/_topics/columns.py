"""Columns that are made of all messages of a topic, when they are first asked for."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from genlock.interfaces import CodecSpec

Arrays = Mapping[str, NDArray[Any]]


class Columnar(ABC):
    """Columns of a stream, read whole when first asked for. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arrays: Arrays | None = None

    def arrays(self) -> Arrays:
        """Read-only arrays [N] or [N, k] by column. Raises DecodeError."""
        with self._lock:
            if self._arrays is None:
                self._arrays = self.read()
            return self._arrays

    @abstractmethod
    def read(self) -> Arrays:
        """Read them."""


class TableUnits:
    """The one unit of a table: all its columns. Thread-safe."""

    def __init__(self, table: Columnar, codec: str) -> None:
        self._table = table
        self.spec = CodecSpec("columns", codec)

    def unit(self, index: int) -> Arrays:
        return self._table.arrays()

    def units(self, first: int) -> Iterator[tuple[int, Arrays]]:
        yield 0, self.unit(0)

    def close(self) -> None:
        """There is nothing to release: the source holds the columns."""
