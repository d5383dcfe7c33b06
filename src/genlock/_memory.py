"""Memory that is reused: `Ring` lends blocks and gets them back when no view of them lives."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Block = NDArray[np.uint8]
ALIGNMENT = 64


def pageable(size: int) -> Block:
    """Ordinary memory of `size` bytes."""
    return np.empty(size, np.uint8)


class Ring:
    """Lends blocks of memory; a block comes back when the last array over it is collected.

    capacity: how many free blocks are kept; further ones are freed. make: where new ones come
    from. `allocated` counts the blocks that had to be made because every kept one was held or of
    another size. Thread-safe: lending and returning use atomic operations only, since a return
    runs wherever the garbage collector does.
    """

    def __init__(self, capacity: int, make: Callable[[int], Block] = pageable) -> None:
        self.capacity = capacity
        self.make = make
        self.allocated = 0
        self._free: deque[Block] = deque()

    def stock(self, size: int, allocate: Callable[[int], Block]) -> None:
        """Replace all blocks by new ones for `size` bytes each, such as pinned memory.

        Those that are lent do not come back: they would take the places of the new ones.
        """
        self._free = deque(allocate(size + ALIGNMENT) for _ in range(self.capacity))

    def lend(self, size: int) -> Block:
        """A block of at least `size` bytes, cut to `size`; its content is arbitrary."""
        for _ in range(len(self._free)):
            try:
                block = self._free.popleft()
            except IndexError:
                break
            if size <= block.nbytes <= 2 * size + ALIGNMENT:
                return self._lease(block, size)
        self.allocated += 1
        return self._lease(self.make(size + ALIGNMENT), size)

    def _lease(self, block: Block, size: int) -> Block:
        lent = lease(block, _give_back, self._free, block, self.capacity)
        start = -lent.ctypes.data % ALIGNMENT
        part: Block = lent[start : start + size]
        return part


def lease(block: Block, ended: Callable[..., object], *args: object) -> Block:
    """The same memory as another array; `ended(*args)` is called when no view of it is left.

    That happens wherever the garbage collector runs, so `ended` must not wait for anything.
    """
    # Views of a plain array would name `block` as their base; a ctypes buffer in between
    # makes the lease the base of every view, so its end is the end of them all.
    buffer = (ctypes.c_ubyte * block.nbytes).from_buffer(block.data)
    lent: Block = np.frombuffer(memoryview(buffer), np.uint8)
    weakref.finalize(lent, ended, *args).atexit = False
    return lent


def _give_back(free: deque[Block], block: Block, capacity: int) -> None:
    if len(free) < capacity:
        free.append(block)


@dataclass(frozen=True)
class ArraySpec:
    """Shape and dtype of an array to be placed in a block."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def block_size(specs: list[ArraySpec]) -> int:
    """Bytes that `carve` needs for these arrays."""
    return sum(-(-spec.nbytes // ALIGNMENT) * ALIGNMENT for spec in specs)


def carve(block: Block, specs: list[ArraySpec]) -> list[NDArray[np.generic]]:
    """Lay arrays one after another into a block, each aligned to 64 bytes."""
    arrays, offset = [], 0
    for spec in specs:
        part = block[offset : offset + spec.nbytes]
        arrays.append(part.view(spec.dtype).reshape(spec.shape))
        offset += -(-spec.nbytes // ALIGNMENT) * ALIGNMENT
    return arrays
