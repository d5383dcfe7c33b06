"""Intrinsics follow their pictures: a point's pixel moves as the picture's pixels do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import genlock as gl
from genlock.stream import Intrinsics

CAMERA = Intrinsics("pinhole", (480, 640), (430.0, 432.0), (321.5, 238.0))
DISTORTED = replace(CAMERA, distortion=(0.1, -0.05, 0.01, -0.02, 0.003))


def distort(camera: Intrinsics, x: float, y: float) -> tuple[float, float]:
    """OpenCV's model (k1 k2 p1 p2 k3) on normalised coordinates."""
    k1, k2, p1, p2, k3 = camera.distortion or (0.0,) * 5
    r2 = x * x + y * y
    radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
    return (
        x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
        y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y,
    )


def project(camera: Intrinsics, point: tuple[float, float]) -> NDArray[np.float64]:
    x, y = distort(camera, *point)
    pixel = camera.matrix @ [x, y, 1.0]
    return pixel[:2]


points = st.tuples(st.floats(-0.7, 0.7), st.floats(-0.5, 0.5))


@given(points, st.integers(1, 2000), st.integers(1, 2000))
def test_scaling_moves_pixel_edges_not_centres(
    point: tuple[float, float], height: int, width: int
) -> None:
    scaled = CAMERA.scaled((height, width))
    expected = (project(CAMERA, point) + 0.5) * [width / 640, height / 480] - 0.5
    np.testing.assert_allclose(project(scaled, point), expected, atol=1e-8)


@given(points)
def test_cropping_shifts(point: tuple[float, float]) -> None:
    cropped = CAMERA.cropped((20, 30, 100, 200))
    assert cropped.size == (100, 200)
    np.testing.assert_allclose(project(cropped, point), project(CAMERA, point) - [30, 20])


@given(points)
def test_turning_and_flipping_move_pixels_as_the_picture_turns(point: tuple[float, float]) -> None:
    x, y = point
    u, v = project(DISTORTED, point)
    # turned clockwise, what was at (u, v) is at (height - 1 - v, u); the axes turn with it
    np.testing.assert_allclose(project(DISTORTED.turned(), (-y, x)), [479 - v, u], atol=1e-9)
    np.testing.assert_allclose(project(DISTORTED.flipped(), (-x, y)), [639 - u, v], atol=1e-9)


def test_four_turns_and_two_flips_are_nothing() -> None:
    four = DISTORTED.turned().turned().turned().turned()
    two = DISTORTED.flipped().flipped()
    for camera in (four, two):
        np.testing.assert_allclose(camera.matrix, DISTORTED.matrix)
        np.testing.assert_allclose(camera.distortion, DISTORTED.distortion)


def test_upright_frames_of_a_turned_stream() -> None:
    upright = CAMERA.upright((640, 480), 90, False)
    assert upright == CAMERA.turned()
    already = CAMERA.turned()
    assert already.upright((640, 480), 90, False) == already
    assert CAMERA.upright((240, 320), 0, False) == CAMERA.scaled((240, 320))
    unknown = replace(CAMERA, model="fisheye624", distortion=(0.1,) * 12)
    assert unknown.upright((640, 480), 90, False) is None
    assert unknown.upright((480, 640), 0, False) == unknown


@pytest.mark.parametrize(
    ("size", "crop"),
    [((224, 224), None), (None, (40, 60, 200, 300)), ((50, 75), (40, 60, 200, 300))],
)
def test_batches_carry_the_geometry_of_their_pixels(
    sample: Path, size: tuple[int, int] | None, crop: tuple[int, int, int, int] | None
) -> None:
    fields = {"rgb": gl.Video("camera-rgb", rate=5, size=size, crop=crop), "imu": gl.Sensor("imu")}
    with gl.open(sample) as recording:
        stated = recording.calibration["camera-rgb"].intrinsics
        assert stated is not None and set(recording.calibration) >= {"camera-rgb", "depth"}
        one = recording.read(fields, recording.start_ns, 1.0)
    expected = stated
    if crop is not None:
        expected = expected.cropped(crop)
    if size is not None:
        expected = expected.scaled(size)
    np.testing.assert_allclose(one.intrinsics["rgb"], expected.matrix, rtol=1e-6)
    windows = gl.Windows(sample, over=["camera-rgb"], duration=1.0)
    with gl.Loader(windows, fields, batch_size=3) as loader:
        batch = next(iter(loader))
    assert list(batch.intrinsics) == ["rgb"] and batch.intrinsics["rgb"].shape == (3, 3, 3)
    for matrix in batch.intrinsics["rgb"]:
        np.testing.assert_allclose(matrix.numpy(), expected.matrix, rtol=1e-6)
    assert batch.distortion["rgb"].shape == (3, 0)
