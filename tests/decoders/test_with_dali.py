"""DALI itself, on a CPU: run by `make test-dali` in an environment that has it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from picture_units import MemoryUnits, encode, gradient, stream_of, with_exif
from PIL import Image

import genlock as gl
from genlock.decoders import dali
from genlock.decoders.dali import DaliDecoder
from genlock.decoders.image import ImageDecoder
from genlock.errors import ClosedError, DecodeError, FieldError
from genlock.interfaces import FrameFormat

try:
    dali.require()
except gl.MissingExtraError:
    if os.environ.get("GENLOCK_DALI"):
        raise
    pytest.skip("DALI is not in this environment: make test-dali", allow_module_level=True)

PICTURE = gradient(48, 64)
JPEGS = {
    "baseline": encode(PICTURE, "JPEG", quality=90),
    "progressive": encode(PICTURE, "JPEG", quality=90, progressive=True),
    "444": encode(PICTURE, "JPEG", quality=90, subsampling=0),
    "422": encode(PICTURE, "JPEG", quality=90, subsampling=1),
    "restarts": encode(PICTURE, "JPEG", restart_marker_rows=1),
    "one channel": encode(PICTURE[..., 0], "JPEG"),
    "one pixel": encode(PICTURE[:1, :1], "JPEG"),
    "odd": encode(PICTURE[:31, :47], "JPEG"),
}
FORMATS = [
    FrameFormat(),
    FrameFormat(layout="HWC"),
    FrameFormat(color="gray"),
    FrameFormat(color="rgba"),
    FrameFormat(dtype="float32"),
    FrameFormat(dtype="uint16", layout="HWC"),
]


def read(
    kind: type[Any], units: Sequence[bytes], format: FrameFormat, rows: Any = None, **info: Any
) -> np.ndarray:
    stream = stream_of(units, **info)
    rows = np.arange(len(units)) if rows is None else np.array(rows)
    out = np.full((len(rows), *format.frame_shape(stream.info.shape)), 77, format.dtype)
    decoder = kind(MemoryUnits(units), stream)
    assert decoder.read(rows, format, out).all()
    decoder.close()
    return out


@pytest.mark.parametrize("format", FORMATS, ids=str)
@pytest.mark.parametrize("name", JPEGS)
def test_pixels_are_those_of_the_image_decoder(name: str, format: FrameFormat) -> None:
    units = [JPEGS[name], JPEGS[name]]
    expected = read(ImageDecoder, units, format)
    np.testing.assert_array_equal(read(DaliDecoder, units, format), expected)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_frames_are_upright(orientation: int) -> None:
    unit = with_exif(PICTURE, "JPEG", orientation)
    format = FrameFormat(crop=(4, 6, 32, 30))
    expected = read(ImageDecoder, [unit], format)
    np.testing.assert_array_equal(read(DaliDecoder, [unit], format), expected)


def test_resized_frames_are_within_the_reduced_decoding_of_the_other() -> None:
    """`ImageDecoder` decodes at a reduced scale for small targets, which rounds elsewhere."""
    format = FrameFormat(size=(12, 16))
    unit = encode(PICTURE, "JPEG", quality=95, subsampling=0)
    expected = read(ImageDecoder, [unit], format).astype(int)
    assert np.abs(read(DaliDecoder, [unit], format) - expected).max() <= 3
    larger = FrameFormat(size=(60, 80))  # no reduced scale: the same to the bit
    np.testing.assert_array_equal(
        read(DaliDecoder, [unit], larger), read(ImageDecoder, [unit], larger)
    )


def test_rows_come_in_their_order_whatever_they_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Grey and coloured pictures, repeats, and runs that end within them."""
    units = [encode(np.roll(PICTURE, i * 7, 1), "JPEG") for i in range(6)]
    units[2] = encode(np.roll(PICTURE, 14, 1)[..., 0], "JPEG")
    rows = [0, 0, 1, 2, 2, 3, 5, 5]
    expected = read(ImageDecoder, units, FrameFormat(), rows)
    for pixels in (1, 2 * PICTURE[..., 0].size, 2**25):
        monkeypatch.setattr(dali, "RUN_PIXELS", pixels)
        np.testing.assert_array_equal(read(DaliDecoder, units, FrameFormat(), rows), expected)


def broken(problem: str) -> bytes:
    whole = JPEGS["baseline"]
    if problem == "cut short":
        return whole[: len(whole) // 2]
    return whole[: whole.index(b"\xff\xda")] + b"\xff\xd9"  # without a scan


@pytest.mark.parametrize("problem", ["cut short", "no scan"])
def test_a_damaged_picture_is_named_and_the_others_are_not(problem: str) -> None:
    units = [JPEGS["baseline"], broken(problem), JPEGS["444"]]
    stream = stream_of(units)
    decoder = DaliDecoder(MemoryUnits(units), stream)
    out = np.zeros((3, 3, 48, 64), np.uint8)
    with pytest.raises(DecodeError) as caught:
        decoder.read(np.arange(3), FrameFormat(), out)
    assert caught.value.recording == "file 1"
    assert caught.value.time_ns == 100_000_000
    assert decoder.read(np.array([0, 2]), FrameFormat(), out[:2]).all()  # and it goes on
    decoder.close()


@pytest.mark.parametrize(
    ("unit", "kind"),
    [
        (encode(PICTURE, "PNG"), "png of 3"),
        (encode(Image.fromarray(PICTURE).convert("CMYK"), "JPEG"), "jpeg of 4"),
    ],
)
def test_other_pictures_are_not_offered(unit: bytes, kind: str) -> None:
    with pytest.raises(FieldError, match=f"this is {kind}: leave decoder= out"):
        read(DaliDecoder, [unit], FrameFormat())


def test_invalid_rows_are_zero_and_closed_decoders_say_so() -> None:
    units = [JPEGS["baseline"], b"", JPEGS["baseline"]]
    stream = stream_of(units, valid=[True, False, True])
    decoder = DaliDecoder(MemoryUnits(units), stream)
    out = np.full((3, 3, 48, 64), 77, np.uint8)
    assert decoder.read(np.arange(3), FrameFormat(), out).tolist() == [True, False, True]
    assert not out[1].any()
    decoder.close()
    with pytest.raises(ClosedError):
        decoder.read(np.arange(1), FrameFormat(), out[:1])


def test_decoders_of_several_threads_do_not_meet() -> None:
    units = [encode(np.roll(PICTURE, i, 0), "JPEG") for i in range(8)]
    expected = read(ImageDecoder, units, FrameFormat())
    results: list[np.ndarray] = []

    def work() -> None:
        results.extend(read(DaliDecoder, units, FrameFormat()) for _ in range(3))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 12
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cam").mkdir()
    for i in range(12):
        picture = gradient(240, 320) ^ np.uint8(i * 8)
        (tmp_path / f"cam/{i:02}.jpg").write_bytes(encode(picture, "JPEG", quality=85))
    declared = '[streams.cam]\nkind = "video"\npath = "cam/*.jpg"\ntime = { rate = 10.0 }\n'
    (tmp_path / "recording.toml").write_text(declared)
    return tmp_path


def test_a_loader_gives_the_same_batches_and_leaves_no_thread(folder: Path) -> None:
    windows = gl.Windows(folder, duration=0.4, stride=0.2)
    before = set(threading.enumerate())
    batches = {}
    for decoder in ("auto", "dali"):
        fields = {"rgb": gl.Video("cam", rate=10, decoder=decoder)}
        with gl.Loader(windows, fields, batch_size=2, threads=2) as loader:
            batches[decoder] = [batch["rgb"].numpy().copy() for batch in loader]
    assert len(batches["dali"]) == len(batches["auto"]) > 1
    for got, expected in zip(batches["dali"], batches["auto"], strict=True):
        np.testing.assert_array_equal(got, expected)
    assert set(threading.enumerate()) <= before
