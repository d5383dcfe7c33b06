"""The ring of batch memory: a block comes back only when no view of it lives."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from genlock._memory import ALIGNMENT, ArraySpec, Ring, block_size, carve, pageable

SPECS = [
    ArraySpec((2, 3), np.dtype(np.float32)),
    ArraySpec((0,), np.dtype(np.int64)),
    ArraySpec((5,), np.dtype(np.bool_)),
    ArraySpec((2, 2), np.dtype(np.int64)),
]


def test_carved_arrays_are_aligned_disjoint_and_inside() -> None:
    block = Ring(1).lend(block_size(SPECS))
    arrays = carve(block, SPECS)
    for spec, array in zip(SPECS, arrays, strict=True):
        assert array.shape == spec.shape and array.dtype == spec.dtype
        assert array.ctypes.data % ALIGNMENT == 0 or array.size == 0
    for i, array in enumerate(arrays):
        array[...] = i + 1
    assert [set(a.ravel().tolist()) for a in arrays] == [{1.0}, set(), {True}, {4}]


def test_a_block_returns_when_its_last_view_is_gone() -> None:
    ring = Ring(2)
    block = ring.lend(1000)
    address = block.ctypes.data
    tensor = torch.from_numpy(carve(block, [ArraySpec((10, 10), np.dtype(np.float32))])[0])
    view = tensor[3:5].T.reshape(-1)[1:]
    kept = tensor[0]
    del block, tensor, view
    other = ring.lend(1000)
    assert other.ctypes.data != address and ring.allocated == 2
    del kept
    again = ring.lend(1000)
    assert again.ctypes.data == address and ring.allocated == 2


def test_more_are_made_when_all_are_held_and_surplus_is_freed() -> None:
    ring = Ring(1)
    held = [ring.lend(64) for _ in range(4)]
    assert ring.allocated == 4
    assert len({block.ctypes.data for block in held}) == 4
    held.clear()
    first = ring.lend(64)
    second = ring.lend(64)
    assert ring.allocated == 5
    del first, second


def test_a_block_that_is_too_small_or_far_too_large_is_not_used() -> None:
    ring = Ring(2)
    del_me = ring.lend(100)
    del del_me
    large = ring.lend(10_000)
    assert large.nbytes == 10_000 and ring.allocated == 2
    del large
    assert ring.lend(10).nbytes == 10
    assert ring.allocated == 3


def test_stocked_blocks_are_used_first() -> None:
    ring = Ring(3)
    made: list[int] = []

    def allocate(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        made.append(size)
        return pageable(size)  # type: ignore[return-value]

    ring.stock(500, allocate)
    held = [ring.lend(500) for _ in range(3)]
    assert len(made) == 3 and ring.allocated == 0
    assert min(made) >= 500
    held.append(ring.lend(500))
    assert ring.allocated == 1


def test_blocks_lent_before_a_stock_do_not_take_its_places() -> None:
    ring = Ring(2)
    before = [ring.lend(100) for _ in range(2)]
    stocked: list[int] = []

    def allocate(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        block = pageable(size)
        stocked.append(block.ctypes.data)
        return block  # type: ignore[return-value]

    ring.stock(100, allocate)
    held = [ring.lend(100) for _ in range(2)]
    before.clear()
    del held
    again = [ring.lend(100) for _ in range(2)]
    inside = [any(0 <= b.ctypes.data - start < 200 for start in stocked) for b in again]
    assert inside == [True, True] and ring.allocated == 2


@pytest.mark.parametrize("capacity", [0, 1])
def test_a_ring_without_capacity_still_lends(capacity: int) -> None:
    ring = Ring(capacity)
    for _ in range(3):
        assert ring.lend(7).nbytes == 7
