"""However a loader ends, nothing of it is left."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl
from genlock._threads import Runner
from loading import ENDS, FIELDS, Consumer, genlock_threads, windows


@pytest.mark.parametrize("end", ENDS)
def test_nothing_is_left_behind(sample: Path, end: Callable[[gl.Loader], None]) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=2) as first:
        next(iter(first))  # Arrow keeps a pipe from the first CSV on
    del first
    gc.collect()
    before, files = genlock_threads(), len(os.listdir("/proc/self/fd"))
    loader = gl.Loader(windows(sample), FIELDS, batch_size=2)
    end(loader)
    del loader
    gc.collect()
    assert genlock_threads() == before
    assert len(os.listdir("/proc/self/fd")) <= files


def test_a_worker_that_holds_a_lock_closes_without_waiting_for_itself(sample: Path) -> None:
    before = genlock_threads()
    loader = gl.Loader(windows(sample), FIELDS, batch_size=2)
    next(iter(loader))
    workers: Any = loader._workers
    ended = threading.Event()

    def collected() -> None:  # the garbage collector may run a finalizer within any statement
        with workers._engine._lock:
            loader._finalizer()
        ended.set()

    Runner("collector", collected)
    assert ended.wait(30)
    for thread in threading.enumerate():
        if thread.name == "genlock-close":
            thread.join(30)
    assert workers.closed
    assert genlock_threads() == before


def test_a_closed_loader_says_so(sample: Path) -> None:
    loader = gl.Loader(windows(sample), FIELDS, batch_size=2)
    iterator = iter(loader)
    next(iterator)
    loader.close()
    with pytest.raises(gl.ClosedError):
        next(iterator)
    with pytest.raises(gl.ClosedError):
        iter(loader)


def test_closing_from_another_thread_wakes_the_consumer(sample: Path) -> None:
    inside, release = threading.Event(), threading.Event()

    def stuck(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
        inside.set()
        release.wait(30)
        return sample

    loader = gl.Loader(windows(sample), FIELDS, batch_size=2, transform=stuck)
    consumer = Consumer(loader)
    assert inside.wait(30)
    with pytest.warns(ResourceWarning, match="does not return"):
        loader.close()
    release.set()
    assert consumer.ended_by() == [gl.ClosedError]


SCRIPT = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job may ignore it
import sys, genlock as gl
fields = {"imu": gl.Sensor("imu", rate=100), "depth": gl.Depth("depth", rate=15)}
windows = gl.Windows(sys.argv[1], over=["imu", "depth"], duration=0.5, stride=0.02)
loader = gl.Loader(windows, fields, batch_size=1)
"""


def run_script(sample: Path, body: str, interrupt: bool = False) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SCRIPT + body, str(sample)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if interrupt:
        assert child.stdout is not None
        assert child.stdout.readline() == "loading\n"
        child.send_signal(signal.SIGINT)
    return child


def test_the_interpreter_exits_with_a_loader_in_use(sample: Path) -> None:
    child = run_script(sample, "next(iter(loader)); print('done')\n")
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (0, "done\n", "")


def test_ctrl_c_ends_a_loop_and_the_process(sample: Path) -> None:
    body = """
while True:
    for _ in loader:
        print("loading", flush=True)
"""
    child = run_script(sample, body, interrupt=True)
    for _ in range(10):  # Python drops a signal that comes while it collects an object: press again
        try:
            _, err = child.communicate(timeout=6)
            break
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
    assert child.returncode in (-signal.SIGINT, 130, 1)
    assert err.strip().endswith("KeyboardInterrupt")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_is_told_to_make_its_own(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=2) as loader:
        next(iter(loader))
        child = os.fork()
        if child == 0:
            try:
                next(iter(loader))
            except gl.ClosedError:
                os._exit(7)
            os._exit(0)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


def test_a_device_that_is_not_there_leaves_nothing_running(sample: Path) -> None:
    loader = gl.Loader(windows(sample), FIELDS, batch_size=4, device="meta")
    with pytest.raises(ValueError, match="meta"):
        iter(loader)
    assert loader._workers._epoch.stopped
    loader.close()
    assert not genlock_threads()
