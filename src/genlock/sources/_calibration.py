"""Rigid transforms as files write them, 4x4 matrices, as the extrinsics of a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from genlock._rotation import from_matrices
from genlock.stream import Extrinsics


def extrinsics(parent: str, matrix: Any) -> Extrinsics | None:
    """T_parent_stream from 16 numbers in rows; None unless they are a rigid transform."""
    transform = np.asarray(matrix, np.float64).reshape(4, 4)
    rotation = transform[:3, :3]
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-3):
        return None
    position, quaternion = transform[:3, 3].tolist(), from_matrices(rotation).tolist()
    return Extrinsics(parent, tuple(position), tuple(quaternion))
