"""Delivery: order, no reuse of host memory before its copy ended, bounded buffers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from genlock._memory import ArraySpec, Ring, block_size, carve
from genlock.batch import Batch, Collated
from genlock.device import Delivery, HostBackend, Transfer, make_backend, split_block, torch_dtype

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


class SimulatedCopy:
    """Reads its host memory only when told to finish, as a late device copy would."""

    def __init__(self, source: Collated) -> None:
        self._source = source
        self._address = source.block.ctypes.data
        self.copied: np.ndarray[tuple[int], np.dtype[np.uint8]] | None = None

    def finish(self) -> None:
        if self.copied is None:
            self.copied = self._source.block.copy()

    def finished(self) -> bool:
        return self.copied is not None

    def wait(self) -> None:
        self.finish()

    def arrived(self) -> Batch:
        self.finish()
        assert self.copied is not None
        parts = split_block(torch.from_numpy(self.copied), self._source)
        return self._source.batch(parts, torch.from_numpy)


class SimulatedDevice:
    ahead = 2

    def __init__(self) -> None:
        self.copies: list[SimulatedCopy] = []

    def allocate(self, size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return np.empty(size, np.uint8)

    def upload(self, source: Collated) -> Transfer:
        self.copies.append(SimulatedCopy(source))
        return self.copies[-1]


def test_host_memory_is_not_reused_before_its_copy_ended() -> None:
    device, ring = SimulatedDevice(), Ring(4)
    delivery = Delivery(device)
    arrived = []
    for number in range(50):
        source = collated(ring, number)
        assert not any(
            copy.copied is None and copy._address == source.block.ctypes.data
            for copy in device.copies
        )
        transfer = delivery.send(source)
        del source
        if number % 3 == 0:  # some copies end early, some only when they must
            device.copies[-1].finish()
        arrived.append(transfer)
    delivery.close()
    batches = [transfer.arrived() for transfer in arrived]
    for number, batch in enumerate(batches):
        assert batch["rgb"].unique().tolist() == [number]
        assert batch["imu"].unique().tolist() == [number]
        assert batch["text"] == [str(number)]
        assert batch.times["imu"].tolist() == [[number]] * 2


def test_no_more_copies_are_under_way_than_stated() -> None:
    device, ring = SimulatedDevice(), Ring(8)
    delivery = Delivery(device)
    for number in range(20):
        delivery.send(collated(ring, number))
        under_way = sum(copy.copied is None for copy in device.copies)
        assert under_way <= device.ahead + 1
    assert ring.allocated <= 20
    delivery.close()
    assert all(copy.finished() for copy in device.copies)


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
