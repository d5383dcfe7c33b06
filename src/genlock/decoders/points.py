"""Point clouds: the values of each point side by side, what is not finite left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock.errors import DecodeError
from genlock.interfaces import Units
from genlock.stream import Stream


class CloudDecoder:
    """Gives rows of a stream of point clouds; see `PointDecoder`. One thread at a time."""

    def __init__(self, units: Units, stream: Stream) -> None:
        self._units = units

    def read(self, row: int, columns: Sequence[str], dtype: np.dtype[Any]) -> NDArray[Any]:
        cloud: Mapping[str, NDArray[Any]] = self._units.unit(row)
        parts = [_column(cloud, name) for name in columns]
        points = np.empty((len(parts[0]), len(parts)), dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            for i, part in enumerate(parts):
                points[:, i] = part
        finite = np.isfinite(points).all(axis=1)
        return points if finite.all() else points[finite]

    def close(self) -> None:
        """Close the units."""
        self._units.close()


def _column(cloud: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any]:
    """One value of each point: [P]. "normal.2" is the third value of the field "normal"."""
    if name in cloud and cloud[name].ndim == 1:
        return cloud[name]
    field, _, number = name.rpartition(".")
    values = cloud.get(field)
    if values is None or values.ndim != 2 or number not in map(str, range(values.shape[1])):
        raise DecodeError(f"the points of this cloud have no {name!r}")
    column: NDArray[Any] = values[:, int(number)]
    return column
