"""Spans of work for a trace in Chrome's format, which Perfetto and chrome://tracing show.

Format: "Trace Event Format" (Google, 2016): complete events ("X") with ts and dur in µs, counters
("C"), and metadata ("M") that names the threads.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

MOST_EVENTS = 200_000
"""Kept, of the latest: some 25 MB."""


class _Event(NamedTuple):
    thread: int
    name: str
    began_s: float
    took_s: float
    value: int | None

    def as_dict(self, pid: int) -> dict[str, Any]:
        counts = {"ph": "X"} if self.value is None else {"ph": "C", "args": {self.name: self.value}}
        times = {"ts": 1e6 * self.began_s, "dur": 1e6 * self.took_s}
        return {"name": self.name, **counts, **times, "pid": pid, "tid": self.thread}


class SpanLog:
    """What was done when, on which thread, while it is on. Thread-safe.

    Off, a span costs one comparison. Bounded: the latest events are kept.
    """

    def __init__(self) -> None:
        self.on = False
        self._events: deque[_Event] = deque(maxlen=MOST_EVENTS)
        self._threads: dict[int, str] = {}

    def start(self) -> None:
        """Forget what there is and record from now on."""
        self._events.clear()
        self._threads.clear()
        self.on = True

    def add(self, name: str, began_s: float, took_s: float, value: int | None = None) -> None:
        """Note a span of the calling thread, or a value; times of `time.perf_counter`."""
        if self.on:
            thread = threading.get_ident()
            self._threads.setdefault(thread, threading.current_thread().name)
            self._events.append(_Event(thread, name, began_s, took_s, value))

    def count(self, name: str, value: int) -> None:
        """Note how many there are now, such as batches in a queue."""
        if self.on:
            self.add(name, time.perf_counter(), 0.0, value)

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Note what a block takes on the calling thread."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(name, began, time.perf_counter() - began)

    def write(self, path: str | Path) -> None:
        """Write what there is as JSON."""
        pid = os.getpid()
        threads = dict(self._threads)
        named: list[dict[str, Any]] = [
            {
                "name": "thread_name",
                "ph": "M",
                "ts": 0,
                "dur": 0,
                "pid": pid,
                "tid": thread,
                "args": {"name": name},
            }
            for thread, name in threads.items()
        ]
        events = named + [event.as_dict(pid) for event in list(self._events)]
        Path(path).write_text(json.dumps({"traceEvents": events}), encoding="utf-8")


class Tracing:
    """A trace that is being recorded; `stop`, or the end of a `with` block, writes it."""

    def __init__(self, spans: SpanLog, path: str | Path) -> None:
        self.path = Path(path)
        self._spans = spans
        spans.start()

    def stop(self) -> None:
        """Stop recording and write the file; safe to call twice."""
        if self._spans.on:
            self._spans.on = False
            self._spans.write(self.path)

    def __enter__(self) -> Tracing:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
