"""Where the eyes look: ahead of the head's turn, with blinks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from genlock.samples import trajectory
from genlock.samples.trajectory import Floats

_LEAD = 0.2  # seconds by which the eyes lead the head
_BLINK_PERIOD, _BLINK_LENGTH, _FIRST_BLINK = 2.3, 0.15, 1.1


def gaze(t: ArrayLike) -> Floats:
    """Yaw (left is positive) and pitch (up is positive) of the gaze, radians, `[..., 2]`.

    The direction, in the device frame, to which the head's forward axis points 0.2 s later. It
    goes on during a blink; only the file has NaN there.
    """
    t = np.asarray(t, np.float64)
    later = trajectory.rotation_matrix(trajectory.quaternion(t + _LEAD))[..., 0]
    x, y, z = np.moveaxis(trajectory.into_frame(trajectory.quaternion(t), later), -1, 0)
    return np.stack([np.arctan2(y, x), np.arcsin(z)], axis=-1)


def blinking(t: ArrayLike) -> NDArray[np.bool_]:
    """Whether the eyes are shut at `t`, bool `[...]`."""
    since = np.asarray(t, np.float64) - _FIRST_BLINK
    return (since >= 0) & (since % _BLINK_PERIOD < _BLINK_LENGTH)
