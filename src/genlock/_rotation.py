"""Rigid poses in numpy: unit quaternions in the order x, y, z, w, and T_parent_child as [N, 7].

Pure functions on float64 arrays whose last axis is the quaternion, the vector or the pose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def normalised(quaternions: Floats) -> Floats:
    """Unit quaternions of the same direction; NaN where the norm is 0 or infinite."""
    norms = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return np.asarray(quaternions / norms)


def slerp(left: Floats, right: Floats, weight: Floats) -> Floats:
    """Rotate from left to right along the shorter arc, at constant angular speed.

    left, right: [N, 4], of any norm; q and -q are the same rotation, so the right one takes the
    sign that is nearer to the left. weight: [N, 1], of the right one. Returns unit quaternions
    [N, 4]. Formula: K. Shoemake, "Animating rotation with quaternion curves", SIGGRAPH 1985.
    """
    left, right = normalised(left), normalised(right)
    cosine = np.sum(left * right, axis=-1, keepdims=True)
    right = np.where(cosine < 0, -right, right)
    angle = np.arccos(np.minimum(np.abs(cosine), 1.0))
    # sin(w * angle) / sin(angle), written with sinc so that it tends to w as the angle vanishes
    share = [w * np.sinc(w * angle / np.pi) for w in (1 - weight, weight)]
    return normalised((left * share[0] + right * share[1]) / np.sinc(angle / np.pi))


def lerp(left: Floats, right: Floats, weight: Floats) -> Floats:
    """left + (right - left) * weight; NaN at infinities."""
    with np.errstate(invalid="ignore"):
        step = right - left
        step *= weight
        step += left
        return np.asarray(step)


def between(left: Floats, right: Floats, weight: Floats) -> Floats:
    """Poses [N, 7] between two: translation linear, rotation by `slerp`."""
    position = lerp(left[:, :3], right[:, :3], weight)
    return np.concatenate([position, slerp(left[:, 3:], right[:, 3:], weight)], axis=-1)


def product(left: Floats, right: Floats) -> Floats:
    """Hamilton product: the rotation by `right`, then by `left`."""
    (a, d), (b, e) = ((q[..., :3], q[..., 3:]) for q in (left, right))
    vector = d * b + e * a + np.cross(a, b)
    return np.concatenate([vector, d * e - np.sum(a * b, axis=-1, keepdims=True)], axis=-1)


def conjugate(quaternions: Floats) -> Floats:
    """The inverse of unit quaternions."""
    return np.asarray(quaternions * np.array([-1.0, -1.0, -1.0, 1.0]))


def rotated(vectors: Floats, quaternions: Floats) -> Floats:
    """Vectors [N, 3] rotated by unit quaternions [N, 4]."""
    axis, w = quaternions[..., :3], quaternions[..., 3:]
    twice = 2 * np.cross(axis, vectors)
    return np.asarray(vectors + w * twice + np.cross(axis, twice))


def composed(poses: Floats, mounts: Floats) -> Floats:
    """pose * mount: T_a_b [N, 7] and T_b_c, as many or one [1, 7], give T_a_c."""
    mounts = np.broadcast_to(mounts, poses.shape)
    position = poses[:, :3] + rotated(mounts[:, :3], poses[:, 3:])
    return np.concatenate([position, product(poses[:, 3:], mounts[:, 3:])], axis=-1)


def relative(poses: Floats, references: Floats) -> Floats:
    """inverse(reference) * pose, for poses [N, 7] and as many references, or one [1, 7]."""
    inverse = np.broadcast_to(conjugate(references[:, 3:]), (len(poses), 4))
    moved = rotated(poses[:, :3] - references[:, :3], inverse)
    return np.concatenate([moved, product(inverse, poses[:, 3:])], axis=-1)


def related(poses: Floats, to: str | None) -> Floats:
    """Poses [N, 7] relative to the "first", each to the "previous" one, or as they are (None).

    Signs of quaternions: no flip from one pose to the next; for "previous", w >= 0.
    """
    if to == "previous":
        steps = relative(poses, np.concatenate([poses[:1], poses[:-1]]))
        steps[:, 3:] *= np.where(steps[:, 6:] < 0, -1.0, 1.0)
        return steps
    found = poses.copy() if to is None else relative(poses, poses[:1])
    opposite = np.sum(found[1:, 3:] * found[:-1, 3:], axis=-1, keepdims=True) < 0
    found[1:, 3:] *= np.cumprod(np.where(opposite, -1.0, 1.0), axis=0)
    return found


def from_matrices(matrices: Floats) -> Floats:
    """Unit quaternions [N, 4], w >= 0, of rotation matrices [N, 3, 3].

    The entries sum to the outer product 4 q qT, of which the row of the largest component is taken,
    so that nothing is divided by a small number: S. W. Shepperd, "Quaternion from rotation matrix",
    Journal of Guidance and Control 1978. A matrix that is slightly no rotation gives the nearby
    one; NaN where the entries are not finite.
    """
    m = np.moveaxis(np.asarray(matrices, np.float64), (-2, -1), (0, 1))
    outer = np.empty((*m.shape[2:], 4, 4))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        outer[..., i, j] = outer[..., j, i] = m[i, j] + m[j, i]
    for i, (j, k) in enumerate(((2, 1), (0, 2), (1, 0))):
        outer[..., i, 3] = outer[..., 3, i] = m[j, k] - m[k, j]
        outer[..., i, i] = 1 + 2 * m[i, i] - (m[0, 0] + m[1, 1] + m[2, 2])
    outer[..., 3, 3] = 1 + m[0, 0] + m[1, 1] + m[2, 2]
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    found = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    return normalised(np.where(found[..., 3:] < 0, -found, found))
