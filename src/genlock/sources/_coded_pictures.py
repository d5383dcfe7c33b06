"""Coded pictures that come as bytes, without a container: key pictures, and what the first one is.

Sources: ITU-T H.264 table 7-1, ITU-T H.265 table 7-1 (types of NAL units), RFC 6386 9.1 (VP8), VP9
bitstream specification 6.2, AV1 bitstream specification 5.3.1 and 6.2.2 (OBU types).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from av.codec.context import CodecContext
from av.error import FFmpegError
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from genlock.errors import DecodeError

START_CODE = b"\x00\x00\x01"
H264_SLICES, H264_IDR = range(1, 6), 5
HEVC_SLICES, HEVC_IRAP = range(32), range(16, 24)
OBU_SEQUENCE_HEADER = 1
PROBED = 64


class PictureFacts(NamedTuple):
    """What a decoded picture is. shape: (height, width)."""

    shape: tuple[int, int]
    bits: int


def is_key(codec: str, data: bytes) -> bool:
    """Whether decoding can start at a coded picture.

    codec: FFmpeg's name. data: one picture, in Annex B form for H.264 and HEVC.
    """
    if codec in ("h264", "hevc"):
        return _nal_key(codec == "h264", data)
    if codec == "vp8":
        return len(data) > 0 and not data[0] & 1
    if codec == "vp9":
        return _vp9_key(data)
    return codec == "av1" and _has_sequence_header(data)


def _nal_key(h264: bool, data: bytes) -> bool:
    at = data.find(START_CODE)
    while 0 <= at < len(data) - 3:
        head = data[at + 3]
        kind = head & 31 if h264 else head >> 1 & 63
        if kind in (H264_SLICES if h264 else HEVC_SLICES):
            return kind == H264_IDR if h264 else kind in HEVC_IRAP
        at = data.find(START_CODE, at + 3)
    return False


def _vp9_key(data: bytes) -> bool:
    if not data:
        return False
    profile = data[0] >> 5 & 1 | data[0] >> 3 & 2
    bits = data[0] << (1 if profile == 3 else 0)  # profile 3 has a reserved bit
    show_existing, inter = bits >> 3 & 1, bits >> 2 & 1
    return not show_existing and not inter


def _has_sequence_header(data: bytes) -> bool:
    at = 0
    while at < len(data):
        kind, extended, sized = data[at] >> 3 & 15, data[at] >> 2 & 1, data[at] >> 1 & 1
        if kind == OBU_SEQUENCE_HEADER:
            return True
        at += 1 + extended
        if not sized:
            return False
        size = 0
        for shift in range(0, 56, 7):  # leb128
            if at >= len(data):
                return False
            byte, at = data[at], at + 1
            size |= (byte & 127) << shift
            if byte < 128:
                break
        at += size
    return False


def first_picture(codec: str, pictures: Iterable[bytes]) -> PictureFacts | None:
    """Decode until a picture comes out; None if none does in the first `PROBED`.

    pictures: from a key picture on. Raises DecodeError if FFmpeg has no such decoder.
    """
    try:
        context = CodecContext.create(codec, "r")
    except (FFmpegError, ValueError) as error:
        raise DecodeError(f"FFmpeg has no decoder for {codec!r}: {error}") from error
    assert isinstance(context, VideoCodecContext)
    context.thread_count = 1
    packets = (Packet(data) for _, data in zip(range(PROBED), pictures, strict=False))
    for packet in chain(packets, [None]):
        try:
            frames: list[VideoFrame] = context.decode(packet)
        except FFmpegError:
            continue
        if frames:
            form = frames[0].format
            bits = max((component.bits for component in form.components), default=8)
            return PictureFacts((frames[0].height, frames[0].width), bits)
    return None
