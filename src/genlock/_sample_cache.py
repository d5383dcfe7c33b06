"""`SampleCache`: finished samples in memory, for data that fits: later epochs decode nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from genlock._decoder_pool import DecoderPool
from genlock.jobs import Alone, Planned
from genlock.slots import Slot, SlotSpec
from genlock.windows import Window

OVERHEAD = 1024
"""Bytes that the objects around the arrays of one field take, about."""


@dataclass(frozen=True)
class KeptField(Alone):
    """One field of one window as it was decoded: takes the place of its `Job`."""

    field: Any
    spec: SlotSpec | None
    place: tuple[str, str]
    constants: Mapping[str, NDArray[np.float32]]
    slot: Slot

    pool: ClassVar[str] = "cache"

    def fill(self, slot: Slot, decoders: DecoderPool) -> None:
        """Copy into the slot."""
        if self.spec is None:
            slot.values.extend(self.slot.values)
        else:
            slot.take(self.slot)


class SampleCache:
    """Samples by window, as decoded: before the transform, which draws anew each time.

    capacity: bytes. A sample that does not fit is not kept, and none makes room for another: when
    all are asked for once per epoch, whichever was kept serves as well as the rest. It belongs to
    one loader, so that the window alone names a sample; another loader's fields are its own.
    Thread-safe.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.bytes = self.hits = self.misses = 0
        self._samples: dict[tuple[str, int, int], dict[str, Planned]] = {}
        self._lock = threading.Lock()

    def get(self, window: Window) -> dict[str, Planned] | None:
        """The fields of a window, ready to be filled in."""
        if not self.capacity:
            return None
        with self._lock:
            found = self._samples.get(_key(window))
            self.hits += found is not None
            self.misses += found is None
        return found

    def keep(
        self, window: Window, jobs: Mapping[str, Planned], slot: Callable[[str], Slot]
    ) -> None:
        """Copy what the jobs of a window have decoded, if there is room."""
        slots = {name: slot(name) for name in jobs}
        size = sum(part.nbytes + OVERHEAD for part in slots.values())
        with self._lock:
            if self.bytes + size > self.capacity or _key(window) in self._samples:
                return
            self.bytes += size
        sample: dict[str, Planned] = {
            name: KeptField(job.field, job.spec, job.place, job.constants, slots[name].copy())
            for name, job in jobs.items()
        }
        with self._lock:
            self._samples[_key(window)] = sample

    def clear(self) -> None:
        """Let go of every sample."""
        with self._lock:
            self._samples.clear()
            self.bytes = 0


def _key(window: Window) -> tuple[str, int, int]:
    return window.recording, window.start_ns, window.duration_ns
