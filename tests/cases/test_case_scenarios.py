"""The shared scenarios: forks, leaks, and how much travels for a few pictures."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from whole_streams import indices

import genlock as gl

FEW = gl.Video("video", offsets=[0, 1, 2, 3], color="gray")


def _decode_in_child(path: str, pipe: Connection) -> None:
    with gl.open(path) as recording:
        pipe.send(np.asarray(recording.read({"x": FEW}, 0, 1)["x"]))


@pytest.mark.case("L01")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forking_after_decoding_on_threads(inputs: Path) -> None:
    path = str(inputs / "v07_hevc_opengop.mp4")
    windows = gl.Windows(path, duration=0.5)
    with gl.Loader(windows, {"x": FEW}, batch_size=2, threads=2, device="cpu") as loader:
        first = next(iter(loader))
        assert first.mask["x"][0].any()
        with gl.open(path) as recording:
            expected = np.asarray(recording.read({"x": FEW}, 0, 1)["x"])
            context = multiprocessing.get_context("fork")
            ends = [context.Pipe(duplex=False) for _ in range(2)]
            children = [
                context.Process(target=_decode_in_child, args=(path, send)) for _, send in ends
            ]
            for child in children:
                child.start()
            for (receive, _), child in zip(ends, children, strict=True):
                assert receive.poll(20), "the child hangs"
                assert np.array_equal(receive.recv(), expected)
                child.join(20)
                assert child.exitcode == 0


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.case("L02")
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files through /proc")
def test_recordings_that_are_dropped_leave_nothing(inputs: Path, truth: ModuleType) -> None:
    path = inputs / "v07_hevc_opengop.mp4"

    def read_one_and_drop(index: int) -> None:
        field = gl.Video("video", offsets=[index / 30], color="gray")
        assert indices(gl.open(path).read({"x": field}, 0, 1), truth) == [index]

    read_one_and_drop(0)
    gc.collect()
    before = _descriptors(), threading.active_count()
    for _ in range(500):
        read_one_and_drop(0)
    gc.collect()
    after = _descriptors(), threading.active_count()
    assert np.abs(np.subtract(after, before)).max() <= 3


@pytest.mark.case("L05")
def test_only_what_was_asked_for_travels(inputs: Path, truth: ModuleType) -> None:
    with gl.open(inputs / "v07_hevc_opengop.mp4") as recording:
        ns = recording.streams["video"].timeline.ns
        picked = [0, 40, 80, 119]
        field = gl.Video("video", offsets=[f"{ns[i]}e-9" for i in picked], layout="THWC")
        sample = recording.read({"x": field}, 0, 1)
        frames, wanted = sample["x"], 4 * 64 * 128 * 3
        assert frames.nbytes == wanted
        assert len(pickle.dumps(frames)) < wanted + 1_000
    fields = {"x": field}
    windows = gl.Windows.at([(inputs / "v07_hevc_opengop.mp4", 0, 1)])
    with gl.Loader(windows, fields, batch_size=1, device="cpu") as loader:
        (batch,) = list(loader)
        assert batch["x"].numel() == wanted
        # one block of memory holds the pictures, four masks and eight times
        assert batch["x"].untyped_storage().nbytes() < wanted + 4_096
