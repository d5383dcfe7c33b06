"""Delivery: order, no reuse of host memory before its copy ended, bounded buffers."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
import torch

from genlock._memory import ArraySpec, Ring, block_size, carve
from genlock.assembly import Collated
from genlock.device import Delivery, HostBackend, make_backend, torch_dtype
from simulated import SimulatedDevice, SimulatedTransfer

SPECS = [
    ("values", "rgb", ArraySpec((2, 3), np.dtype(np.uint8))),
    ("values", "imu", ArraySpec((2, 4), np.dtype(np.float32))),
    ("mask", "imu", ArraySpec((2, 1), np.dtype(np.bool_))),
    ("times", "imu", ArraySpec((2, 1), np.dtype(np.int64))),
]
SIZE = block_size([spec for _, _, spec in SPECS])


def collated(ring: Ring, number: int) -> Collated:
    block = ring.lend(SIZE)
    for array in carve(block, [spec for _, _, spec in SPECS]):
        array[...] = number
    return Collated([], block, SPECS, {}, {"text": [str(number)]}, ["rgb", "imu", "text"])


@pytest.mark.parametrize("copy_cost", [0.1, 1.0, 7.0])
def test_host_memory_is_not_reused_before_its_copy_ended(copy_cost: float) -> None:
    device, ring = SimulatedDevice(copy_cost), Ring(4)
    delivery = Delivery(device)
    for number in range(60):
        source = collated(ring, number)
        assert source.block.ctypes.data not in device.addresses_in_use
        delivery.send(source)
        del source
        device.sleep(number % 5)
    delivery.close()
    for number, transfer in enumerate(device.transfers):
        batch = transfer.batch()
        assert batch["rgb"].unique().tolist() == [number]
        assert batch["imu"].unique().tolist() == [number]
        assert batch["text"] == [str(number)]
        assert batch.times["imu"].tolist() == [[number]] * 2
    assert ring.allocated <= device.ahead + 3


def test_no_more_copies_are_under_way_than_stated() -> None:
    device, ring = SimulatedDevice(), Ring(8)
    delivery = Delivery(device)
    for number in range(20):
        delivery.send(collated(ring, number))
        assert len(device.addresses_in_use) <= device.ahead + 1
    delivery.close()
    assert not device.addresses_in_use


@pytest.mark.parametrize(("copy_cost", "step_cost"), [(1.0, 3.0), (2.0, 2.0), (5.0, 1.0)])
def test_copies_run_beside_steps(copy_cost: float, step_cost: float) -> None:
    device, ring = SimulatedDevice(copy_cost), Ring(4)
    delivery = Delivery(device)
    coming: deque[SimulatedTransfer] = deque()
    seen: list[int] = []
    left = iter(range(12))
    for _ in range(12):
        while len(coming) < device.ahead and (number := next(left, None)) is not None:
            transfer = delivery.send(collated(ring, number))
            assert isinstance(transfer, SimulatedTransfer)
            coming.append(transfer)
        received = coming.popleft()

        def step(received: SimulatedTransfer = received) -> None:
            seen.extend(received.batch()["rgb"].unique().tolist())

        device.step(step_cost, step, received.event)
        device.sleep(step_cost)
    device.sleep(1000)
    assert seen == list(range(12))
    slower = max(copy_cost, step_cost)
    assert device.computing.free_at == pytest.approx(copy_cost + step_cost + 11 * slower)


def test_on_a_cpu_tensors_are_the_batch_memory_itself() -> None:
    ring = Ring(2)
    source = collated(ring, 7)
    address = source.block.ctypes.data
    batch = Delivery(HostBackend()).send(source).arrived()
    assert batch["rgb"].data_ptr() == address
    assert batch["rgb"].dtype == torch.uint8 and batch["imu"].dtype == torch.float32
    assert batch.mask["imu"].dtype == torch.bool
    del source
    other = collated(ring, 8)  # the delivered batch still lives, so this is other memory
    assert batch["imu"].unique().tolist() == [7]
    del other


def test_a_device_may_be_named_in_every_usual_way() -> None:
    for device in (None, "cpu", torch.device("cpu"), lambda: torch.device("cpu")):
        assert isinstance(make_backend(device, None), HostBackend)
    with pytest.raises(ValueError, match="meta"):
        make_backend("meta", None)


@pytest.mark.parametrize("name", ["uint8", "uint16", "float32", "float64", "int64", "bool"])
def test_dtypes_keep_their_layout(name: str) -> None:
    dtype = np.dtype(name)
    assert torch_dtype(dtype).itemsize == dtype.itemsize
