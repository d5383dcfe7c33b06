"""Raw pixel formats against pixels packed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from genlock._vrs.content import AudioSpec, Content, ImageSpec
from genlock._vrs.pixels import pixel_bits, to_array
from genlock.errors import DecodeError

SIZES = st.tuples(st.integers(1, 7), st.integers(1, 11))


def packed10(codes: NDArray[np.uint16], stride: int) -> bytes:
    """One pixel after the other, as Android's RAW10 page draws it."""
    lines = b""
    for row in codes:
        line = b""
        for start in range(0, len(row), 4):
            four = [*map(int, row[start : start + 4]), 0, 0, 0][:4]
            low = sum((code & 3) << (2 * i) for i, code in enumerate(four))
            line += bytes([code >> 2 for code in four] + [low])
        lines += line.ljust(stride, b"\xaa")
    return lines


@given(SIZES, st.integers(0, 9), st.randoms(use_true_random=False))
def test_raw10(size: tuple[int, int], gap: int, random: object) -> None:
    codes = np.random.default_rng(size[0] * 100 + size[1]).integers(0, 1024, size, np.uint16)
    stride = -(-size[1] // 4) * 5 + gap
    spec = ImageSpec("raw", size, "raw10_bayer_rggb", stride)
    assert np.array_equal(to_array(packed10(codes, stride), spec), codes)
    assert pixel_bits(spec.pixels) == 10


@pytest.mark.parametrize(
    ("pixels", "dtype", "channels"),
    [
        ("grey8", "u1", 1), ("grey10", "<u2", 1), ("grey16", "<u2", 1), ("rgb8", "u1", 3),
        ("rgba8", "u1", 4), ("rgb12", "<u2", 3), ("depth32f", "<f4", 1), ("rgb32F", "<f4", 3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("gap", [0, 5])
def test_plain_formats_with_and_without_a_gap(
    pixels: str, dtype: str, channels: int, gap: int
) -> None:
    shape = (3, 5, channels) if channels > 1 else (3, 5)
    values = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    line = values.reshape(3, -1).view(np.uint8)
    data = np.pad(line, ((0, 0), (0, gap)), constant_values=0xEE).tobytes()
    spec = ImageSpec("raw", (3, 5), pixels, line.shape[1] + gap)
    assert np.array_equal(to_array(data, spec), values)
    assert np.array_equal(to_array(data[: len(data) - gap], spec), values)  # no gap at the end


def test_bgr_becomes_rgb() -> None:
    spec = ImageSpec("raw", (1, 2), "bgr8")
    assert to_array(bytes([1, 2, 3, 4, 5, 6]), spec).tolist() == [[[3, 2, 1], [6, 5, 4]]]


# BT.601 at limited range: white, black, and the primaries as ITU-R BT.601-7 table 3 codes them
BARS = {
    (235, 128, 128): (255, 255, 255),
    (16, 128, 128): (0, 0, 0),
    (81, 90, 240): (255, 0, 0),
    (145, 54, 34): (0, 255, 0),
    (41, 240, 110): (0, 0, 255),
}


@pytest.mark.parametrize("pixels", ["yuv_i420_split", "yuv_420_nv12", "yuv_420_nv21", "yuy2"])
@pytest.mark.parametrize("size", [(2, 4), (3, 5)])
@pytest.mark.parametrize(("yuv", "rgb"), BARS.items())
def test_yuv(
    pixels: str, size: tuple[int, int], yuv: tuple[int, int, int], rgb: tuple[int, int, int]
) -> None:
    (height, width), (y, u, v) = size, yuv
    half = -(-height // 2) * -(-width // 2)
    data = {
        "yuv_i420_split": bytes([y] * height * width + [u] * half + [v] * half),
        "yuv_420_nv12": bytes([y] * height * width + [u, v] * half),
        "yuv_420_nv21": bytes([y] * height * width + [v, u] * half),
        "yuy2": bytes([y, u, y, v] * -(-width // 2) * height),
    }[pixels]
    picture = to_array(data, ImageSpec("raw", size, pixels))
    assert picture.shape == (*size, 3)
    assert np.abs(picture.astype(int) - rgb).max() <= 2


def test_chroma_belongs_to_its_four_pixels() -> None:
    luma, u, v = [81] * 4 + [81] * 4, [90, 128], [240, 128]
    picture = to_array(bytes(luma + u + v), ImageSpec("raw", (2, 4), "yuv_i420_split"))
    assert picture[:, :2].std(axis=(0, 1)).max() == 0
    assert (picture[0, 0] != picture[0, 2]).any()


@pytest.mark.parametrize("pixels", ["grey8", "raw10", "yuv_i420_split", "yuv_420_nv12", "yuy2"])
def test_too_few_bytes(pixels: str) -> None:
    with pytest.raises(DecodeError, match="too few for 64 x 48"):
        to_array(b"\0" * 100, ImageSpec("raw", (48, 64), pixels))


def test_unknown_pixels() -> None:
    with pytest.raises(DecodeError, match="'undefined' cannot be read"):
        to_array(b"", ImageSpec("raw", (1, 1)))


def test_contents() -> None:
    text = "data_layout/size=84+image/video/512x400/pixel=grey8/stride=512/codec=H%2E265"
    assert Content.parse(text) == Content(
        1, ImageSpec("video", (400, 512), "grey8", 512, codec="H.265")
    )
    sound = Content.parse("audio/pcm/int16le/channels=2/rate=44100/samples=256/stride=8")
    assert sound == Content(0, audio=AudioSpec("pcm", "int16le", 2, 44100, 8))
    assert Content.parse("data_layout/size=12+custom") == Content(1)
    assert Content.parse("") == Content(0)


def test_a_configuration_completes_what_the_tags_leave_open() -> None:
    fields = {"image_width": np.uint32(64), "image_height": np.uint32(48), "image_pixel_format": 18}
    spec = ImageSpec("raw").completed(fields)
    assert (spec.size, spec.pixels) == ((48, 64), "raw10")
    assert ImageSpec("raw", (2, 2), "grey8").completed(fields).size == (2, 2)
    sound = AudioSpec("").completed(
        {"audio_format": 2, "audio_channel_count": 8, "audio_sample_rate": np.float64("nan")}
    )
    assert (sound.format, sound.channels, sound.rate) == ("opus", 8, 0)
