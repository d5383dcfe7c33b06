from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from genlock.notebook._pictures import NEAR_TO_FAR, depth_range_of, jpeg_uri, rgb_of


def hexes(colour: str) -> list[int]:
    return list(bytes.fromhex(colour[1:]))


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (np.full((3, 8, 9), 7, np.uint8), 7),
        (np.full((8, 9, 3), 7, np.uint8), 7),
        (np.full((4, 8, 9), 7, np.uint8), 7),
        (np.full((1, 8, 9), 7, np.uint8), 7),
        (np.full((3, 8, 9), 7 * 256 + 9, np.uint16), 7),
        (np.full((3, 8, 9), 0.5, np.float32), 127),
    ],
)
def test_pictures_of_any_form_become_8_bit_rgb(frame: np.ndarray, expected: int) -> None:
    picture = rgb_of(frame)
    assert picture.dtype == np.uint8 and picture.shape == (8, 9, 3)
    assert (picture == expected).all()


def test_normalized_pictures_are_stretched() -> None:
    frame = np.linspace(-2, 2, 3 * 4 * 5).reshape(3, 4, 5)
    picture = rgb_of(frame)
    assert picture.min() == 0 and picture.max() == 255


def test_depth_runs_from_near_to_far_and_invalid_pixels_are_red() -> None:
    depth = np.array([[1.0, 2.0, 0.0]], np.float32)
    assert depth_range_of(depth) == (1.0, 2.0)
    near, far, invalid = rgb_of(depth)[0].tolist()
    assert near == hexes(NEAR_TO_FAR[0]) and far == hexes(NEAR_TO_FAR[-1])
    assert invalid[0] > 2 * max(invalid[1:])


def test_depth_without_a_valid_pixel_is_all_hatch() -> None:
    picture = rgb_of(np.zeros((16, 16), np.float32))
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) == 2


def test_jpeg_keeps_the_colours() -> None:
    picture = np.zeros((32, 48, 3), np.uint8)
    picture[:, :24] = (200, 40, 90)
    data = base64.b64decode(jpeg_uri(picture).removeprefix("data:image/jpeg;base64,"))
    read = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    assert np.abs(read[:, :20] - picture[:, :20]).max() < 12
    assert np.abs(read[:, 28:]).max() < 12
