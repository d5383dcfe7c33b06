"""A sample's fields as series on one time axis: what kind each is, and seconds of its grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS
from genlock.batch import Sample
from genlock.notebook._clouds import top_views
from genlock.opened import POSE_COLUMNS

Kind = Literal["pictures", "depth", "audio", "pose", "sensor"]
Seconds = NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """One field of a sample. mask: bool [T], of audio [N]; seconds: the same, from the start.

    columns: names of the traces, where they are known.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    mask: NDArray[np.bool_]
    seconds: Seconds
    columns: tuple[str, ...] = ()

    @cached_property
    def traces(self) -> NDArray[np.float64]:
        """Numbers [D, T] to draw as lines, NaN where masked."""
        rows = self.values if self.kind == "audio" else self.values.reshape(len(self.mask), -1).T
        return np.where(self.mask, rows, np.nan).astype(np.float64)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the traces; numbers where a transform or a table of arrays has no names."""
        count = len(self.traces)
        return self.columns if len(self.columns) == count else tuple(map(str, range(count)))


def shortened(name: str, most: int) -> str:
    """A name for a plot, in at most so many letters: where it is longer, its start and its end."""
    if len(name) > most:
        end = (most - 1) // 2
        name = f"{name[: most - 1 - end]}…{name[-end:]}"
    return name.replace("$", r"\$")  # or matplotlib takes what is between two for a formula


def series_of(sample: Sample) -> list[Series]:
    """Every array field of a sample that has grid times, in the sample's order.

    Point clouds are pictures of what they look like from above.
    """
    return list(_series(sample))


def _series(sample: Sample) -> Iterator[Series]:
    for name, values in sample.items():
        if not isinstance(values, np.ndarray) or name not in sample.mask or values.ndim < 1:
            continue
        mask, times = sample.mask[name], sample.times[name]
        seconds = (times - sample.window.start_ns) / SECOND_NS
        columns = sample.columns.get(name, ())
        kind = _kind(values, mask, times, columns)
        if kind == "audio" and len(mask):
            step = sample.window.duration_ns / SECOND_NS / len(mask)
            seconds = seconds[0] + np.arange(len(mask)) * step
        if name in sample.counts and values.ndim == 3:
            kind, values = "pictures", top_views(values, sample.counts[name])
        if values.shape[-1 if kind == "audio" else 0] == len(mask):
            yield Series(name, kind, values, mask, seconds, columns)


def _kind(
    values: NDArray[Any],
    mask: NDArray[np.bool_],
    times: NDArray[np.int64],
    columns: tuple[str, ...],
) -> Kind:
    """What a field is, by its shape and columns: a sample does not carry the fields it is of."""
    if values.ndim >= 3:
        return "depth" if values.ndim == 3 else "pictures"
    if len(times) == 1 and values.ndim == 2 and values.shape[1] == len(mask) > 1:
        return "audio"
    return "pose" if columns == POSE_COLUMNS and values.shape[1:] == (7,) else "sensor"
