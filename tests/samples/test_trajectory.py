"""The closed-form rates agree with finite differences of position and rotation."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from genlock.samples import gaze, trajectory

TIMES = np.linspace(0, 12, 241)
STEP = 1e-3


def test_specific_force_is_the_second_difference_of_position_plus_gravity() -> None:
    behind, here, ahead = (trajectory.position(TIMES + k * STEP) for k in (-1, 0, 1))
    acceleration = (behind - 2 * here + ahead) / STEP**2
    body = Rotation.from_quat(trajectory.quaternion(TIMES)).inv()
    expected = body.apply(acceleration + np.array([0, 0, 9.81]))
    np.testing.assert_allclose(trajectory.specific_force(TIMES), expected, atol=1e-4)


def test_angular_velocity_is_the_difference_of_rotations() -> None:
    before = Rotation.from_quat(trajectory.quaternion(TIMES - STEP))
    after = Rotation.from_quat(trajectory.quaternion(TIMES + STEP))
    expected = (before.inv() * after).as_rotvec() / (2 * STEP)
    np.testing.assert_allclose(trajectory.angular_velocity(TIMES), expected, atol=1e-4)


def test_quaternions_are_unit_continuous_and_change_cover() -> None:
    q = trajectory.quaternion(np.arange(0, 10, 0.01))
    np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1, atol=1e-12)
    assert ((q[1:] * q[:-1]).sum(1) > 0.99).all()
    assert q[:, 3].min() < 0 < q[:, 3].max()


def test_rotation_matrix_and_product_agree_with_scipy() -> None:
    a, b = trajectory.quaternion(TIMES), trajectory.quaternion(TIMES[::-1] + 0.3)
    np.testing.assert_allclose(
        trajectory.rotation_matrix(trajectory.multiply(a, b)),
        (Rotation.from_quat(a) * Rotation.from_quat(b)).as_matrix(),
        atol=1e-12,
    )


def test_the_shape_of_times_is_kept() -> None:
    t = TIMES[:6].reshape(2, 3)
    assert trajectory.position(1.0).shape == (3,)
    assert trajectory.quaternion(t).shape == (2, 3, 4)
    assert trajectory.specific_force(t).shape == trajectory.angular_velocity(t).shape == (2, 3, 3)
    np.testing.assert_array_equal(
        trajectory.specific_force(t)[1, 2], trajectory.specific_force(t[1, 2])
    )


def test_gaze_points_where_the_head_will_face() -> None:
    yaw, pitch = gaze(TIMES).T
    looking = np.stack(
        [np.cos(pitch) * np.cos(yaw), np.cos(pitch) * np.sin(yaw), np.sin(pitch)], axis=1
    )
    world = Rotation.from_quat(trajectory.quaternion(TIMES)).apply(looking)
    later = Rotation.from_quat(trajectory.quaternion(TIMES + 0.2)).apply([1, 0, 0])
    np.testing.assert_allclose(world, later, atol=1e-12)
