"""What the memory of a batch holds, in which order: the arrays of every field, from its jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genlock._memory import ArraySpec
from genlock.errors import FieldError
from genlock.jobs import Planned
from genlock.slots import SlotSpec

ARRAYS = ("values", "mask", "times", "source_times", "counts")
"""What a `Slot` holds, in its order; only point clouds have counts."""
PARTS = (*ARRAYS, "lengths")
CAMERA = ("intrinsics", "distortion")
CONSTANTS = (*CAMERA, "color")
"""Arrays that belong to a field's values as a whole, where its jobs have them (`Job.constants`)."""

Layout = list[tuple[str, str, ArraySpec]]
"""(part, field name, array) of each array of a batch, in the order of its memory."""
Jobs = Sequence[Mapping[str, Planned] | None]
"""Per sample, the planned fields; None where planning failed, and for padding."""
Specs = dict[str, SlotSpec | None]
"""What holds every sample of a field; None for labels."""


def layout_of(specs: Specs, jobs: Jobs) -> Layout:
    """Lay out the arrays of fields for as many samples as there are jobs."""
    size = len(jobs)
    kept = [(name, spec) for name, spec in specs.items() if spec is not None]
    arrays = [
        (part, name, array)
        for name, spec in kept
        for part, array in zip(ARRAYS, spec.arrays(size), strict=False)
    ]
    lengths = [("lengths", name, ArraySpec((size,), np.dtype(np.int64))) for name, _ in kept]
    return arrays + lengths + _constants(jobs)


def by_part(layout: Layout, arrays: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Arrays of a layout by what they are and by field name."""
    parts: dict[str, dict[str, Any]] = {part: {} for part in (*PARTS, *CONSTANTS)}
    for (part, name, _), array in zip(layout, arrays, strict=True):
        parts[part][name] = array
    return parts


def common_specs(jobs: Jobs, templates: Mapping[str, SlotSpec | None]) -> Specs:
    """The smallest specs that hold every sample; `templates` where no sample has any.

    Raises FieldError for values that differ in more than their length.
    """
    specs = dict(templates) if not any(jobs) else {}
    for planned in filter(None, jobs):
        for name, job in planned.items():
            spec = job.spec
            known = specs.setdefault(name, spec)
            if spec is known:
                continue
            if spec is not None and known is not None and spec != known:
                _check_same(name, known, spec, job)
                spec = known.holding(spec)
            specs[name] = spec
    return specs


def _constants(jobs: Jobs) -> Layout:
    """Where each field's constants go: the largest shape among the samples."""
    shapes: dict[tuple[str, str], tuple[int, ...]] = {}
    for planned in filter(None, jobs):
        for name, job in planned.items():
            for part, constant in job.constants.items():
                known = shapes.get((part, name), constant.shape)
                shapes[part, name] = tuple(map(max, known, constant.shape))
    return [
        (part, name, ArraySpec((len(jobs), *shape), np.dtype(np.float32)))
        for (part, name), shape in shapes.items()
    ]


def _check_same(name: str, known: SlotSpec, spec: SlotSpec, job: Planned) -> None:
    if known.columns != spec.columns:
        own, other = ", ".join(spec.columns), ", ".join(known.columns)
        problem = f"columns {own} do not go into one batch with {other}"
        remedy = "name the columns that are wanted, in their order"
    elif known.fixed_shape != spec.fixed_shape:
        shape = spec.values.shape
        problem = f"values of shape {shape} do not go into one batch with {known.values.shape}"
        remedy = "give the field a size, columns or channels"
    else:
        return
    recording, stream = job.place
    raise FieldError(f"field {name!r}: {problem}; {remedy}", recording=recording, stream=stream)
