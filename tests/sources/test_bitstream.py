"""Heads of coded pictures, from bytes written by hand after the specifications."""

from __future__ import annotations

import pytest

from genlock.sources._bitstream import PictureHead, inspector

AVCC, HVCC = b"\x01" + bytes(3) + b"\xff", b"\x01" + bytes(20) + b"\xff"
START = b"\x00\x00\x00\x01"


def framed(nal_units: list[bytes], lengths: bool) -> memoryview:
    heads = [len(nal).to_bytes(4) if lengths else START for nal in nal_units]
    return memoryview(b"".join(h + nal for h, nal in zip(heads, nal_units, strict=True)))


@pytest.mark.parametrize("lengths", [True, False])
@pytest.mark.parametrize(
    ("nal_units", "disposable"),
    [
        ([b"\x09\xf0", b"\x01slice-data"], True),  # delimiter, non-reference slice
        ([b"\x06sei-data", b"\x41slice-data"], False),  # nal_ref_idc 2
        ([b"\x01slice-data", b"\x21slice-data"], False),  # a field that is referred to
        ([b"\x65idr-data"], False),
        ([b"\x67sps-data", b"\x68pps-data"], False),  # no picture at all
    ],
)
def test_h264_reference_bits(nal_units: list[bytes], disposable: bool, lengths: bool) -> None:
    inspect = inspector("h264", AVCC if lengths else START + b"\x67")
    assert inspect(framed(nal_units, lengths)) == PictureHead(0, disposable, True)


@pytest.mark.parametrize("lengths", [True, False])
@pytest.mark.parametrize(
    ("kind", "layer", "disposable"),
    [(0, 0, True), (1, 0, False), (0, 2, True), (8, 1, True), (9, 0, False), (19, 0, False)],
)
def test_hevc_types_and_layers(kind: int, layer: int, disposable: bool, lengths: bool) -> None:
    nal = bytes([kind << 1, layer + 1]) + b"slice-data"
    delimiter, second_view = b"\x46\x01\x50", bytes([1 << 1, 1 << 3 | 1]) + b"slice-data"
    inspect = inspector("hevc", HVCC if lengths else None)
    head = inspect(framed([delimiter, second_view, nal], lengths))
    assert head == PictureHead(layer, disposable, True)


def test_hidden_pictures_of_vp8_and_vp9() -> None:
    assert inspector("vp8", None)(memoryview(b"\x10key")).shown
    assert not inspector("vp8", None)(memoryview(b"\x01alt")).shown
    vp9 = inspector("vp9", None)
    # frame_marker 10, profile 00, show_existing_frame, frame_type, show_frame
    assert vp9(memoryview(bytes([0b10000010, 0, 0]))).shown
    assert not vp9(memoryview(bytes([0b10000100, 0, 0]))).shown
    assert vp9(memoryview(bytes([0b10001000, 0, 0]))).shown
    # profile 3 has a reserved bit before them
    assert vp9(memoryview(bytes([0b10110001, 0, 0]))).shown
    assert not vp9(memoryview(bytes([0b10110010, 0, 0]))).shown
    # a superframe index at the end: hidden frames come along with one that is shown
    assert vp9(memoryview(bytes([0b10000100, 0, 0b11000001]))).shown
    for codec in ("vp8", "vp9"):
        assert not inspector(codec, None)(memoryview(b"")).shown


def test_of_other_codecs_nothing_is_known() -> None:
    assert inspector("mpeg4", b"\x01")(memoryview(b"anything")) == PictureHead()


@pytest.mark.parametrize("codec", ["h264", "hevc"])
def test_cut_short_units_are_no_error(codec: str) -> None:
    inspect = inspector(codec, AVCC if codec == "h264" else HVCC)
    whole = bytes(framed([b"\x02\x01abc", b"\x02\x01defgh"], True))
    for length in range(len(whole)):
        assert isinstance(inspect(memoryview(whole[:length])), PictureHead)
        assert isinstance(inspector(codec, None)(memoryview(whole[:length])), PictureHead)
