"""What transforms made of the samples of a batch: checked, and stacked anew where it is new."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._layout import ARRAYS
from genlock.batch import Sample
from genlock.errors import FieldError
from genlock.slots import Slot
from genlock.windows import Window

LONG = (np.dtype(np.longdouble), np.dtype(np.clongdouble))
"""Numbers that torch has no type for."""


def take_changes(slot: Slot, name: str, sample: Sample, window: Window) -> None:
    """Copy the masks and times of a field that a transform put in place of the slot's own.

    Raises FieldError if they have another length.
    """
    for part in ARRAYS[1:]:
        own, given = getattr(slot, part), getattr(sample, part).get(name)
        if own is not None and given is not None:
            _put(own, given, f"the {part} of field {name!r}", window)


def stack(
    samples: Sequence[Sample],
    windows: Sequence[Window],
    padding: int,
    is_untouched: Callable[[str, int, Any], bool],
) -> tuple[dict[str, NDArray[Any]], dict[str, list[Any]], list[str]]:
    """Arrays of new values by name, lists of what no tensor holds, and all names in order.

    padding: samples of zeros behind each array. is_untouched(name, i, value): whether a value still
    is the batch's own memory. Raises FieldError for samples that do not stack.
    """
    extra: dict[str, NDArray[Any]] = {}
    lists: dict[str, list[Any]] = {}
    for sample, window in zip(samples, windows, strict=True):
        if sample.keys() != samples[0].keys():
            raise FieldError(
                f"the transform gave {sorted(map(str, sample))} at {window.start_ns} ns, but "
                f"{sorted(map(str, samples[0]))} for the first sample of the batch",
                recording=window.recording,
            )
    for name in samples[0]:
        values = [sample[name] for sample in samples]
        if not all(map(_is_numeric, values)):
            lists[name] = values
        elif not all(is_untouched(name, i, v) for i, v in enumerate(values)):
            values += [np.zeros_like(values[0])] * padding
            extra[name] = _stacked(name, values, windows)
    return extra, lists, list(samples[0])


def _put(own: NDArray[Any], given: Any, what: str, window: Window) -> None:
    if np.shape(given) != own.shape:
        raise FieldError(
            f"the transform gave {what} of shape {np.shape(given)} where the batch has "
            f"{own.shape}: keep its length, or give the values under a name of their own",
            recording=window.recording,
            time_ns=window.start_ns,
        )
    own[...] = given


def _is_numeric(value: Any) -> bool:
    """Whether a tensor can hold the value; what it cannot stays in a list."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufc" and value.dtype not in LONG
    return isinstance(value, int | float)


def _stacked(name: str, values: list[Any], windows: Sequence[Window]) -> NDArray[Any]:
    shapes = [np.shape(value) for value in values]
    for shape, window in zip(shapes, windows, strict=False):
        if shape != shapes[0]:
            raise FieldError(
                f"the transform gave field {name!r} of shape {shape} at {window.start_ns} ns, but "
                f"{shapes[0]} for the first sample of the batch",
                recording=window.recording,
            )
    return np.stack(values)
