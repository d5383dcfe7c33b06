"""Memory that two processes share: `memfd` segments, passed by descriptor, never by name.

Nothing has a name in the file system, so nothing can be left there: a segment ends with the last
process that maps it. The descriptor is closed as soon as both sides have mapped the memory, so that
any number of batches can be held without using up descriptors.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

import numpy as np

from genlock._memory import Block

PROT_READ_WRITE = 0x1 | 0x2
MAP_SHARED = 0x01


class Segments:
    """Makes shared blocks and knows in which segment each lies. Thread-safe.

    `gone` lists the segments whose block was collected here, until `take_gone`.
    """

    def __init__(self) -> None:
        self._ids: dict[int, int] = {}
        self._unsent: dict[int, int] = {}
        self._gone: deque[int] = deque()
        self._numbers = count()

    def allocate(self, size: int) -> Block:
        """A block of new shared memory. Raises OSError if there is none left."""
        number, descriptor = next(self._numbers), os.memfd_create("genlock", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(descriptor, 0, max(1, size))  # an error here, not SIGBUS later
            block = map_shared(descriptor, max(1, size), self._ended, number)
        except BaseException:
            os.close(descriptor)
            raise
        self._unsent[number] = descriptor
        self._ids[block.ctypes.data] = number
        return block

    def _ended(self, address: int, number: int) -> None:
        self._ids.pop(address, None)
        if (descriptor := self._unsent.pop(number, None)) is not None:
            os.close(descriptor)
        self._gone.append(number)

    def number(self, block: Block) -> int:
        """The segment that a block begins, which `allocate` made."""
        return self._ids[block.ctypes.data]

    @contextmanager
    def unsent(self, numbers: list[int]) -> Iterator[tuple[list[int], list[int]]]:
        """Those of the segments that were never sent, and their descriptors, to be sent here."""
        new = [number for number in numbers if number in self._unsent]
        descriptors = [self._unsent[number] for number in new]
        yield new, descriptors
        for number in new:
            os.close(self._unsent.pop(number))

    def take_gone(self) -> list[int]:
        """Segments that ended since the last call."""
        return [self._gone.popleft() for _ in range(len(self._gone))]


def map_shared(
    descriptor: int, size: int, ended: Callable[[int, int], object], number: int
) -> Block:
    """Map a descriptor's memory; `ended(address, number)` runs just before it is unmapped.

    The memory is unmapped when no view of it is left. (`mmap.mmap` would keep a copy of the
    descriptor open as long.)
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    address = libc.mmap(None, size, PROT_READ_WRITE, MAP_SHARED, descriptor, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        code = ctypes.get_errno()
        raise OSError(code, f"cannot map {size} bytes of shared memory: {os.strerror(code)}")
    buffer = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(buffer, _unmap, libc, address, size, ended, number).atexit = False
    block: Block = np.frombuffer(memoryview(buffer), np.uint8)
    return block


def _unmap(
    libc: ctypes.CDLL, address: int, size: int, ended: Callable[[int, int], object], number: int
) -> None:
    ended(address, number)
    libc.munmap(address, size)
