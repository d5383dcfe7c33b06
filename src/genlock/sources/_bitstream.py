"""What a coded picture says of itself without being decoded: whether another one refers to it,
whether it is shown at all, and whether pictures before it are missing.

Sources: ITU-T H.264 7.3.1 and 7.4.1 (nal_ref_idc), ITU-T H.265 7.3.1.2 and table 7-1 (sub-layer
non-reference pictures, TemporalId), RFC 6386 9.1 (VP8 show_frame), VP9 bitstream 6.2
(show_existing_frame, show_frame), ISO/IEC 14496-15 (length-prefixed NAL units, avcC, hvcC).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from genlock.sources._frame_numbers import PARAMETER_BYTES, SLICE_BYTES, FrameNumbers

START_CODE = b"\x00\x00\x01"
H264_SLICES = range(1, 6)
H264_PARTITION = 2
H264_PARAMETERS = 7
HEVC_SLICES = range(32)
HEVC_NON_REFERENCE = range(0, 16, 2)
"""TRAIL_N, TSA_N, STSA_N, RADL_N, RASL_N and their reserved kin: the even types below 16."""


class PictureHead(NamedTuple):
    """layer: temporal layer. disposable: no picture of its layer or below refers to it. shown:
    whether decoding it gives a picture. follows: whether no picture that it builds on was lost.
    """

    layer: int = 0
    disposable: bool = False
    shown: bool = True
    follows: bool = True


Inspect = Callable[[memoryview], PictureHead]


def inspector(codec: str, extradata: bytes | None) -> Inspect:
    """What reads the heads of this codec's packets; for most codecs nothing can be told.

    codec: FFmpeg's name of the codec. extradata: its headers, which say how NAL units are framed.
    """
    if codec == "h264":
        return _H264(_length_size(extradata, 4), extradata or b"")
    if codec == "hevc":
        return _Hevc(_length_size(extradata, 21))
    return {"vp8": _vp8, "vp9": _vp9}.get(codec, _unknown)


def _length_size(extradata: bytes | None, offset: int) -> int:
    """Bytes of each NAL unit's length; 0 where start codes divide them (no avcC or hvcC)."""
    if not extradata or len(extradata) <= offset or extradata[0] != 1:
        return 0
    return (extradata[offset] & 3) + 1


def _nal_starts(data: memoryview, length_size: int) -> Iterator[int]:
    """Positions of the NAL units' headers."""
    if length_size:
        at = 0
        while at + length_size + 1 < len(data):
            yield at + length_size
            at += length_size + int.from_bytes(data[at : at + length_size])
        return
    stream = bytes(data)
    at = stream.find(START_CODE)
    while 0 <= at < len(stream) - 4:
        yield at + 3
        at = stream.find(START_CODE, at + 3)


class _H264:
    def __init__(self, length_size: int, extradata: bytes) -> None:
        self._length_size = length_size
        self._numbers = FrameNumbers()
        for parameters in _avcc_parameters(extradata) if length_size else _annex_b(extradata):
            self._numbers.parameters(parameters)

    def __call__(self, data: memoryview) -> PictureHead:
        references, follows = [], True
        for at in _nal_starts(data, self._length_size):
            head = data[at]
            if head & 31 == H264_PARAMETERS:
                self._numbers.parameters(bytes(data[at : at + PARAMETER_BYTES]))
            elif head & 31 in H264_SLICES:
                references.append(head >> 5 & 3)
                if len(references) == 1 and head & 31 != H264_PARTITION:
                    follows = self._numbers.follows(bytes(data[at : at + SLICE_BYTES]))
        return PictureHead(0, bool(references) and not any(references), True, follows)


def _avcc_parameters(extradata: bytes) -> Iterator[bytes]:
    """The sequence parameter sets of an avcC box."""
    at = 6
    for _ in range(extradata[5] & 31 if len(extradata) > 5 else 0):
        length = int.from_bytes(extradata[at : at + 2])
        yield extradata[at + 2 : at + 2 + length]
        at += 2 + length


def _annex_b(extradata: bytes) -> Iterator[bytes]:
    """The sequence parameter sets between start codes."""
    for at in _nal_starts(memoryview(extradata), 0):
        if extradata[at] & 31 == H264_PARAMETERS:
            yield extradata[at : at + PARAMETER_BYTES]


class _Hevc:
    def __init__(self, length_size: int) -> None:
        self._length_size = length_size

    def __call__(self, data: memoryview) -> PictureHead:
        for at in _nal_starts(data, self._length_size):
            kind, base_layer = data[at] >> 1 & 63, not data[at] & 1 and data[at + 1] < 8
            if kind in HEVC_SLICES and base_layer:
                return PictureHead((data[at + 1] & 7) - 1, kind in HEVC_NON_REFERENCE)
        return PictureHead()


def _vp8(data: memoryview) -> PictureHead:
    return PictureHead(shown=len(data) > 0 and bool(data[0] & 0x10))


def _vp9(data: memoryview) -> PictureHead:
    """A packet that is one hidden frame; one with a superframe index always shows a frame."""
    if not len(data) or data[-1] & 0xE0 == 0xC0:
        return PictureHead(shown=len(data) > 0)
    bits = data[0] << 8 | (data[1] if len(data) > 1 else 0)
    profile = bits >> 13 & 1 | bits >> 11 & 2
    after = 11 if profile < 3 else 10
    show_existing, show_frame = bits >> after & 1, bits >> after - 2 & 1
    return PictureHead(shown=bool(show_existing or show_frame))


def _unknown(data: memoryview) -> PictureHead:
    return PictureHead()
