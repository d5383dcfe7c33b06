"""The shared cases of single pictures and depth maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl


def only(path: Path, field: Any, **declared: Any) -> np.ndarray:
    """The picture of a file that holds one, without the time axis."""
    streams = {path.stem: declared} if declared else {}
    with gl.open(path, streams=streams) as recording:
        (name,) = recording.streams
        sample = recording.read({"x": field(name)}, 0, 1)
        assert sample.mask["x"].tolist() == [True]
        return np.asarray(sample["x"][0])


@pytest.mark.case("I01")
def test_depth_keeps_16_bits(inputs: Path) -> None:
    path = inputs / "i01_depth16.png"
    y, x = np.ogrid[:48, :64]
    codes = 400 + 37 * x + 101 * y
    stored = only(path, lambda n: gl.Video(n, color="gray", dtype="uint16"), kind="video")
    assert stored.dtype == np.uint16 and (stored[0] == codes).all()
    assert stored[0, 10, 20] == 2_150 and stored.max() == 7_478
    metres = only(path, gl.Depth, kind="depth", depth={"encoding": "mm"})
    assert np.allclose(metres, codes * 0.001, rtol=1e-6, atol=0)


@pytest.mark.case("I02")
@pytest.mark.parametrize("size", [(48, 64), (24, 32), (17, 23), (100, 130), (1, 1)])
def test_holes_are_never_blended(inputs: Path, size: tuple[int, int]) -> None:
    declared = {"kind": "depth", "depth": {"encoding": "mm"}}
    depth = only(inputs / "i02_depth_holes.png", lambda n: gl.Depth(n, size=size), **declared)
    assert depth.shape == size
    assert set(np.unique(depth).tolist()) <= {0.0, float(np.float32(2.0))}
    if size[1] > 1:
        assert depth[:, 0].all() and not depth[:, -1].any()


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(1, marks=pytest.mark.case("I04.1")),
        2,
        pytest.param(3, marks=pytest.mark.case("I04.3")),
    ],
)
def test_exif_orientations(inputs: Path, number: int) -> None:
    picture = only(inputs / f"i04_exif{number}.jpg", lambda n: gl.Video(n, layout="THWC"))
    assert picture.shape == (32, 48, 3)
    corners = picture[[3, 3, -4, -4], [3, -4, 3, -4]].astype(int)
    expected = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)]
    assert np.abs(corners - expected).max() <= 8


@pytest.mark.case("I06")
def test_palette_with_transparency(inputs: Path) -> None:
    path = inputs / "i06_palette_trns.png"
    rgb = only(path, lambda n: gl.Video(n, layout="THWC"))
    left, right, bottom = rgb[2, 2], rgb[2, -3], rgb[-3, 2]
    for pixel, channel in ((left, 0), (right, 1), (bottom, 2)):
        assert pixel.tolist() == [255 * (c == channel) for c in range(3)]
    rgba = only(path, lambda n: gl.Video(n, layout="THWC", color="rgba"))
    is_red = (rgb == (255, 0, 0)).all(-1)
    assert ((rgba[..., 3] == 0) == is_red).all() and (rgba[~is_red][:, 3] == 255).all()
    assert (rgba[..., :3] == rgb).all()


@pytest.mark.case("I08")
def test_grey_as_rgb(inputs: Path) -> None:
    rgb = only(inputs / "i08_gray.jpg", lambda n: gl.Video(n, layout="THWC")).astype(int)
    assert rgb.shape == (16, 16, 3)
    assert np.abs(rgb - 77).max() <= 1


@pytest.mark.case("I09")
@pytest.mark.parametrize("file", ["i09_animated.png", "i09b_animated.gif"])
def test_animations_give_their_first_picture(inputs: Path, file: str) -> None:
    rgb = only(inputs / file, lambda n: gl.Video(n, layout="THWC"))
    assert (rgb == (255, 0, 0)).all()


@pytest.mark.case("I10")
def test_half_a_jpeg_is_an_error(inputs: Path) -> None:
    path = inputs / "i10_truncated.jpg"
    with gl.open(path) as recording, pytest.raises(gl.DecodeError) as raised:
        recording.read({"x": gl.Video("i10_truncated")}, 0, 1)
    assert str(path) in str(raised.value)
