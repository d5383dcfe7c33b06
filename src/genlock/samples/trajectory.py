"""The head's motion in closed form: what every stream of the sample recording is derived from.

Times `t` are seconds on the recording clock after the recording's zero (`rig.ZERO_NS`), a float
or an array of any shape `[...]`. The world frame is z up with its origin on the floor in the
middle of the room; the device frame is x forward, y left, z up and is also the frame of the IMU.
All functions are pure, computed in float64, and safe to call from any thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

GRAVITY = 9.81
"""Magnitude of gravity in m/s^2; it points along -z of the world."""


@dataclass(frozen=True)
class _Curve:
    """`offset + slope * t + sum of amplitude * sin(2 pi hertz t + phase)`."""

    offset: float
    slope: float
    waves: tuple[tuple[float, float, float], ...]  # amplitude, hertz, phase

    def __call__(self, t: ArrayLike, order: int = 0) -> Floats:
        """Value (order 0) or derivative of that order at `t`."""
        t = np.asarray(t, np.float64)
        line = (self.offset + self.slope * t, np.full_like(t, self.slope), np.zeros_like(t))
        total = line[min(order, 2)]
        for amplitude, hertz, phase in self.waves:
            omega = 2 * np.pi * hertz
            angle = omega * t + phase + order * np.pi / 2
            total = total + amplitude * omega**order * np.sin(angle)
        return total


# A person strolls about the middle of the room and turns once round in some 14 s, so that the
# quaternion passes through w = 0. The waves near 2 Hz are steps.
_POSITION = (
    _Curve(-0.35, 0.0, ((0.55, 0.11, -0.9), (0.012, 0.95, 0.4))),
    _Curve(-0.10, 0.0, ((0.50, 0.13, -1.2), (0.020, 0.95, 1.9))),
    _Curve(1.58, 0.0, ((0.05, 0.17, 0.3), (0.014, 1.90, 0.0))),
)
_YAW = _Curve(0.06, 0.44, ((0.22, 0.21, 0.0), (0.020, 0.95, 0.7)))
_PITCH = _Curve(0.06, 0.0, ((0.09, 0.27, 0.4), (0.012, 1.90, 1.1)))
_ROLL = _Curve(0.0, 0.0, ((0.05, 0.19, 1.0), (0.010, 0.95, 0.2)))


def position(t: ArrayLike) -> Floats:
    """Position of the device in the world, metres, `[..., 3]`."""
    return np.stack([curve(t) for curve in _POSITION], axis=-1)


def quaternion(t: ArrayLike) -> Floats:
    """Unit quaternion x, y, z, w of T_world_device, `[..., 4]`, continuous in `t`.

    It is not confined to w >= 0: it passes from one of the two covers of the rotations to the
    other as the head turns round.
    """
    turns = [_axis_rotation(curve(t), axis) for axis, curve in ((2, _YAW), (1, _PITCH), (0, _ROLL))]
    return multiply(multiply(turns[0], turns[1]), turns[2])


def angular_velocity(t: ArrayLike) -> Floats:
    """Angular velocity in the device frame, rad/s, `[..., 3]`: what a perfect gyroscope reads.

    Rates of yaw, pitch, roll (intrinsic z, y, x) taken to the body: Diebel, "Representing
    Attitude" (2006), the conjugate Euler angle rates matrix of the sequence (1, 2, 3).
    """
    pitch, roll = _PITCH(t), _ROLL(t)
    yaw_rate, pitch_rate, roll_rate = _YAW(t, 1), _PITCH(t, 1), _ROLL(t, 1)
    across = yaw_rate * np.cos(pitch)
    return np.stack(
        [
            roll_rate - yaw_rate * np.sin(pitch),
            pitch_rate * np.cos(roll) + across * np.sin(roll),
            across * np.cos(roll) - pitch_rate * np.sin(roll),
        ],
        axis=-1,
    )


def specific_force(t: ArrayLike) -> Floats:
    """Acceleration less gravity in the device frame, m/s^2, `[..., 3]`.

    What a perfect accelerometer reads: about +GRAVITY along z for a head that is upright.
    """
    force = np.stack([curve(t, 2) for curve in _POSITION], axis=-1)
    force[..., 2] += GRAVITY
    return into_frame(quaternion(t), force)


def into_frame(q: Floats, vectors: Floats) -> Floats:
    """World vectors `[..., 3]` as seen in frames whose T_world_frame has the quaternion `q`."""
    seen: Floats = np.einsum("...ji,...j->...i", rotation_matrix(q), vectors)
    return seen


def multiply(a: Floats, b: Floats) -> Floats:
    """Hamilton product of quaternions x, y, z, w, `[..., 4]`: first `b` is applied, then `a`."""
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    return np.concatenate([vector, aw * bw - (av * bv).sum(-1, keepdims=True)], axis=-1)


def rotation_matrix(q: Floats) -> Floats:
    """Matrices `[..., 3, 3]` of unit quaternions x, y, z, w, `[..., 4]`."""
    vector, w = q[..., :3], q[..., 3, None]
    # The columns are the rotated axes: v + 2 w (q x v) + 2 q x (q x v).
    columns = []
    for axis in np.eye(3):
        once = np.cross(vector, axis)
        columns.append(axis + 2 * w * once + 2 * np.cross(vector, once))
    return np.stack(columns, axis=-1)


def _axis_rotation(angle: Floats, axis: int) -> Floats:
    """Quaternions `[..., 4]` of rotations by `angle` radians about one axis."""
    q = np.zeros((*angle.shape, 4))
    q[..., axis] = np.sin(angle / 2)
    q[..., 3] = np.cos(angle / 2)
    return q
