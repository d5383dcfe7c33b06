"""`TableJob` and `PoseJob`: rows of a table in one window, picked or blended."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from genlock._decoder_pool import DecoderPool
from genlock._field import Field
from genlock.align import Plan, apply, apply_pose, together
from genlock.errors import FieldError
from genlock.fields import Pose, Sensor
from genlock.jobs import Alone, Job
from genlock.opened import POSE_COLUMNS, Opened, Table
from genlock.slots import Slot, SlotSpec, table_spec


@dataclass
class TableJob(Job):
    """Sensor and pose: rows picked or blended from columns in memory."""

    plan: Plan

    pool: ClassVar[str] = "table"

    @cached_property
    def spec(self) -> SlotSpec:
        width = self._table().values.shape[1]
        return table_spec(len(self.plan.grid_ns), width, self.field.dtype, self._columns)

    @property
    def _columns(self) -> tuple[str, ...]:
        """Names of the values: as the field picked them, else all of the stream's."""
        if isinstance(self.field, Pose):
            return POSE_COLUMNS
        return tuple(getattr(self.field, "columns", None) or self.stream.info.columns)

    @property
    def kin(self) -> Hashable:
        return id(self.opened), id(self.field)

    def _table(self) -> Table:
        return field_table(self.opened, self.field)

    def _values(self, slot: Slot, decoders: DecoderPool) -> None:
        apply(self.plan, self._table().values, slot.values)

    def fill_all(
        self, jobs: Sequence[TableJob], slots: Sequence[Slot], decoders: DecoderPool
    ) -> None:
        """Together: the grid times of several windows are as those of one."""
        table = self._table().values
        for run in together([len(job.plan.mask) for job in jobs]):
            plan = Plan.joined([job.plan for job in jobs[run]])
            values = np.empty((len(plan.mask), table.shape[1]), slots[0].values.dtype)
            apply(plan, table, values)
            stop = 0
            for job, slot in zip(jobs[run], slots[run], strict=True):
                start, stop = stop, stop + len(job.plan.mask)
                slot.values[...] = values[start:stop]
                job.aligned(slot)


@dataclass
class PoseJob(TableJob):
    """Poses, seen from elsewhere if the field says so. reference: of what they are relative to."""

    reference: PoseJob | None = None

    kin = Alone.kin
    fill_all = Alone.fill_all

    def _values(self, slot: Slot, decoders: DecoderPool) -> None:
        slot.values[...] = self.poses(self.plan, self.field.relative_to)

    def poses(self, plan: Plan, relative_to: str | None = None) -> NDArray[np.float64]:
        """The poses at a plan's grid times, [T, 7]."""
        values = self._table().values
        mount = None if self.field.of is None else self._mount(self.field.of)
        if self.reference is None:
            return apply_pose(plan, values, relative_to, mount)
        reference = self.reference.poses(self.reference.plan)
        return apply_pose(plan, values, None, mount, reference)

    def _mount(self, name: str) -> NDArray[np.float64]:
        """T_child_of, by the extrinsics of the stream that `of` names."""
        stream = self.opened.streams.get(name)
        extrinsics = None if stream is None else stream.extrinsics
        child = self.stream.info.frames[1] if self.stream.info.frames else None
        if extrinsics is None or child not in (None, extrinsics.parent):
            streams = self.opened.streams.values()
            known = [f"{s.name} in {s.extrinsics.parent!r}" for s in streams if s.extrinsics]
            raise FieldError(
                f"of={name!r} needs a stream with extrinsics in the frame "
                f"{child or 'of the pose'!r}; stated are: {', '.join(known) or 'none'}"
            )
        return np.array([*extrinsics.position, *extrinsics.quaternion], np.float64)


def field_table(opened: Opened, field: Field) -> Table:
    """The table that a `Sensor` or `Pose` samples."""
    if isinstance(field, Sensor):
        columns = None if field.columns is None else tuple(field.columns)
        blended = field.method == "linear"
        return opened.table(field.stream, columns, "float64" if blended else field.dtype)
    return opened.table(field.stream, POSE_COLUMNS, "float64")
