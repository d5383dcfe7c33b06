from __future__ import annotations

from pathlib import Path

import numpy as np

import genlock as gl
from cloud_messages import cloud
from genlock.notebook import plot
from genlock.notebook._clouds import BACKGROUND, PIXELS, top_views
from genlock.notebook._series import series_of
from log_writers import mcap_bytes

T0 = 1_700_000_000_000_000_003


def test_points_are_where_they_are_from_above() -> None:
    values = np.zeros((2, 3, 3), np.float32)
    values[0, :2] = [[-1, -2, 0], [1, 2, 5]]
    values[1, 0] = [1, -2, 0]
    pictures = top_views(values, np.array([2, 1]))
    assert pictures.shape == (2, PIXELS, PIXELS, 3)
    drawn = (pictures != BACKGROUND).any(axis=-1)
    places = [np.argwhere(one).tolist() for one in drawn]
    left, right = PIXELS // 4, PIXELS * 3 // 4
    (top, (down, across)), (alone,) = places
    assert top[0] < 2 and abs(top[1] - right) < 2  # y up, x right
    assert down > PIXELS - 3 and abs(across - left) < 2
    assert alone[0] > PIXELS - 3 and abs(alone[1] - right) < 2
    low, high = pictures[0][down, across], pictures[0][tuple(top)]
    assert low.sum() > high.sum()  # bright below, dark above
    np.testing.assert_array_equal(pictures[1][tuple(alone)], low)


def test_no_points_are_an_empty_picture() -> None:
    assert (top_views(np.zeros((2, 0, 3)), np.zeros(2, np.int64)) == BACKGROUND).all()


def test_clouds_of_a_sample_are_drawn_as_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    points = np.zeros(4, [("x", "f4"), ("y", "f4"), ("z", "f4")])
    points["x"] = np.arange(4)
    stamps = [T0 + k * 100_000_000 for k in range(5)]
    path.write_bytes(mcap_bytes({"/lidar": [(ns, cloud(ns, points)) for ns in stamps]}))
    with gl.open(path) as recording:
        sample = recording.read({"lidar": gl.Points("lidar")}, start_ns=T0, duration=0.5)
        (series,) = series_of(sample)
        assert series.kind == "pictures" and len(series.values) == len(series.mask) == 5
        assert plot(sample).axes
        assert "lidar" in recording._repr_html_()
        assert recording.browse(duration=0.2).html
