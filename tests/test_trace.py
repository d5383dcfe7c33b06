"""A trace holds what the loader did: valid events, each stage, at the times it happened."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import genlock as gl
from genlock._trace import MOST_EVENTS, SpanLog, Tracing

FIELDS = {
    "rgb": gl.Video("camera-rgb", rate=5, size=(32, 32)),
    "imu": gl.Sensor("imu", rate=100),
}


def events_of(path: Path) -> list[dict[str, Any]]:
    events = json.loads(path.read_text())["traceEvents"]
    for event in events:
        assert event["ph"] in {"X", "C", "M"}
        assert event["ts"] >= 0
        assert event["dur"] >= 0
        assert {"name", "pid", "tid"} <= event.keys()
    return list(events)


def loader_of(sample: Path, process: bool = False) -> gl.Loader:
    windows = gl.Windows([sample], duration=1.0, stride=1.0)
    return gl.Loader(windows, FIELDS, batch_size=2, threads=1, process=process)


def test_a_trace_shows_stages_queue_copies_and_waiting(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    began = time.perf_counter()
    with loader_of(sample) as loader:
        loader.trace(path)
        batches = sum(1 for _ in loader)
    took = time.perf_counter() - began  # closed: every thread has ended
    stats = loader.stats()
    events = events_of(path)
    spans = [event for event in events if event["ph"] == "X"]
    names = [event["name"] for event in spans]
    assert names.count("plan") == batches
    assert names.count("video") == stats.windows
    assert names.count("table") == batches  # light jobs of a batch are one task
    assert names.count("copy") == batches
    assert names.count("wait for a batch") == batches + 1  # and the end
    counters = [event["args"] for event in events if event["ph"] == "C"]
    assert counters
    assert all(0 <= counts["batches in the queue"] <= 2 for counts in counters)
    for event in spans:
        assert began <= event["ts"] / 1e6 <= (event["ts"] + event["dur"]) / 1e6 <= began + took
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {event["tid"] for event in spans} == set(threads)
    on = {event["name"]: threads[event["tid"]] for event in spans}
    assert on["video"] == "genlock-video-0"
    assert on["plan"] == "genlock-plan"
    busy = sum(event["dur"] for event in spans if event["name"] == "video") / 1e6
    stage = next(stage for stage in stats.stages if stage.name == "video")
    assert abs(busy - stage.busy_s) < 1e-6


@pytest.mark.skipif(sys.platform != "linux", reason="process=True needs Linux")
def test_the_child_process_is_in_the_same_trace(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with loader_of(sample, process=True) as loader:
        for _ in loader:  # untraced: none of it may show
            pass
        before, planned = time.perf_counter(), items_of(loader, "video")
        with loader.trace(path):
            batches = sum(1 for _ in loader)
        after, done = time.perf_counter(), items_of(loader, "video")
        child = loader._workers.pid  # type: ignore[attr-defined]
        written = path.read_bytes()
        for _ in loader:
            pass
    assert path.read_bytes() == written
    events = events_of(path)
    spans = [event for event in events if event["ph"] == "X"]
    there = [event["name"] for event in spans if event["pid"] == child]
    here = [event["name"] for event in spans if event["pid"] == os.getpid()]
    assert len(there) + len(here) == len(spans)
    assert there.count("plan") == batches
    assert {"table", "send"} <= set(there)
    frames = 5 * there.count("video")  # a task is noted when it has ended, which may be too late
    assert done - planned - 5 <= frames <= done - planned
    assert here.count("copy") == batches and "video" not in here
    for event in spans:  # one clock
        assert before <= event["ts"] / 1e6 <= (event["ts"] + event["dur"]) / 1e6 <= after
    named = {(e["name"], e["pid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
    assert named["process_name", child] == "loader"
    assert named["process_name", os.getpid()] == "training"
    counted = [e for e in events if e["ph"] == "C"]
    assert {e["pid"] for e in counted} == {child}


def items_of(loader: gl.Loader, stage: str) -> int:
    return next(s.items for s in loader.stats().stages if s.name == stage)


def test_leaving_the_block_writes_the_trace_and_ends_it(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with loader_of(sample) as loader:
        with loader.trace(path):
            for _ in loader:
                pass
        written = path.read_bytes()
        for _ in loader:
            pass
    assert path.read_bytes() == written
    assert {"plan", "copy"} <= {event["name"] for event in events_of(path)}


def test_another_trace_ends_the_one_before(sample: Path, tmp_path: Path) -> None:
    with loader_of(sample) as loader:
        loader.trace(tmp_path / "first.json")
        for _ in loader:
            pass
        with loader.trace(tmp_path / "second.json"):
            pass
    assert len(events_of(tmp_path / "first.json")) > len(events_of(tmp_path / "second.json"))


def test_nothing_is_recorded_while_off(tmp_path: Path) -> None:
    spans = SpanLog()
    with spans.span("early"):
        pass
    with Tracing(spans, tmp_path / "out.json"), spans.span("within"):
        spans.count("things", 3)
    spans.count("late", 1)
    names = [(e["name"], e["ph"]) for e in events_of(tmp_path / "out.json") if e["ph"] != "M"]
    assert names == [("things", "C"), ("within", "X")]


def test_memory_is_bounded_and_the_latest_stay(tmp_path: Path) -> None:
    spans = SpanLog()
    with Tracing(spans, tmp_path / "out.json"):
        for i in range(MOST_EVENTS + 10):
            spans.add("work", float(i), 1.0)
    events = [event for event in events_of(tmp_path / "out.json") if event["ph"] == "X"]
    assert len(events) == MOST_EVENTS
    assert (events[0]["ts"], events[-1]["ts"]) == (10e6, (MOST_EVENTS + 9) * 1e6)
