"""Quaternions and poses against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp

from genlock import _rotation

seeds = st.integers(0, 2**32 - 1)


def random_quaternions(rng: np.random.Generator, count: int) -> np.ndarray:
    return Rotation.random(count, random_state=rng.integers(2**31)).as_quat()


def random_poses(rng: np.random.Generator, count: int) -> np.ndarray:
    return np.concatenate([rng.normal(0, 10, (count, 3)), random_quaternions(rng, count)], axis=1)


def matrices(poses: np.ndarray) -> np.ndarray:
    result = np.tile(np.eye(4), (len(poses), 1, 1))
    result[:, :3, :3] = Rotation.from_quat(poses[:, 3:]).as_matrix()
    result[:, :3, 3] = poses[:, :3]
    return result


def same_rotations(found: np.ndarray, expected: np.ndarray) -> None:
    """q and -q are the same; the norm is 1."""
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1, atol=1e-15)
    signs = np.sign(np.sum(found * expected, axis=-1, keepdims=True))
    np.testing.assert_allclose(found * signs, expected, atol=1e-12)


@given(seeds)
def test_slerp_is_scipys(seed):
    rng = np.random.default_rng(seed)
    left, right = random_quaternions(rng, 5), random_quaternions(rng, 5)
    weight = rng.random((5, 1))
    expected = [
        Slerp([0, 1], Rotation.from_quat([a, b]))(w[0]).as_quat()
        for a, b, w in zip(left, right, weight, strict=True)
    ]
    for sign in (1, -1):
        for scale in (1, 1e-3, 1e3):
            same_rotations(_rotation.slerp(left * scale, right * sign, weight), np.array(expected))


@given(seeds, st.floats(0, 1), st.sampled_from([0, 1e-15, 1e-12, 1e-9, 1e-8, 1e-6, 1e-3]))
def test_slerp_keeps_its_pace_however_small_the_turn(seed, weight, angle):
    rng = np.random.default_rng(seed)
    start = Rotation.from_quat(random_quaternions(rng, 1)[0])
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    end = (start * Rotation.from_rotvec(axis * angle)).as_quat()
    found = _rotation.slerp(start.as_quat()[None], end[None], np.array([[weight]]))
    expected = (start * Rotation.from_rotvec(axis * angle * weight)).as_quat()
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=4e-16)


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_opposite_quaternions_are_one_rotation(weight):
    q = np.array([[0.5, -0.5, 0.5, 0.5]])
    np.testing.assert_allclose(_rotation.slerp(q, -q, np.array([[weight]])), q, atol=1e-15)


def test_half_a_turn_has_two_shortest_arcs_and_takes_one():
    left, right = np.array([[0.0, 0, 0, 1]]), np.array([[1.0, 0, 0, 0]])
    found = _rotation.slerp(left, right, np.array([[0.5]]))
    np.testing.assert_allclose(found, [[0.5**0.5, 0, 0, 0.5**0.5]], atol=1e-15)


def test_no_rotation_is_nan_and_no_warning():
    zero = np.zeros((1, 4))
    assert np.isnan(_rotation.slerp(zero, zero, np.zeros((1, 1)))).all()


@given(seeds)
def test_relative_poses_are_products_of_matrices(seed):
    rng = np.random.default_rng(seed)
    poses, references = random_poses(rng, 6), random_poses(rng, 6)
    found = _rotation.relative(poses, references)
    expected = np.linalg.inv(matrices(references)) @ matrices(poses)
    np.testing.assert_allclose(matrices(found), expected, atol=1e-12)
    found = _rotation.relative(poses, references[:1])
    expected = np.linalg.inv(matrices(references[:1])) @ matrices(poses)
    np.testing.assert_allclose(matrices(found), expected, atol=1e-12)


@given(seeds, st.sampled_from([None, "first", "previous"]))
def test_related_poses_and_their_signs(seed, to):
    rng = np.random.default_rng(seed)
    poses = random_poses(rng, 6)
    found = _rotation.related(poses, to)
    world = matrices(poses)
    references = {None: np.eye(4)[None], "first": world[:1], "previous": world[[0, 0, 1, 2, 3, 4]]}
    expected = np.linalg.inv(references[to]) @ world
    np.testing.assert_allclose(matrices(found), expected, atol=1e-12)
    if to == "previous":
        assert (found[:, 6] >= 0).all()
    else:
        assert (np.sum(found[1:, 3:] * found[:-1, 3:], axis=1) >= 0).all()
        assert np.array_equal(found[0], poses[0] if to is None else [0, 0, 0, 0, 0, 0, found[0, 6]])
        assert to is None or found[0, 6] == pytest.approx(1)


@given(seeds)
def test_matrices_become_the_quaternions_they_were_made_of(seed):
    rng = np.random.default_rng(seed)
    quaternions = random_quaternions(rng, 20)
    half_turns = Rotation.from_rotvec(np.pi * np.eye(3)).as_quat()
    quaternions = np.concatenate([quaternions, half_turns, [[0, 0, 0, 1]]])
    found = _rotation.from_matrices(Rotation.from_quat(quaternions).as_matrix())
    same_rotations(found, quaternions)
    assert (found[:, 3] >= 0).all()


def test_one_matrix_is_one_quaternion():
    quarter_turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(_rotation.from_matrices(quarter_turn), [0, 0, half, half])
