"""Room and scene: what the cameras see is where geometry, computed another way, says it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from genlock.samples import CAMERAS, Scene, depth, facing, trajectory
from genlock.samples.rig import Camera
from genlock.samples.room import FURNITURE, GLASS, GLOBE_CENTER, GLOBE_RADIUS, MAX_DEPTH, ROOM, Box


def camera_pose(t: float, camera: Camera) -> tuple[Rotation, np.ndarray]:
    """T_world_camera at `t`."""
    head = Rotation.from_quat(trajectory.quaternion(t))
    place = trajectory.position(t) + head.apply(camera.position)
    return head * Rotation.from_quat(camera.quaternion), place


def project(points: np.ndarray, t: float, camera: Camera) -> np.ndarray:
    """Column, row and depth `[N, 3]` of world points."""
    rotation, place = camera_pose(t, camera)
    x, y, z = rotation.inv().apply(points - place).T
    (fx, fy), (cx, cy) = camera.focal, camera.center
    return np.stack([fx * x / z + cx, fy * y / z + cy, z], axis=1)


def outside(box: Box, points: np.ndarray) -> np.ndarray:
    """Distance `[N]` to a box's surface, positive outside and negative inside."""
    beyond = np.maximum(np.array(box.low) - points, points - np.array(box.high))
    return np.linalg.norm(np.maximum(beyond, 0), axis=-1) + np.minimum(beyond.max(-1), 0)


def clearance(points: np.ndarray) -> np.ndarray:
    """Distance `[N]` from points in the room to the nearest surface, negative inside a thing."""
    globe = np.linalg.norm(points - GLOBE_CENTER, axis=-1) - GLOBE_RADIUS
    return np.min([-outside(ROOM, points), globe, *(outside(b, points) for b in FURNITURE)], axis=0)


@pytest.mark.parametrize("t", [0.0, 1.37, 4.4, 6.1, 9.2])
def test_depth_ends_on_the_first_surface_along_the_pixel(t: float) -> None:
    camera = CAMERAS["depth"]
    image = depth(t)
    rows, columns = np.nonzero(image)
    pick = np.random.default_rng(0).choice(len(rows), 400, replace=False)
    rows, columns = rows[pick], columns[pick]
    z = image[rows, columns]
    (fx, fy), (cx, cy) = camera.focal, camera.center
    seen = np.stack([(columns - cx) / fx, (rows - cy) / fy, np.ones(len(rows))], axis=1)
    rotation, place = camera_pose(t, camera)
    ends = place + rotation.apply(seen * z[:, None])
    np.testing.assert_allclose(clearance(ends), 0, atol=1e-9)
    for part in np.linspace(0, 0.995, 40):
        assert (clearance(place + part * (ends - place)) > 0).all()


def test_depth_is_invalid_in_the_pane_and_beyond_the_range() -> None:
    camera, t = CAMERAS["depth"], 0.4
    image = depth(t)
    y, z = np.meshgrid(np.linspace(-0.95, 0.95, 9), np.linspace(1.1, 2.2, 7))
    pane = np.stack([np.full(y.size, GLASS.low[0]), y.ravel(), z.ravel()], axis=1)
    column, row, _ = np.rint(project(pane, t, camera)).astype(int).T
    seen = (column >= 0) & (column < 320) & (row >= 0) & (row < 240)
    assert seen.sum() > 20
    assert (image[row[seen], column[seen]] == 0).all()
    assert 0 < image[image > 0].min() < image.max() <= MAX_DEPTH
    far = max(depth(k / 2).max() for k in range(20))
    assert far > MAX_DEPTH - 0.05  # the range does cut something off


def test_the_picture_shows_the_pane_where_it_is() -> None:
    camera, t = CAMERAS["camera-rgb"], 0.04
    image = Scene().image(t).astype(int)
    corner = np.array([[3.0, 0.9, 1.12], [3.0, 1.05, 1.12], [3.0, 1.3, 1.12]])
    places = np.rint(project(corner, t, camera)).astype(int)
    hill, frame, wall = (image[row, column] for column, row, _ in places)
    assert hill[1] > 1.2 * max(hill[0], hill[2])  # green
    assert frame.min() > 150  # white
    assert wall[2] > 1.2 * wall[0]  # blue


def test_colour_and_depth_cameras_see_one_globe() -> None:
    t, camera = 0.04, CAMERAS["camera-rgb"]
    picture = Scene(seed=3).image(t)
    other = Scene(seed=4).image(t)
    assert (picture != other).mean() > 0.5  # the seed paints
    column, row, z = project(np.array([GLOBE_CENTER]), t, camera)[0]
    far = np.linalg.norm(GLOBE_CENTER - camera_pose(t, camera)[1])
    expected = z * (1 - GLOBE_RADIUS / far)
    assert abs(depth(t, camera)[round(row), round(column)] - expected) < 0.005
    land_or_sea = picture[
        round(row) - 20 : round(row) + 20, round(column) - 20 : round(column) + 20
    ]
    assert (land_or_sea[..., 0] < land_or_sea[..., 1:].max(-1)).mean() > 0.95


def test_the_head_stays_clear_of_things_and_faces_each_wall() -> None:
    t = np.arange(0, 270, 0.05)
    assert clearance(trajectory.position(t)).min() > 0.3
    assert set(facing(t[:300])) == {"the window", "the door", "the bookcase", "the paintings"}


def test_facing_is_what_the_forward_axis_meets() -> None:
    t = np.linspace(0, 14, 60)
    forward = Rotation.from_quat(trajectory.quaternion(t)).apply([1.0, 0.0, 0.0])
    along = np.linspace(0, 8, 4001)[:, None]
    for name, place, ray in zip(facing(t), trajectory.position(t), forward, strict=True):
        path = place + along * ray
        x, y, _ = path[(np.abs(path[:, :2]) >= [3.0, 2.5]).any(axis=1)][0]
        if abs(x) >= 3:
            assert name == ("the window" if x > 0 else "the bookcase")
        else:
            assert name == ("the door" if y > 0 else "the paintings")
