"""Indices drawn into frames read back, whatever is done to the frame, or not at all."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.errors import GenlockError
from genlock.samples import depth_index, frame_index
from genlock.samples.marks import DEPTH_BAND, MAX_FRAMES, RGB_BAND

INDICES = st.integers(0, MAX_FRAMES - 1)


NOISE = np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)


def picture(index: int) -> np.ndarray:
    """Noise with an index drawn into it."""
    image = NOISE.copy()
    RGB_BAND.paint(image, index)
    return image


@given(INDICES, st.integers(64, 300), st.integers(64, 300), st.booleans())
def test_frame_index_survives_squeezing(index: int, height: int, width: int, area: bool) -> None:
    method = cv2.INTER_AREA if area else cv2.INTER_LINEAR
    assert frame_index(cv2.resize(picture(index), (width, height), interpolation=method)) == index


@given(INDICES)
def test_frame_index_reads_every_layout_and_value_range(index: int) -> None:
    image = picture(index)
    assert frame_index(image.transpose(2, 0, 1)) == index
    assert frame_index(image[..., 0]) == index
    assert frame_index((image.astype(np.float32) / 255 - 0.45) / 0.2) == index
    assert frame_index(image // 4 + 100) == index


@given(INDICES)
def test_a_mirrored_inverted_or_beheaded_frame_has_no_index(index: int) -> None:
    image = picture(index)
    for other in (image[:, ::-1], image[::-1], image[::-1, ::-1], 255 - image, image[64:]):
        assert frame_index(other) is None


@given(INDICES, st.integers(0, 15))
def test_a_frame_with_a_damaged_block_has_no_index(index: int, block: int) -> None:
    image = picture(index)
    image[:32, block * 40 : block * 40 + 40] = image[32:64, block * 40 : block * 40 + 40]
    assert frame_index(image) is None


def test_a_plain_image_has_no_index() -> None:
    assert frame_index(np.zeros((64, 64))) is None


@given(INDICES, st.sampled_from([(240, 320), (120, 160), (96, 128), (64, 64)]))
def test_depth_index_survives_nearest_resizing(index: int, size: tuple[int, int]) -> None:
    depth = np.random.default_rng(index).integers(0, 4000, (240, 320), np.uint16)
    DEPTH_BAND.paint(depth, index)
    smaller = cv2.resize(depth, size[::-1], interpolation=cv2.INTER_NEAREST)
    assert depth_index(smaller.astype(np.float32) * np.float32(0.001)) == index


@pytest.mark.parametrize("shape", [(63, 640), (2, 3, 480, 640), (480,)])
def test_what_is_not_one_frame_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(GenlockError, match="64x64"):
        frame_index(np.zeros(shape))


def test_an_index_that_does_not_fit_is_refused() -> None:
    with pytest.raises(GenlockError, match="8192"):
        RGB_BAND.paint(np.zeros((480, 640)), 8192)
