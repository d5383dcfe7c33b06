"""The values at the grid times, copied or blended from the rows that a plan chose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock import _rotation
from genlock.align._rows import Plan
from genlock.errors import FieldError


def apply(plan: Plan, values: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Give the values at the grid times: [T, …], zeros where masked.

    values: [N, …] of all rows of the timeline, an array or a memory map. Rows are copied, or
    blended in float64 and then cast to the dtype of out (default: a new array of the values' own
    dtype). Raises FieldError if a row used holds NaN, and rather than blend into integers.
    """
    if out is None:
        out = np.empty((len(plan.mask), *values.shape[1:]), values.dtype)
    used = slice(None) if plan.mask.all() else np.flatnonzero(plan.mask)
    left, right = plan.rows[used].T
    values = np.asarray(values)
    found = values.take(left, axis=0)
    if plan.weight.any():
        if out.dtype.kind != "f":
            raise FieldError(
                f"{out.dtype} values are never blended: use 'nearest', or a float dtype"
            )
        found = found.astype(np.float64, copy=False)
        found = _blended(found, values.take(right, axis=0), plan.weight[used])
    _refuse_nan(plan, found)
    if len(found) < len(out):
        out[...] = 0
    out[used] = found
    return out


def _blended(
    left: NDArray[np.float64], right: NDArray[Any], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Blend rows by weight [T]; one that is hit stays as it is, to the sign of a zero."""
    found = _rotation.lerp(left, right, weight.reshape(-1, *(1,) * (left.ndim - 1)))
    hit = weight == 0
    if hit.any():
        found[hit] = left[hit]
    return found


def apply_pose(
    plan: Plan,
    poses: NDArray[Any],
    relative_to: str | None = None,
    mount: NDArray[np.float64] | None = None,
    reference: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Give the poses at the grid times: float64 [T, 7], tx ty tz qx qy qz qw, zeros where masked.

    poses: [N, 7] of all rows, T_parent_child. Translations are blended linearly, rotations by
    slerp. relative_to: "first" or "previous" among the valid entries, or None. mount: T_child_x
    [7], turns the poses into T_parent_x. reference: T_parent_other [T, 7] at the grid times, turns
    them into T_other_x. Quaternions have norm 1; their signs never flip from one valid entry to the
    next, the first being as stored; after relative_to="previous" each has w >= 0. Raises FieldError
    if a row used holds NaN or a quaternion of norm 0.
    """
    out = np.zeros((len(plan.mask), 7))
    used = np.flatnonzero(plan.mask)
    left, right = (np.asarray(poses[rows], np.float64) for rows in plan.rows[used].T)
    found = _rotation.between(left, right, plan.weight[used, None])
    _refuse_nan(plan, found)
    if mount is not None:
        found = _rotation.composed(found, mount[None])
    if reference is not None:
        found = _rotation.relative(found, reference[used])
    out[used] = _rotation.related(found, relative_to)
    return out


def _refuse_nan(plan: Plan, found: NDArray[Any]) -> None:
    """Raise FieldError for the first entry that is not a number. found: values of valid entries."""
    if found.dtype.kind != "f" or not np.isnan(found).any():
        return
    used = np.flatnonzero(plan.mask)
    entry = used[np.isnan(found).reshape(len(used), -1).any(axis=-1).argmax()]
    rows = " or ".join(str(row) for row in np.unique(plan.rows[entry]))
    raise FieldError(
        f"row {rows} holds no usable number: plan with valid= False for such rows",
        time_ns=int(plan.grid_ns[entry]),
    )
