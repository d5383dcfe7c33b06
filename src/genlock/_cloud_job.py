"""`CloudJob`: point clouds of one window, rows of different lengths in one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from genlock._decoder_pool import DecoderPool
from genlock._memory import ArraySpec
from genlock.align import Plan
from genlock.errors import DecodeError, StreamError
from genlock.fields import Points
from genlock.jobs import Job
from genlock.slots import Slot, SlotSpec


@dataclass
class CloudJob(Job):
    """Each row is decoded once, in ascending order, and put wherever it is wanted.

    Nothing is decoded to know the size: the stream says how many points each row stores.
    """

    field: Points
    plan: Plan

    pool: ClassVar[str] = "image"

    @property
    def spec(self) -> SlotSpec:
        for name in self.field.columns:
            if name not in self.stream.info.columns:
                there = ", ".join(self.stream.info.columns)
                raise StreamError(f"the points of {self.stream.name!r} have {there}, not {name!r}")
        steps = len(self.plan.grid_ns)
        shape = (steps, self._room, len(self.field.columns))
        values = ArraySpec(shape, np.dtype(self.field.dtype))
        return SlotSpec(values, steps, steps, axes=(0, 1), counted=True)

    @property
    def _room(self) -> int:
        """For how many points there is room in each row."""
        if self.field.max_points is not None:
            return self.field.max_points
        assert self.stream.counts is not None, "clouds are counted when their file is opened"
        return int(self.stream.counts[self.plan.rows[self.plan.mask, 0]].max(initial=0))

    def _values(self, slot: Slot, decoders: DecoderPool) -> None:
        assert slot.counts is not None
        slot.values[...] = 0
        slot.counts[...] = 0
        wanted = np.flatnonzero(self.plan.mask)
        rows, where = np.unique(self.plan.rows[wanted, 0], return_inverse=True)
        with decoders.lease(self.opened, self.stream.name, False) as decoder:
            for i, row in enumerate(rows.tolist()):
                entries = wanted[where == i]
                try:
                    points = decoder.read(row, self.field.columns, slot.values.dtype)
                except DecodeError:
                    slot.mask[entries] = False
                    slot.source_times[entries] = slot.times[entries]
                    continue
                points = spread(points, slot.values.shape[1])
                slot.values[entries, : len(points)] = points
                slot.counts[entries] = len(points)


def spread(points: NDArray[Any], room: int) -> NDArray[Any]:
    """The points, or if there is no room for all n, those at i * n // room."""
    if len(points) <= room:
        return points
    chosen: NDArray[Any] = points[np.arange(room, dtype=np.int64) * len(points) // room]
    return chosen
