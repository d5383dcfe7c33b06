"""Tables: columns as arrays, poses with quaternions of norm 1, and which rows hold a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock.interfaces import Units
from genlock.stream import Stream

QUATERNION = ("qx", "qy", "qz", "qw")


class TableDecoder:
    """Gives a table's columns: [N] or [N, k], rows as in the stream's timeline. Thread-safe.

    Numbers that are missing are NaN. Quaternions of a pose are x, y, z, w with norm 1; one that
    cannot be normalised (norm 0, not finite) is NaN in all four. Raises what `Units.unit` raises.
    """

    def __init__(self, units: Units, stream: Stream) -> None:
        self._units = units
        columns: Mapping[str, NDArray[Any]] = units.unit(0)
        if stream.info.modality == "pose":
            columns = {**columns, **_normalised({name: columns[name] for name in QUATERNION})}
        self._columns = columns

    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Arrays by column, read-only."""
        return self._columns

    def close(self) -> None:
        """Close the units."""
        self._units.close()


def _normalised(columns: Mapping[str, NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
    quaternions = np.stack(list(columns.values()))
    with np.errstate(invalid="ignore", over="ignore"):
        # scaled by the largest component first, so that no square overflows or vanishes
        largest = np.abs(quaternions).max(axis=0)
        usable = np.isfinite(largest) & (largest > 0)
        scaled = quaternions / np.where(usable, largest, np.nan)
    scaled /= np.sqrt((scaled**2).sum(axis=0))
    scaled.flags.writeable = False
    return dict(zip(columns, scaled, strict=True))


def valid_rows(columns: Mapping[str, NDArray[Any]], names: Iterable[str]) -> NDArray[np.bool_]:
    """Which rows hold a value in every one of the named columns: bool [N].

    A row is invalid where a float is NaN or infinite, in any of its k values for [N, k].
    """
    rows = len(next(iter(columns.values()), ()))
    valid = np.ones(rows, np.bool_)
    for name in names:
        values = columns[name]
        if np.issubdtype(values.dtype, np.floating):
            finite = np.isfinite(values)
            valid &= finite if finite.ndim == 1 else finite.all(axis=1)
    return valid
