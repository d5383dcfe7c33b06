"""What the DALI decoder does around DALI, which a stand-in replaces; see test_with_dali.py too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import pytest
from picture_units import MemoryUnits, encode, gradient, stream_of

from genlock.decoders import dali, make_decoder
from genlock.decoders.dali import DaliDecoder
from genlock.decoders.image import ImageDecoder
from genlock.errors import DecodeError, FieldError, LimitError
from genlock.interfaces import FrameFormat

PICTURE = gradient(32, 48)
PIXELS = PICTURE[..., 0].size


class StandIn:
    """OpenCV in place of DALI. gpus: that it was made for; calls: how many pictures each had."""

    def __init__(self) -> None:
        self.gpus: list[int | None] = []
        self.calls: list[int] = []
        self.closed = 0
        self.cuts = 0
        self.damaged = b""

    def __call__(self, gpu: int | None) -> StandIn:
        self.gpus.append(gpu)
        return self

    def decode(self, pictures: list[bytes], one_channel: bool) -> list[np.ndarray]:
        if pictures:
            self.calls.append(len(pictures))
        kind = cv2.IMREAD_GRAYSCALE if one_channel else cv2.IMREAD_COLOR_RGB
        decoded = [cv2.imdecode(np.frombuffer(data, np.uint8), kind) for data in pictures]
        if self.damaged in pictures:
            raise RuntimeError(f"Failed to decode sample #{pictures.index(self.damaged)}")
        return [values[self.cuts :] for values in decoded]

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(dali, "_Dali", stand_in)
    return stand_in


def jpegs(count: int) -> list[bytes]:
    return [encode(np.roll(PICTURE, i * 5, 1), "JPEG", quality=90) for i in range(count)]


def read(kind: type[Any], units: Sequence[bytes], rows: Sequence[int], **how: Any) -> np.ndarray:
    stream = stream_of(units)
    out = np.zeros((len(rows), 3, *stream.info.shape[:2]), np.uint8)
    decoder = kind(MemoryUnits(units), stream, **how)
    assert decoder.read(np.array(rows), FrameFormat(), out).all()
    decoder.close()
    return out


@pytest.mark.parametrize(
    ("pixels", "calls"), [(2**25, [5]), (2 * PIXELS, [2, 2, 1]), (1, [1, 1, 1, 1, 1])]
)
def test_a_run_is_decoded_at_once_and_bounded_in_pixels(
    backend: StandIn, monkeypatch: pytest.MonkeyPatch, pixels: int, calls: list[int]
) -> None:
    monkeypatch.setattr(dali, "RUN_PIXELS", pixels)
    rows = [0, 0, 1, 3, 4, 4, 5]
    got = read(DaliDecoder, jpegs(6), rows)
    np.testing.assert_array_equal(got, read(ImageDecoder, jpegs(6), rows))
    assert backend.calls == calls
    assert backend.closed == 1


def test_one_damaged_picture_is_found_among_those_decoded_with_it(backend: StandIn) -> None:
    units = jpegs(3)
    backend.damaged = units[2]
    with pytest.raises(DecodeError, match=r"DALI cannot decode this jpeg.*sample #0") as caught:
        read(DaliDecoder, units, [0, 1, 2])
    assert caught.value.recording == "file 2"
    assert caught.value.time_ns == 200_000_000


def test_a_picture_of_another_size_than_its_header_says_is_an_error(backend: StandIn) -> None:
    backend.cuts = 1
    with pytest.raises(DecodeError, match=r"has \(31, 48\) pixels, its header \(32, 48\)"):
        read(DaliDecoder, jpegs(1), [0])


def test_what_a_header_claims_is_refused_before_decoding(backend: StandIn) -> None:
    with pytest.raises(LimitError):
        read(DaliDecoder, jpegs(1), [0], max_pixels=PIXELS - 1)
    with pytest.raises(FieldError, match="this is png of 3"):
        read(DaliDecoder, [encode(PICTURE, "PNG")], [0])
    assert backend.calls == []


@pytest.mark.parametrize("gpu", [None, 2])
def test_it_works_on_the_gpu_that_batches_go_to(backend: StandIn, gpu: int | None) -> None:
    units = jpegs(1)
    decoder = make_decoder(MemoryUnits(units), stream_of(units), False, None, name="dali", gpu=gpu)
    assert type(decoder) is DaliDecoder
    assert backend.gpus == [gpu]
