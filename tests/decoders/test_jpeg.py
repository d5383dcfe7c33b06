"""JPEGs made smaller from their planes: as Pillow makes them, whatever their kind."""

from __future__ import annotations

import io
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from picture_units import MemoryUnits, encode, stream_of, with_exif
from PIL import Image, ImageOps

from genlock._pictures import read_header
from genlock.decoders.image import ImageDecoder
from genlock.errors import DecodeError
from genlock.interfaces import FrameFormat

SIZE = (45, 66)


def scene(height: int = 81, width: int = 99) -> NDArray[np.uint8]:
    """Smooth and colourful, of odd size."""
    noise = np.random.default_rng(0).integers(0, 256, (height // 27, width // 27, 3), np.uint8)
    return np.asarray(Image.fromarray(noise).resize((width, height), Image.Resampling.BICUBIC))


def read(data: bytes, size: tuple[int, int] = SIZE, **form: Any) -> NDArray[Any]:
    """The picture at a size, [H, W, C]."""
    format = FrameFormat(size=size, layout="HWC", **form)
    out = np.full(format.frame_shape((0, 0, 3)), 7, format.dtype)[None]
    ImageDecoder(MemoryUnits([data]), stream_of([data])).read(np.array([0]), format, out)
    return out[0]


def pillow(data: bytes, size: tuple[int, int] = SIZE, mode: str = "RGB") -> NDArray[Any]:
    picture = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert(mode)
    return np.asarray(picture.resize(size[::-1], Image.Resampling.BILINEAR))


def psnr(a: NDArray[Any], b: NDArray[Any]) -> float:
    assert a.shape == b.shape
    return float(10 * np.log10(255**2 / np.square(a.astype(float) - b).mean()))


@pytest.fixture
def opencv_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each picture that OpenCV decodes."""
    calls: list[int] = []
    imdecode = cv2.imdecode
    monkeypatch.setattr(cv2, "imdecode", lambda *a: calls.append(1) or imdecode(*a))
    return calls


def segment(data: bytes, marker: int, content: bytes) -> bytes:
    """The file with a segment more, at its start."""
    return (
        data[:2]
        + bytes([0xFF, marker])
        + (len(content) + 2).to_bytes(2, "big")
        + content
        + data[2:]
    )


def without(data: bytes, marker: int) -> bytes:
    """The file without its segments of one kind."""
    kept, at = data[:2], 2
    while data[at + 1] != 0xDA:
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        kept += b"" if data[at + 1] == marker else data[at:end]
        at = end
    return kept + data[at:]


def named(data: bytes, names: bytes) -> bytes:
    """The file with its three components called otherwise, and no JFIF segment."""
    renamed = bytearray(without(data, 0xE0))
    frame, scan = renamed.index(b"\xff\xc0"), renamed.index(b"\xff\xda")
    for k, name in enumerate(names):
        renamed[frame + 10 + 3 * k] = renamed[scan + 5 + 2 * k] = name
    return bytes(renamed)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_as_pillow(subsampling: int, progressive: bool, opencv_calls: list[int]) -> None:
    data = encode(scene(), "JPEG", quality=95, subsampling=subsampling, progressive=progressive)
    assert psnr(read(data), pillow(data)) >= 38
    assert psnr(255 * read(data, dtype="float32"), pillow(data)) >= 38
    rgba = read(data, color="rgba")
    assert np.array_equal(rgba[..., :3], read(data)) and (rgba[..., 3] == 255).all()
    gray = read(data, color="gray")[..., 0]
    assert psnr(gray, pillow(data, mode="L")) >= 40
    assert not opencv_calls


def test_gray_pictures(opencv_calls: list[int]) -> None:
    data = encode(scene()[..., 0], "JPEG", quality=95)
    expected = pillow(data, mode="L")
    assert psnr(read(data, color="gray")[..., 0], expected) >= 45
    assert psnr(read(data), np.dstack([expected] * 3)) >= 45
    assert not opencv_calls


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned(orientation: int, opencv_calls: list[int]) -> None:
    data = with_exif(scene(), "JPEG", orientation)
    for size in ((45, 66), (70, 60)):
        assert psnr(read(data, size), pillow(data, size)) >= 38
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    cut = upright.crop((10, 6, 74, 66)).resize((32, 30), Image.Resampling.BILINEAR)
    assert psnr(read(data, (30, 32), crop=(6, 10, 60, 64)), np.asarray(cut)) >= 38
    assert not opencv_calls


def test_pictures_of_several_kinds_in_one_stream() -> None:
    units = [
        encode(scene(), "JPEG"),
        with_exif(scene(90, 72), "JPEG", 6),
        encode(scene(), "PNG"),
        encode(scene(54, 81), "JPEG"),
    ]
    out = np.zeros((4, *SIZE, 3), np.uint8)
    format = FrameFormat(size=SIZE, layout="HWC")
    ImageDecoder(MemoryUnits(units), stream_of(units)).read(np.arange(4), format, out)
    assert min(psnr(frame, pillow(unit)) for frame, unit in zip(out, units, strict=True)) >= 35


YCC = encode(scene(), "JPEG", quality=95, subsampling=2)
ADOBE = b"Adobe\0\x64\0\0\0\0"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encode(scene(), "JPEG", quality=95, keep_rgb=True), id="stored as RGB"),
        pytest.param(named(YCC, b"RGB"), id="components called RGB"),
        pytest.param(segment(YCC, 0xEE, ADOBE + b"\0"), id="JFIF, and Adobe's RGB"),
        pytest.param(segment(without(YCC, 0xE0), 0xEE, ADOBE + b"\0"), id="Adobe's RGB"),
        pytest.param(segment(YCC, 0xFE, b"CS=ITU601\0"), id="of narrow range to FFmpeg"),
        pytest.param(segment(YCC, 0xFE, b"Metasoft MJPEG Codec\0"), id="flipped to FFmpeg"),
        pytest.param(encode(Image.fromarray(scene()).convert("CMYK"), "JPEG"), id="CMYK"),
    ],
)
def test_what_decoders_take_in_two_ways_is_left_to_libjpeg(
    data: bytes, opencv_calls: list[int]
) -> None:
    assert psnr(read(data), pillow(data)) >= 35
    assert len(opencv_calls) == 1


def test_what_ffmpeg_refuses_is_left_to_libjpeg(opencv_calls: list[int]) -> None:
    damaged = bytearray(YCC)
    middle = len(YCC) // 2
    damaged[middle : middle + 4] = b"\xff\xd3\xff\xd3"  # a restart that was not announced
    whole = cv2.imdecode(np.frombuffer(bytes(damaged), np.uint8), cv2.IMREAD_COLOR)
    small = cv2.resize(whole, SIZE[::-1], interpolation=cv2.INTER_AREA)
    opencv_calls.clear()
    assert np.array_equal(read(bytes(damaged)), small[..., ::-1])
    assert len(opencv_calls) == 1


def test_no_picture_is_decoded_with_the_tables_of_another() -> None:
    units = [YCC, without(YCC, 0xDB)]
    assert read_header(io.BytesIO(units[0])).ycc
    assert not read_header(io.BytesIO(units[1])).ycc
    decoder = ImageDecoder(MemoryUnits(units), stream_of(units))
    with pytest.raises(DecodeError) as caught:
        decoder.read(np.arange(2), FrameFormat(size=SIZE), np.zeros((2, 3, *SIZE), np.uint8))
    assert caught.value.recording == "file 1"


def test_one_table_of_two_is_not_enough() -> None:
    shared = without(YCC, 0xDB)
    only_luma = segment(shared, 0xDB, b"\0" + bytes([1] * 64))
    both = segment(only_luma, 0xDB, b"\x11" + bytes([0, 1] * 64))
    assert not read_header(io.BytesIO(only_luma)).ycc
    assert read_header(io.BytesIO(both)).ycc
