"""Values at grid times against fractions, and cases with known right values."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_rows import MS, streams

from genlock.align import apply, apply_pose, plan, plan_field
from genlock.errors import FieldError
from genlock.fields import Pose, Sensor
from genlock.timeline import Timeline, settle


@given(streams(), st.lists(st.integers(-30, 200), max_size=12), st.integers(0, 2**32))
def test_linear_values_follow_the_line(stream, elapsed, seed):
    timeline, valid, rows = stream
    values = np.random.default_rng(seed).integers(-1000, 1000, (len(rows), 3)).astype(np.float64)
    found = plan(
        np.array(elapsed, np.int64) + (rows[0].time if rows else 0),
        timeline,
        method="linear",
        valid=valid,
    )
    expected = np.zeros((len(elapsed), 3))
    for i, ok in enumerate(found.mask):
        if ok:
            left, right = found.rows[i]
            weight = Fraction(found.weight[i])
            line = [
                Fraction(a) + (Fraction(b) - Fraction(a)) * weight
                for a, b in zip(values[left], values[right], strict=True)
            ]
            expected[i] = [float(v) for v in line]
    np.testing.assert_allclose(apply(found, values), expected, rtol=0, atol=1e-12)


def test_chosen_values_are_copied_bit_for_bit():
    ids = np.array([2**63 - 1, -(2**63) + 1, 7])
    found = plan(np.array([0, 14, 16, 99]), Timeline([0, 10, 20]), method="nearest")
    assert apply(found, ids).tolist() == [2**63 - 1, -(2**63) + 1, 7, 0]
    assert apply(found, ids).dtype == np.int64
    frames = np.arange(24, dtype=np.uint8).reshape(3, 2, 2, 2)
    assert np.array_equal(apply(found, frames)[:3], frames)


def test_a_row_that_is_hit_is_copied_whatever_is_blended_beside_it():
    values = np.array([[-0.0, 1.0], [-0.0, 3.0]])
    found = plan(np.array([0, 5, 10]), Timeline([0, 10]), method="linear")
    blended = apply(found, values)
    assert blended[:, 1].tolist() == [1, 2, 3]
    assert np.signbit(blended[[0, 2], 0]).all()  # as where every time is a hit
    hits = plan(np.array([0, 10]), Timeline([0, 10]), method="linear")
    assert apply(hits, values).tobytes() == blended[[0, 2]].tobytes()


def test_values_are_blended_in_float64_and_written_where_wanted(tmp_path: Path):
    stored = np.lib.format.open_memmap(tmp_path / "v.npy", "w+", np.float32, (3, 1))
    stored[:] = [[16_777_216], [16_777_218], [0]]  # float32 has no number between the first two
    found = plan(np.array([5, 10, 25]), Timeline([0, 10, 20]), method="linear")
    out = np.full((3, 1), np.nan)
    assert apply(found, stored, out) is out
    assert out.tolist() == [[16_777_217], [16_777_218], [0]]
    assert apply(found, stored).dtype == np.float32
    assert type(apply(found, stored)) is np.ndarray


def test_integers_are_never_blended():
    found = plan(np.array([5]), Timeline([0, 10]), method="linear")
    with pytest.raises(FieldError, match="never blended"):
        apply(found, np.array([1, 2]))
    assert apply(found, np.array([1, 2]), np.empty(1, np.float32)).tolist() == [1.5]


@pytest.mark.parametrize("method", ["nearest", "linear"])
def test_what_is_not_a_number_never_leaves_as_one(method):
    values = np.array([[0.0], [np.nan], [2.0], [3.0]])
    timeline = Timeline([0, 10, 20, 30])
    valid = np.isfinite(values).all(axis=1)
    found = plan(np.array([7, 13, 20]), timeline, method=method, valid=valid)
    assert np.isfinite(apply(found, values)).all()
    careless = plan(np.array([25, 8]), timeline, method=method)
    with pytest.raises(FieldError, match=r"row .*1 holds no usable number.*valid") as error:
        apply(careless, values)
    assert error.value.time_ns == 8


def test_infinities_are_copied_and_not_blended_to_nan():
    values, timeline = np.array([np.inf, 2.0]), Timeline([0, 10])
    assert apply(plan(np.array([0]), timeline, method="nearest"), values).tolist() == [np.inf]
    with pytest.raises(FieldError, match="row 0 or 1"):
        apply(plan(np.array([5]), timeline, method="linear"), values)


# Poses (the mathematics is in test_rotation)


def turn(degrees: float, axis: int = 0) -> list[float]:
    quaternion = [0.0, 0.0, 0.0, float(np.cos(np.radians(degrees) / 2))]
    quaternion[axis] = float(np.sin(np.radians(degrees) / 2))
    return quaternion


def poses_at(
    times: list[int], timeline: Timeline, poses: list[list[float]], **options
) -> np.ndarray:
    found = plan(np.array(times), timeline, method="slerp")
    return apply_pose(found, np.array(poses), **options)


def test_poses_are_blended_and_masked():
    poses = [[0, 0, 0, *turn(0)], [2, 4, 6, *turn(90)], [4, 4, 6, *turn(90)]]
    found = poses_at([-1, 0, 5, 10, 20], Timeline([0, 10, 20]), poses)
    expected = [[0.0] * 7, poses[0], [1, 2, 3, *turn(45)], poses[1], poses[2]]
    np.testing.assert_allclose(found, expected, atol=1e-15)
    assert not found[0].any()


def test_signs_follow_the_first_entry():
    stored = [[0, 0, 0, *turn(a)] for a in (10, 20, 30, 40)]
    flipped = np.array(stored) * [[1] * 7, [-1] * 7, [-1] * 7, [1] * 7]
    times = [0, 5, 10, 15, 20, 25, 30]
    timeline = Timeline([0, 10, 20, 30])
    smooth = poses_at(times, timeline, stored)
    np.testing.assert_allclose(poses_at(times, timeline, flipped.tolist()), smooth, atol=1e-15)
    np.testing.assert_allclose(smooth[::2], stored, atol=1e-15)
    np.testing.assert_allclose(poses_at(times[2:], timeline, flipped.tolist()), -smooth[2:])


def test_relative_poses_start_at_the_first_valid_one():
    poses = [[1, 0, 0, *turn(90, 2)], [1, 2, 0, *turn(90, 2)], [1, 2, 0, *turn(120, 2)]]
    poses[1] = [-v if i > 2 else v for i, v in enumerate(poses[1])]
    timeline = Timeline([0, 10, 20])
    first = poses_at([-5, 0, 10, 20], timeline, poses, relative_to="first")
    expected = [[0.0] * 7, [0, 0, 0, *turn(0)], [2, 0, 0, *turn(0)], [2, 0, 0, *turn(30, 2)]]
    np.testing.assert_allclose(first, expected, atol=1e-15)
    previous = poses_at([-5, 0, 10, 20], timeline, poses, relative_to="previous")
    expected[3] = [0, 0, 0, *turn(30, 2)]
    np.testing.assert_allclose(previous, expected, atol=1e-15)
    assert poses_at([-5], timeline, poses, relative_to="first").tolist() == [[0.0] * 7]


def test_the_previous_valid_pose_skips_masked_entries():
    poses = [[float(x), 0, 0, *turn(0)] for x in range(4)]
    found = plan(
        np.array([0, 10, 20, 30]),
        Timeline([0, 10, 20, 30]),
        method="nearest",
        valid=np.array([True, False, True, True]),
    )
    steps = apply_pose(found, np.array(poses), "previous")
    assert steps[:, 0].tolist() == [0, 0, 2, 1]
    assert steps[:, 6].tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("bad", [[0.0] * 7, [np.nan, 0, 0, 0, 0, 0, 1], [np.inf, 0, 0, 0, 0, 0, 1]])
def test_a_pose_without_rotation_or_place_is_refused(bad):
    poses = np.array([[0.0, 0, 0, 0, 0, 0, 1], bad])
    found = plan(np.array([10]), Timeline([0, 10]), method="slerp")
    with pytest.raises(FieldError, match="row 1 holds no usable number"):
        apply_pose(found, poses)


# Cases with known right values


def columns(path: Path) -> np.ndarray:
    return np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)[:, 1:]


def times_of(path: Path) -> np.ndarray:
    return np.loadtxt(path, np.int64, delimiter=",", skiprows=1, usecols=0)


def sampled(path: Path, times: list[int], **options) -> tuple[list[bool], list[float]]:
    kept, _ = settle(times_of(path))
    values = columns(path)[kept]
    valid = np.isfinite(values).all(axis=1)
    timeline = Timeline(times_of(path)[kept], valid=valid)
    field = Sensor("s", offsets=[Fraction(t, 10**9) for t in times], **options)
    found = plan_field(field, timeline, 0, 10**9)
    return found.mask.tolist(), apply(found, values)[:, 0].tolist()


def test_case_s04_ties_and_backward_steps(cases: Path):
    path = cases / "inputs/s04_dup_backward.csv"
    assert sampled(path, [1022 * MS]) == ([True], [pytest.approx(5.8, abs=1e-12)])
    mask, values = sampled(path, list(range(1000 * MS, 1041 * MS, MS)))
    assert all(mask)
    assert np.isfinite(values).all()


def test_case_s07_starts_late(cases: Path):
    found = sampled(cases / "inputs/s07_starts_late.csv", [0, 500 * MS, 1500 * MS])
    assert found == ([False, True, False], [0.0, 15.0, 0.0])


def test_case_s14_holes_in_gaze(cases: Path):
    path = cases / "inputs/s14_gaze_nan.csv"
    assert int(np.isfinite(columns(path)).sum()) == 94
    assert sampled(path, [300 * MS, 205 * MS]) == ([True, False], [30.0, 0.0])
    assert sampled(path, [205 * MS], max_gap=0.04) == ([True], [20.5])
    assert sampled(path, [205 * MS], max_gap=0.039) == ([False], [0.0])


def test_case_s10_signs_flip_between_rows(cases: Path):
    path = cases / "inputs/s10_pose_signflip.csv"
    quaternions = columns(path)
    poses = np.concatenate([np.zeros((len(quaternions), 3)), quaternions], axis=1)
    field = Pose("p", offsets=[0.05])
    found = apply_pose(plan_field(field, Timeline(times_of(path)), 0, 10**9), poses)[0, 3:]
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(found, [0.095845753, 0, 0, 0.995396198], atol=1e-9)
