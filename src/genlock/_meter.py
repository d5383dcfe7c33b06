"""`Meter`: what one stage has done, for statistics and traces."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from genlock._trace import SpanLog


class Meter:
    """Counts of one stage: busy seconds, CPU seconds, items, bytes. Thread-safe.

    spans: where its work is noted as well while a trace is recorded.
    """

    def __init__(self, name: str, spans: SpanLog) -> None:
        self._name = name
        self._spans = spans
        self._lock = threading.Lock()
        self.busy_s = 0.0
        self.cpu_s = 0.0
        self.items = 0
        self.bytes = 0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Time a block on the calling thread."""
        began, cpu = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            wall, cpu = time.perf_counter() - began, time.thread_time() - cpu
            if self._spans.on:
                self._spans.add(self._name, began, wall)
            with self._lock:
                self.busy_s += wall
                self.cpu_s += cpu

    def count(self, items: int = 0, bytes: int = 0) -> None:
        with self._lock:
            self.items += items
            self.bytes += bytes
