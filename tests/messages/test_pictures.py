from __future__ import annotations

import struct
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from genlock._messages import Message, codec_for
from genlock._messages.compressed_depth import unpack
from genlock._messages.pictures import Look, look_at, to_unit
from genlock.errors import DecodeError
from ros_types import encode, make, schema

RNG = np.random.default_rng(3)
H, W = 4, 6


def raw(encoding: str, pixels: NDArray[Any], padding: int = 0, **values: Any) -> Message:
    """A sensor_msgs/Image of rows with some bytes of padding, as the codec reads it."""
    rows = np.ascontiguousarray(pixels).view(np.uint8).reshape(len(pixels), -1)
    padded = np.pad(rows, ((0, 0), (0, padding)), constant_values=77)
    image = make(
        "sensor_msgs/msg/Image",
        height=values.pop("height", len(pixels)),
        width=values.pop("width", pixels.shape[1]),
        encoding=encoding,
        step=padded.shape[1],
        data=padded.ravel(),
        **values,
    )
    return Message.read(codec_for(schema("sensor_msgs/msg/Image")), encode(image))


def compressed(format: str, data: bytes) -> Message:
    image = make(
        "sensor_msgs/msg/CompressedImage", format=format, data=np.frombuffer(data, np.uint8)
    )
    return Message.read(codec_for(schema("sensor_msgs/msg/CompressedImage")), encode(image))


@pytest.mark.parametrize("padding", [0, 3])
@pytest.mark.parametrize(
    ("encoding", "channels", "order"),
    [
        ("rgb8", 3, [0, 1, 2]),
        ("bgr8", 3, [2, 1, 0]),
        ("8UC3", 3, [2, 1, 0]),
        ("rgba8", 4, [0, 1, 2, 3]),
        ("bgra8", 4, [2, 1, 0, 3]),
        ("mono8", 1, [0]),
        ("8UC1", 1, [0]),
    ],
)
def test_eight_bits(encoding: str, channels: int, order: list[int], padding: int) -> None:
    stored = RNG.integers(0, 256, (H, W, channels), np.uint8)
    expected = stored[..., order] if channels > 1 else stored[..., 0]
    message = raw(encoding, stored, padding)
    np.testing.assert_array_equal(to_unit(message), expected)
    assert look_at(message, "cam") == Look(encoding, (H, W), "uint8", 8)


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize(
    ("encoding", "dtype", "depth"),
    [
        ("mono16", "u2", None),
        ("16UC1", "u2", "mm"),
        ("32FC1", "f4", "metres"),
        ("16SC1", "i2", None),
    ],
)
def test_more_bits(encoding: str, dtype: str, depth: str | None, big_endian: bool) -> None:
    values = RNG.integers(0, 30_000, (H, W)).astype(dtype)
    stored = values.astype(np.dtype(dtype).newbyteorder(">" if big_endian else "<"))
    message = raw(encoding, stored, 2, is_bigendian=int(big_endian))
    unit = to_unit(message)
    assert isinstance(unit, np.ndarray) and unit.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(unit, values)
    look = look_at(message, "cam")
    assert (look.dtype, look.depth, look.shape) == (values.dtype.name, depth, (H, W))


def test_mono16_is_depth_by_its_name_only() -> None:
    message = raw("mono16", np.zeros((H, W), np.uint16))
    assert look_at(message, "camera/infra1/image_raw").depth is None
    assert look_at(message, "camera/aligned_depth_to_color/image").depth == "mm"


def test_double_precision_becomes_single() -> None:
    unit = to_unit(raw("64FC1", np.full((H, W), 2.5)))
    assert isinstance(unit, np.ndarray) and unit.dtype == np.float32 and (unit == 2.5).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("pattern", ["rggb", "bggr", "gbrg", "grbg"])
def test_bayer_patterns_give_the_colour_of_the_scene(pattern: str, dtype: Any) -> None:
    """A scene of one colour: each cell of the mosaic holds the level of its letter."""
    levels = {"r": 200, "g": 90, "b": 30}
    cell = np.array([levels[letter] for letter in pattern], dtype).reshape(2, 2)
    unit = to_unit(raw(f"bayer_{pattern}{8 * cell.itemsize}", np.tile(cell, (3, 4))))
    assert isinstance(unit, np.ndarray) and unit.dtype == dtype and unit.shape == (6, 8, 3)
    assert (unit[1:-1, 1:-1] == [200, 90, 30]).all()


@pytest.mark.parametrize("encoding", ["yuv422", "uyvy", "yuv422_yuy2", "yuyv", "nv12", "nv21"])
def test_yuv(encoding: str) -> None:
    """One colour, (200, 30, 40), whose limited-range BT.601 codes are worked out here."""
    red, green, blue = 200 / 255, 30 / 255, 40 / 255
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    y = round(16 + 219 * luma)
    u = round(128 + 224 * (blue - luma) / 1.772)
    v = round(128 + 224 * (red - luma) / 1.402)
    packed = {"yuv422": (u, y, v, y), "uyvy": (u, y, v, y)}.get(encoding, (y, u, y, v))
    if encoding.startswith("nv"):
        lines = [[y] * W] * H + [([u, v] if encoding == "nv12" else [v, u]) * (W // 2)] * (H // 2)
        stored = np.array(lines, np.uint8)
    else:
        stored = np.tile(np.array(packed, np.uint8), (H, W // 2))
    unit = to_unit(raw(encoding, stored, height=H, width=W))
    assert isinstance(unit, np.ndarray) and unit.shape == (H, W, 3)
    assert np.abs(unit.astype(int) - [200, 30, 40]).max() <= 3


def test_messages_that_do_not_fit_themselves() -> None:
    pixels = np.zeros((H, W), np.uint8)
    for values in ({"height": H + 1}, {"width": W + 1}, {"height": 2**31}):
        with pytest.raises(DecodeError, match="a raw image of"):
            to_unit(raw("mono8", pixels, **values))
    with pytest.raises(DecodeError, match="'jpeg2000' are not known"):
        to_unit(raw("jpeg2000", pixels))


def test_compressed_images_stay_as_they_are() -> None:
    data = cv2.imencode(".png", np.zeros((H, W), np.uint16))[1].tobytes()
    message = compressed("16UC1; png compressed ", data)
    assert to_unit(message) == data
    assert look_at(message, "cam") == Look("png", (H, W), "uint16", 16, "mm")
    assert look_at(compressed("png", data), "cam").depth is None
    assert look_at(compressed("png", data), "cam/depth").depth == "mm"


DEPTH = np.array([[0, 500, 501, 499, 0, 0], [65535, 1, 0, 3, 3, 3], [0] * 6, [9] * 6], np.uint16)


def packed(payload: bytes, a: float = 0, b: float = 0) -> bytes:
    return struct.pack("<iff", 0, a, b) + payload


def encoded_rvl(values: NDArray[np.uint16]) -> bytes:
    """RVL as its paper describes it, one number after the other."""
    nibbles: list[int] = []

    def put(number: int) -> None:
        while True:
            nibble, number = number & 7, number >> 3
            nibbles.append(nibble | 8 if number else nibble)
            if not number:
                return

    flat, at, last = values.ravel().tolist(), 0, 0
    while at < len(flat):
        zeros = next((i for i, v in enumerate(flat[at:]) if v), len(flat) - at)
        at += zeros
        run = next((i for i, v in enumerate(flat[at:]) if not v), len(flat) - at)
        put(zeros)
        put(run)
        for value in flat[at : at + run]:
            step, last = value - last, value
            put(2 * step if step >= 0 else -2 * step - 1)
        at += run
    nibbles += [0] * (-len(nibbles) % 8)
    words = [
        sum(nibble << (28 - 4 * i) for i, nibble in enumerate(nibbles[k : k + 8]))
        for k in range(0, len(nibbles), 8)
    ]
    height, width = values.shape
    return struct.pack(f"<ii{len(words)}I", width, height, *words)


def test_compressed_depth_of_16_bits() -> None:
    png = cv2.imencode(".png", DEPTH)[1].tobytes()
    message = compressed("16UC1; compressedDepth png", packed(png))
    assert to_unit(message) == png
    assert look_at(message, "d") == Look("compressedDepth", (4, 6), "uint16", 16, "mm")
    message = compressed("16UC1; compressedDepth rvl", packed(encoded_rvl(DEPTH)))
    np.testing.assert_array_equal(to_unit(message), DEPTH)
    assert look_at(message, "d").shape == (4, 6)


@pytest.mark.parametrize("coding", ["png", "rvl"])
def test_compressed_depth_of_32_bits(coding: str) -> None:
    """Quantised as compressed_depth_image_transport does, up to 10 m with quantization 100."""
    metres = np.array([[0.5, 1.0, 2.25], [4.0, 9.5, np.nan]], np.float32)
    a = 100.0 * 101.0
    b = 1.0 - a / 10.0
    codes = np.where(np.isnan(metres), 0, np.nan_to_num(a / metres, nan=0) + b).astype(np.uint16)
    payload = cv2.imencode(".png", codes)[1].tobytes() if coding == "png" else encoded_rvl(codes)
    message = compressed(f"32FC1; compressedDepth {coding}", packed(payload, a, b))
    unit = to_unit(message)
    assert isinstance(unit, np.ndarray) and unit.dtype == np.float32
    # a code is 1/a of the inverse depth, so an error of one code is depth squared over a
    assert (np.abs(unit - np.nan_to_num(metres)) <= np.nan_to_num(metres) ** 2 / a + 1e-6).all()
    assert unit[1, 2] == 0
    assert look_at(message, "d").depth == "metres"


@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.data(),
)
def test_rvl_gives_back_any_picture(height: int, width: int, data: st.DataObject) -> None:
    level = st.one_of(st.just(0), st.integers(0, 65535))
    values = data.draw(st.lists(level, min_size=height * width, max_size=height * width))
    picture = np.array(values, np.uint16).reshape(height, width)
    np.testing.assert_array_equal(unpack(packed(encoded_rvl(picture)), "16UC1"), picture)


@given(st.binary(max_size=60))
def test_damaged_rvl_is_an_error_or_a_picture(noise: bytes) -> None:
    try:
        picture = unpack(packed(struct.pack("<ii", 5, 4) + noise), "16UC1")
    except DecodeError:
        return
    assert isinstance(picture, np.ndarray) and picture.shape == (4, 5)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        packed(b""),
        packed(struct.pack("<ii", 2**30, 2**30)),
        packed(struct.pack("<ii", -4, -4)),
        packed(encoded_rvl(DEPTH)[:-4]),
        packed(struct.pack("<iiI", 4, 4, 0xFFFFFFFF)),
    ],
)
@pytest.mark.parametrize("encoding", ["16UC1", "32FC1"])
def test_damaged_compressed_depth(data: bytes, encoding: str) -> None:
    with pytest.raises(DecodeError):
        unpack(data, encoding)


def test_damaged_png_inside() -> None:
    with pytest.raises(DecodeError, match="PNG"):
        unpack(packed(b"\x89PNG\r\n\x1a\n" + bytes(40), 1, 1), "32FC1")
