"""`Assembly`: how samples become a batch.

A batch is one block of memory: the values, masks and times of every field lie in it one after
another, so that decoders write straight into it and one copy takes all of it to a device.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from genlock._changes import stack, take_changes
from genlock._layout import (
    ARRAYS,
    CAMERA,
    CONSTANTS,
    PARTS,
    Jobs,
    Layout,
    by_part,
    common_specs,
    layout_of,
)
from genlock._memory import Block, Ring, block_size, carve
from genlock.batch import Batch, Sample
from genlock.color import Finish, finish_of, to_rgb
from genlock.jobs import Planned
from genlock.slots import Slot, SlotSpec
from genlock.windows import Window

if TYPE_CHECKING:  # importing torch takes longer than all else together, and workers need none
    import torch


@dataclass
class Collated:
    """A finished batch in NumPy: what the device stage delivers.

    block holds the arrays of `layout`, a list of (part, field name, spec); extra holds arrays
    that a transform made, outside of the block; lists holds labels; finishes says what is left to
    do to values on the device; columns names what lies along the last dimension of tables.
    """

    windows: list[Window]
    block: Block
    layout: Layout
    extra: dict[str, NDArray[Any]]
    lists: dict[str, list[Any]]
    order: list[str]
    finishes: dict[str, Finish] = field(default_factory=dict)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return self.block.nbytes + sum(array.nbytes for array in self.extra.values())

    def batch(self, arrays: Sequence[Any], tensor: Callable[[NDArray[Any]], torch.Tensor]) -> Batch:
        """Make the batch from tensors laid out as `layout`; `tensor` takes `extra` over."""
        parts = by_part(self.layout, arrays)
        values = parts["values"]
        for name, finish in self.finishes.items():
            mask = parts["mask"][name]
            values[name] = to_rgb(values[name], parts["color"][name], finish, mask)
        values |= {name: tensor(array) for name, array in self.extra.items()} | self.lists
        data = {name: values[name] for name in self.order}
        others = {part: parts[part] for part in (*PARTS[1:], *CAMERA)}
        return Batch(self.windows, data, columns=self.columns, **others)


def finished(sample: Sample, jobs: Mapping[str, Planned]) -> Sample:
    """A sample whose values are as a batch would have them, on the host (bfloat16: as float32)."""
    for name, job in jobs.items():
        finish = finish_of(job.field)
        if finish is not None:
            import torch

            if finish.dtype == "bfloat16":
                finish = replace(finish, dtype="float32")
            parts = (sample[name], job.constants["color"], sample.mask[name])
            planes, color, mask = (torch.from_numpy(part)[None] for part in parts)
            sample[name] = to_rgb(planes, color, finish, mask)[0].numpy()
    return sample


class Assembly:
    """A batch in the making: memory laid out from the plans, filled by workers, then collated.

    jobs: per sample, the planned fields, or None where planning failed or, beyond the windows, for
    padding: such a sample is masked as a whole. templates: shapes to use if all are None. Fill
    `slot(i, name)` from any thread; the other methods belong to one thread at a time.
    """

    def __init__(
        self,
        windows: Sequence[Window],
        jobs: Jobs,
        templates: Mapping[str, SlotSpec | None],
        ring: Ring,
    ) -> None:
        self.windows = list(windows)
        self.jobs = jobs
        self._specs = common_specs(jobs, templates)
        self._lists: dict[str, list[Any]] = {
            name: [[] for _ in jobs] for name, spec in self._specs.items() if spec is None
        }
        self._layout = layout_of(self._specs, jobs)
        self._ring = ring
        arrays = [array for _, _, array in self._layout]
        self._block = ring.lend(block_size(arrays))
        self._parts = by_part(self._layout, carve(self._block, arrays))
        self._whole = {
            name: self._whole_slot(name) for name, spec in self._specs.items() if spec is not None
        }
        self._changed: dict[int, Sample] = {}
        for i, planned in enumerate(jobs):
            self._prepare(i, planned)

    def _prepare(self, i: int, planned: Mapping[str, Planned] | None) -> None:
        for part in CONSTANTS:
            for name, array in self._parts[part].items():
                constant = planned[name].constants.get(part) if planned else None
                array[i] = 0
                if constant is not None:
                    array[i][tuple(slice(n) for n in constant.shape)] = constant
        for name, spec in self._specs.items():
            if spec is None:
                continue
            own = planned[name].spec if planned else None
            self._parts["lengths"][name][i] = own.steps if own else 0
            if own is not spec and own != spec:
                self._whole[name][i].clear()
                start_ns = self.windows[i].start_ns if i < len(self.windows) else 0
                self._parts["times"][name][i] = start_ns
                self._parts["source_times"][name][i] = start_ns

    def _whole_slot(self, name: str) -> Slot:
        held: dict[str, Any] = {part: self._parts[part].get(name) for part in ARRAYS}
        return Slot(**held)

    def slot(self, i: int, name: str) -> Slot:
        """The arrays of one field of one sample, without padding."""
        planned = self.jobs[i]
        spec = planned[name].spec if planned else self._specs[name]
        if spec is None:
            empty = np.empty(0, np.int64)
            return Slot(self._lists[name][i], empty.astype(np.bool_), empty, empty)
        row = self._whole[name][i]
        if spec is self._specs[name]:
            return row
        values = row.values[tuple(slice(n) for n in spec.values.shape)]
        steps, times = slice(spec.steps), slice(spec.times)
        counts = None if row.counts is None else row.counts[steps]
        return Slot(values, row.mask[steps], row.times[times], row.source_times[times], counts)

    def sample(self, i: int) -> Sample:
        """One sample as views of the batch's memory."""
        sample = Sample(self.windows[i])
        for name, spec in self._specs.items():
            slot = self.slot(i, name)
            sample.data[name] = slot.values
            if spec is not None:
                sample.mask[name], sample.times[name] = slot.mask, slot.times
                sample.source_times[name] = slot.source_times
                sample.lengths[name] = len(slot.mask)
                if slot.counts is not None:
                    sample.counts[name] = slot.counts
                if spec.columns:
                    sample.columns[name] = spec.columns
        for part in CAMERA:
            own = getattr(sample, part)
            own.update({name: array[i] for name, array in self._parts[part].items()})
        return sample

    def replace(self, i: int, sample: Sample) -> None:
        """Take what a transform made of sample i.

        Masks and times it put in place of the sample's own are copied. Raises FieldError if they
        have another length.
        """
        for name, spec in self._specs.items():
            if spec is not None:
                take_changes(self.slot(i, name), name, sample, self.windows[i])
        self._changed[i] = sample

    def collate(self, keep: Sequence[int] | None = None) -> Collated:
        """Finish the batch; `keep` lists the samples that stay (default all).

        Raises FieldError if a transform gave arrays that do not stack.
        """
        if keep is not None and len(keep) < len(self.windows):
            return self._kept(keep).collate()
        samples = [self._changed.get(i) for i in range(len(self.windows))]
        extra: dict[str, NDArray[Any]] = {}
        lists, order = self._lists, list(self._specs)
        if any(sample is not None for sample in samples):
            full = [s if s is not None else self.sample(i) for i, s in enumerate(samples)]
            padding = len(self.jobs) - len(self.windows)
            extra, lists, order = stack(full, self.windows, padding, self._is_untouched)
        finishes = {
            name: finish
            for name in order
            if name not in extra and (finish := self._finish(name)) is not None
        }
        columns = {
            name: spec.columns
            for name, spec in self._specs.items()
            if spec is not None and spec.columns and name in order and name not in extra
        }
        return Collated(
            self.windows, self._block, self._layout, extra, lists, order, finishes, columns
        )

    def _finish(self, name: str) -> Finish | None:
        planned = next((jobs for jobs in self.jobs if jobs), None)
        if planned is None or name not in planned:
            return None
        return finish_of(planned[name].field)

    def _is_untouched(self, name: str, i: int, value: Any) -> bool:
        if self._specs.get(name) is None or not isinstance(value, np.ndarray):
            return False
        own = self.slot(i, name).values
        known, given = own.__array_interface__, value.__array_interface__
        return all(known[key] == given[key] for key in ("data", "shape", "strides", "typestr"))

    def _kept(self, keep: Sequence[int]) -> Assembly:
        kept = Assembly(
            [self.windows[i] for i in keep], [self.jobs[i] for i in keep], self._specs, self._ring
        )
        for new, old in enumerate(keep):
            for name, spec in self._specs.items():
                if spec is None:
                    kept._lists[name][new] = self._lists[name][old]
                    continue
                kept.slot(new, name).take(self.slot(old, name))
            if old in self._changed:
                kept._changed[new] = self._changed[old]
        return kept
