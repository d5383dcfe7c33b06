"""What needs a GPU: copies, streams, events, races. Run with `make test-gpu`."""

from __future__ import annotations

import gc
import sys
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import genlock as gl

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "benchmarks"))

from gpu_waits import waits_of

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
    pytest.mark.timeout(300),
]

FIELDS = {
    "rgb": gl.Video("camera-rgb", rate=8, size=(64, 64)),
    "planes": gl.Video("camera-rgb", rate=8, size=(64, 64), color="device"),
    "depth": gl.Depth("depth", rate=8, size=(48, 64)),
    "audio": gl.Audio("audio", rate=16_000),
    "imu": gl.Sensor("imu", rate=200),
    "pose": gl.Pose("pose", at="rgb", relative_to="first"),
    "what": gl.Labels("labels"),
}


def windows(sample: Path) -> gl.Windows:
    over = ["camera-rgb", "depth", "audio", "imu", "pose"]
    return gl.Windows(sample, over=over, duration=0.5, stride=0.1, shuffle=True)


@pytest.fixture(scope="module")
def expected(sample: Path) -> list[dict[str, Any]]:
    with gl.Loader(windows(sample), FIELDS, batch_size=8) as loader:
        return [batch.numpy() for batch in loader]


def same(batch: gl.Batch, host: dict[str, Any]) -> bool:
    for name, value in host.items():
        got = batch[name]
        if isinstance(value, list):
            assert got == value
        elif name == "planes":  # arithmetic on another device may round the other way
            assert np.abs(got.cpu().numpy().astype(int) - value).max() <= 1
        else:
            np.testing.assert_array_equal(got.cpu().numpy(), value)
    return True


@pytest.mark.parametrize("pin_memory", [True, False])
def test_tensors_arrive_on_the_device_as_on_the_host(
    sample: Path, expected: list[dict[str, Any]], pin_memory: bool
) -> None:
    for device in ("cuda", 0, torch.device("cuda"), lambda: "cuda:0"):
        with gl.Loader(
            windows(sample), FIELDS, batch_size=8, device=device, pin_memory=pin_memory
        ) as loader:
            for batch, host in zip(loader, expected, strict=True):
                assert all(tensor.is_cuda for tensor in batch.tensors())
                assert same(batch, host)


def test_five_hundred_batches_with_poisoned_memory(sample: Path) -> None:
    """Freed device memory is filled with other values at once, and kept batches stay right."""
    kept: deque[tuple[gl.Batch, dict[str, Any]]] = deque()
    seen = 0
    with (
        gl.Loader(windows(sample), FIELDS, batch_size=4, device="cuda", prefetch=3) as loader,
        gl.Loader(windows(sample), FIELDS, batch_size=4) as plain,
    ):
        while seen < 500:
            for batch, host in zip(loader, plain, strict=True):
                poison = [torch.full_like(tensor, 77) for tensor in batch.tensors()]
                del poison
                kept.append((batch, host.numpy()))
                if len(kept) > 3:
                    assert same(*kept.popleft())
                seen += 1
    assert seen >= 500


def test_inside_a_stream_of_the_users_own(sample: Path, expected: list[dict[str, Any]]) -> None:
    stream = torch.cuda.Stream()
    with (
        torch.cuda.stream(stream),
        gl.Loader(windows(sample), FIELDS, batch_size=8, device="cuda") as loader,
    ):
        sums = [batch["rgb"].long().sum() for batch in loader]
    stream.synchronize()
    assert [int(total) for total in sums] == [int(host["rgb"].sum()) for host in expected]


def test_goes_on_after_an_exception_in_the_step(
    sample: Path, expected: list[dict[str, Any]]
) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=8, device="cuda") as loader:
        with pytest.raises(ZeroDivisionError):
            for _ in loader:
                raise ZeroDivisionError
        state = loader.state_dict()
        loader.load_state_dict(state)
        assert same(next(iter(loader)), expected[1])


def test_no_host_synchronisation_per_batch(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=8, device="cuda") as loader:
        iterator = iter(loader)
        for _ in range(3):
            next(iterator)
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in range(5):
                next(iterator)
        finally:
            torch.cuda.set_sync_debug_mode("default")


def test_a_trace_shows_no_wait_of_the_host(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=8, device="cuda") as loader:
        iterator = iter(loader)
        for _ in range(3):
            next(iterator)
        assert waits_of(iterator, 5) == {}


def test_the_copy_goes_to_the_device_that_is_current_or_named(sample: Path) -> None:
    last = torch.cuda.device_count() - 1  # as each rank of DDP names its own
    with gl.Loader(windows(sample), FIELDS, batch_size=8, device=last) as loader:
        batch = next(iter(loader))
        assert {tensor.device.index for tensor in batch.tensors()} == {last}
    with (
        torch.cuda.device(last),
        gl.Loader(windows(sample), FIELDS, batch_size=8, device="cuda") as loader,
    ):
        assert next(iter(loader))["rgb"].device.index == last


def test_memory_does_not_grow(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=8, device="cuda") as loader:
        for _ in loader:
            pass
        gc.collect()
        before = torch.cuda.memory_allocated()
        for _ in range(3):
            for batch in loader:
                del batch
        gc.collect()
        assert torch.cuda.memory_allocated() <= before + 64 * 2**20
