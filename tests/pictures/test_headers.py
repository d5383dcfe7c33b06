from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from genlock._pictures import PictureHeader, is_picture, read_header
from genlock._pictures.orientation import Orientation
from genlock.errors import DecodeError


class CountingFile(io.BytesIO):
    """Counts the bytes that are read."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.count += len(data)
        return data


def encode(picture: Any, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, format, **options)
    return file.getvalue()


GRAY = np.zeros((30, 50), np.uint8)
RGB = np.zeros((30, 50, 3), np.uint8)
RGBA = np.zeros((30, 50, 4), np.uint8)


@pytest.mark.parametrize(
    ("data", "codec", "channels", "dtype", "bits"),
    [
        (encode(GRAY, "PNG"), "png", 1, "uint8", 8),
        (encode(GRAY.astype(np.uint16), "PNG"), "png", 1, "uint16", 16),
        (encode(RGBA, "PNG"), "png", 4, "uint8", 8),
        (encode(GRAY, "JPEG"), "jpeg", 1, "uint8", 8),
        (encode(RGB, "JPEG", progressive=True), "jpeg", 3, "uint8", 8),
        (encode(RGB, "TIFF"), "tiff", 3, "uint8", 8),
        (encode(GRAY.astype(np.uint16), "TIFF"), "tiff", 1, "uint16", 16),
        (encode(GRAY.astype(np.int32), "TIFF"), "tiff", 1, "int32", 32),
        (encode(GRAY.astype(np.float32), "TIFF"), "tiff", 1, "float32", 32),
        (encode(RGB, "TIFF", big_tiff=True), "tiff", 3, "uint8", 8),
        (encode(RGB, "WEBP"), "webp", 3, "uint8", 8),
        (encode(RGB, "WEBP", lossless=True), "webp", 3, "uint8", 8),
        (encode(RGBA, "WEBP", icc_profile=b"x" * 99), "webp", 4, "uint8", 8),
        (encode(RGB, "BMP"), "bmp", 3, "uint8", 8),
        (encode(GRAY, "GIF"), "gif", 4, "uint8", 8),
        (encode(GRAY, "PPM"), "pgm", 1, "uint8", 8),
        (b"P5 # a comment\n50\n30 4095\n" + bytes(3000), "pgm", 1, "uint16", 12),
        (b"P6\n50 30 255\n", "ppm", 3, "uint8", 8),
        (b"P4\n50 30\n", "pbm", 1, "uint8", 8),
        (b"PF\n50 30\n-1.0\n", "pfm", 3, "float32", 32),
        (
            b"P7\nWIDTH 50\nHEIGHT 30\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n",
            "pam",
            4,
            "uint8",
            8,
        ),
    ],
)
def test_formats(data: bytes, codec: str, channels: int, dtype: str, bits: int) -> None:
    header = read_header(io.BytesIO(data))
    assert header.shape == (30, 50)
    assert (header.codec, header.channels, header.dtype, header.bits) == (
        codec,
        channels,
        dtype,
        bits,
    )
    assert is_picture(data[:32])


@pytest.mark.parametrize(
    ("name", "codec", "shape"),
    [
        ("images/gradient.heic", "heic", (720, 1280)),
        ("images/rgba.avif", "avif", (720, 1280)),
        ("exr/singlepart.0001.exr", "exr", (1556, 2048)),
        ("rgbd-redwood/color/00000.jpg", "jpeg", (480, 640)),
        ("euroc-micro/mav0/cam0/data/1403715273262142976.png", "png", (480, 752)),
    ],
)
def test_real_files_by_their_first_bytes(
    real: Path, name: str, codec: str, shape: tuple[int, int]
) -> None:
    file = CountingFile((real / name).read_bytes())
    header = read_header(file)
    assert (header.codec, header.shape) == (codec, shape)
    assert file.count < 8192


def test_directory_at_the_end_of_a_tiff() -> None:
    data = encode(np.zeros((1000, 1000), np.uint8), "TIFF", compression="raw")
    file = CountingFile(data)
    assert read_header(file).shape == (1000, 1000)
    assert file.count < 2048


def test_padding_between_the_segments_of_a_jpeg() -> None:
    data = encode(RGB, "JPEG")
    frame = data.index(b"\xff\xc0")
    assert read_header(io.BytesIO(data[:frame] + b"\xff\xff" + data[frame:])).shape == (30, 50)


@pytest.mark.parametrize("value", range(1, 9))
def test_rotation_and_flip_describe_the_same(value: int) -> None:
    orientation = Orientation.from_exif(value)
    stored = np.arange(12).reshape(3, 4)
    flipped = stored[:, ::-1] if orientation.flipped else stored
    upright = orientation.upright(stored)
    assert np.array_equal(upright, np.rot90(flipped, -orientation.rotation // 90))
    assert upright.shape == orientation.upright_shape(3, 4)


def test_heif_turns_are_anticlockwise_then_mirrored() -> None:
    stored = np.arange(12).reshape(3, 4)
    for turns in range(4):
        for axis, flip in ((None, lambda x: x), (0, np.flipud), (1, np.fliplr)):
            upright = Orientation.from_heif(turns, axis).upright(stored)
            assert np.array_equal(upright, flip(np.rot90(stored, turns)))


@pytest.mark.parametrize(
    "data",
    [
        b"\x93NUMPY\x01\0\x0b\0{'descr': (",
        b"\x93NUMPY\x01\0\x04\0{'a'",
        b"\x93NUMPY\x01\0\x04\0\xff\xff\xff\xff",
        encode(GRAY, "TIFF").replace(b"\2\1\3\0\1\0\0\0\x08\0", b"\2\1\3\0\1\0\0\0\x48\0"),
        b"P5 50 30 70000\n",
        b"P5 50 thirty 255\n",
        b"\xff\xd8\xff\xd9",
        b"\x89PNG\r\n\x1a\n\0\0\0\0IEND\xae\x42\x60\x82",
        b"II*\0\x08\0\0\0\0\0",
        b"\xff\xd8" + b"\xff" * 100_000,
        b"\0\0\0\x0cftypavif\0\0\0\1meta" + bytes(100),
        b"\0\0\0\x0cftypavif\0\0\0\2meta" + bytes(100),
    ],
)
def test_damaged_headers(data: bytes) -> None:
    with pytest.raises(DecodeError, match="header is damaged"):
        read_header(io.BytesIO(data))


@given(st.data())
def test_damaged_headers_raise_decode_error_alone(data: st.DataObject) -> None:
    starts = [
        b"\xff\xd8\xff\xe1", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBPVP8X", b"II*\0", b"MM\0+",
        b"\0\0\0\x18ftypavif", b"\x76\x2f\x31\x01", b"\x93NUMPY\x01\0", b"GIF89a", b"P5 ", b"P7\n",
        b"BM\0\0\0\0\0\0\0\0\0\0\0\0\x28\0\0\0", b"",
    ]  # fmt: skip
    raw = data.draw(st.sampled_from(starts)) + data.draw(st.binary(max_size=200))
    try:
        header = read_header(io.BytesIO(raw))
    except DecodeError:
        return
    assert isinstance(header, PictureHeader)
    assert header.height > 0 and header.width > 0
