"""Spans of work for a trace in Chrome's format, which Perfetto and chrome://tracing show.

Format: "Trace Event Format" (Google, 2016): complete events ("X") with ts and dur in µs, counters
("C"), and metadata ("M") that names processes and threads.
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


class Place(NamedTuple):
    """Who did something: a thread of a process."""

    pid: int
    tid: int


class _Event(NamedTuple):
    place: Place
    name: str
    began_s: float
    took_s: float
    value: int | None

    def as_dict(self) -> dict[str, Any]:
        counts = {"ph": "X"} if self.value is None else {"ph": "C", "args": {self.name: self.value}}
        times = {"ts": 1e6 * self.began_s, "dur": 1e6 * self.took_s}
        return {"name": self.name, **counts, **times, **self.place._asdict()}


class Spans(NamedTuple):
    """What a process did, on its way to another: events, and the names of their threads."""

    events: list[_Event]
    threads: dict[Place, str]


class SpanLog:
    """What was done when, on which thread, while it is on. Thread-safe.

    Off, a span costs one comparison. Bounded: the latest events are kept.
    """

    def __init__(self) -> None:
        self.on = False
        self._began_s = 0.0
        self._events: deque[_Event] = deque(maxlen=MOST_EVENTS)
        self._threads: dict[Place, str] = {}
        self._processes = {os.getpid(): "training"}

    def start(self) -> None:
        """Forget what there is and record from now on."""
        self._events.clear()
        self._threads.clear()
        self._began_s = time.perf_counter()
        self.on = True

    def follow(self, on: bool) -> None:
        """Record if another process does, from when it begins to until it stops."""
        if on and not self.on:
            self.start()
        self.on = on

    def take(self) -> Spans:
        """Hand over what there is, to be given to the log of another process."""
        events = [self._events.popleft() for _ in range(len(self._events))]
        return Spans(events, dict(self._threads) if events else {})

    def give(self, spans: Spans, process: str) -> None:
        """Add what another process of this machine did since this log was started.

        `time.perf_counter` is CLOCK_MONOTONIC on Linux, which all processes share.
        """
        if self.on and spans.events:
            self._events.extend(e for e in spans.events if e.began_s >= self._began_s)
            self._threads.update(spans.threads)
            self._processes.update({place.pid: process for place in spans.threads})

    def add(self, name: str, began_s: float, took_s: float, value: int | None = None) -> None:
        """Note a span of the calling thread, or a value; times of `time.perf_counter`."""
        if self.on:
            place = Place(os.getpid(), threading.get_ident())
            self._threads.setdefault(place, threading.current_thread().name)
            self._events.append(_Event(place, name, began_s, took_s, value))

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
        threads = dict(self._threads)
        pids = {place.pid for place in threads}
        named = [_named("process_name", Place(pid, 0), self._processes[pid]) for pid in pids]
        named += [_named("thread_name", place, name) for place, name in threads.items()]
        events = named + [event.as_dict() for event in list(self._events)]
        Path(path).write_text(json.dumps({"traceEvents": events}), encoding="utf-8")


def _named(what: str, place: Place, name: str) -> dict[str, Any]:
    label = {"name": what, "ph": "M", "ts": 0, "dur": 0, "args": {"name": name}}
    return {**label, **place._asdict()}


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
