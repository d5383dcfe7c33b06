"""`Slot`: the arrays that one field of one window, or of a batch of them, is written into."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._memory import ArraySpec

INT64, BOOL = np.dtype(np.int64), np.dtype(np.bool_)


@dataclass
class Slot:
    """The arrays of one field for one window, or, with one more dimension in front, for a batch.

    values: as the field says. mask: bool, [T] or audio [N]. times, source_times: int64 ns, [T] or
    audio [1]. counts: int64 [T], of point clouds: how many of a row's points are not padding.
    Labels keep a list in `values` and have none of the others.
    """

    values: Any
    mask: NDArray[np.bool_]
    times: NDArray[np.int64]
    source_times: NDArray[np.int64]
    counts: NDArray[np.int64] | None = None

    def __getitem__(self, index: Any) -> Slot:
        return Slot(*(part[index] for part in self._arrays))

    def clear(self) -> None:
        """Make every value zero and masked."""
        self.values[...] = 0
        self.mask[...] = False
        if self.counts is not None:
            self.counts[...] = 0

    @property
    def _arrays(self) -> tuple[NDArray[Any], ...]:
        arrays = self.values, self.mask, self.times, self.source_times
        return arrays if self.counts is None else (*arrays, self.counts)

    def take(self, other: Slot) -> None:
        """Copy another slot of the same shapes into this one."""
        for own, given in zip(self._arrays, other._arrays, strict=True):
            own[...] = given

    def copy(self) -> Slot:
        """A slot of its own memory with the same content."""
        return Slot(*(part.copy() for part in self._arrays))

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays; a list of labels counts as nothing."""
        return sum(getattr(part, "nbytes", 0) for part in self._arrays)


@dataclass(frozen=True)
class SlotSpec:
    """Shapes of a `Slot`: values, number of mask entries, number of times.

    axes: the dimensions of the values that differ from window to window. columns: names of what
    lies along the last one, of tables. counted: whether the slot has counts.
    """

    values: ArraySpec
    steps: int
    times: int
    axes: tuple[int, ...] = (0,)
    columns: tuple[str, ...] = ()
    counted: bool = False

    @property
    def fixed_shape(self) -> tuple[int, ...]:
        """Shape of the values without the dimensions that differ from window to window."""
        return tuple(n for axis, n in enumerate(self.values.shape) if axis not in self.axes)

    def arrays(self, *leading: int) -> list[ArraySpec]:
        """The arrays in the order of `Slot`, with dimensions in front."""
        times = ArraySpec((*leading, self.times), INT64)
        counts = [ArraySpec((*leading, self.steps), INT64)] if self.counted else []
        return [
            ArraySpec((*leading, *self.values.shape), self.values.dtype),
            ArraySpec((*leading, self.steps), BOOL),
            times,
            times,
            *counts,
        ]

    def holding(self, other: SlotSpec) -> SlotSpec:
        """The smallest spec that holds this one and another, which may differ in length only."""
        shape = tuple(max(a, b) for a, b in zip(self.values.shape, other.values.shape, strict=True))
        values = ArraySpec(shape, self.values.dtype)
        steps, times = max(self.steps, other.steps), max(self.times, other.times)
        return replace(self, values=values, steps=steps, times=times)


@lru_cache(maxsize=256)
def table_spec(steps: int, width: int, dtype: str, columns: tuple[str, ...] = ()) -> SlotSpec:
    """The spec of values [steps, width]: one object, which is compared at a glance."""
    return SlotSpec(ArraySpec((steps, width), np.dtype(dtype)), steps, steps, columns=columns)


@lru_cache(maxsize=256)
def sound_spec(channels: int, count: int) -> SlotSpec:
    """The spec of sound, float32 [channels, count]: one object as well."""
    return SlotSpec(ArraySpec((channels, count), np.dtype(np.float32)), count, 1, axes=(1,))
