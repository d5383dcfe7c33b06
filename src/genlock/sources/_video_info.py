"""What a video track's first picture and container say of it, as `StreamInfo`."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import cast

import numpy as np
from av.sidedata.sidedata import SideData
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from genlock.stream import ColorTags, StreamInfo
from genlock.timeline import Report

# numbers of ITU-T H.273, names of FFmpeg
MATRICES = MappingProxyType(
    {
        0: "gbr",
        1: "bt709",
        4: "fcc",
        5: "bt470bg",
        6: "smpte170m",
        7: "smpte240m",
        8: "ycgco",
        9: "bt2020nc",
        10: "bt2020c",
        14: "ictcp",
    }
)
PRIMARIES = MappingProxyType(
    {
        1: "bt709",
        4: "bt470m",
        5: "bt470bg",
        6: "smpte170m",
        7: "smpte240m",
        8: "film",
        9: "bt2020",
        10: "smpte428",
        11: "smpte431",
        12: "smpte432",
        22: "ebu3213",
    }
)
TRANSFERS = MappingProxyType(
    {
        1: "bt709",
        4: "bt470m",
        5: "bt470bg",
        6: "smpte170m",
        7: "smpte240m",
        8: "linear",
        9: "log100",
        10: "log316",
        11: "iec61966-2-4",
        12: "bt1361e",
        13: "iec61966-2-1",
        14: "bt2020-10",
        15: "bt2020-12",
        16: "smpte2084",
        17: "smpte428",
        18: "arib-std-b67",
    }
)
RANGES = MappingProxyType({1: "tv", 2: "pc"})


def picture_info(track: VideoStream, first: VideoFrame | None, report: Report) -> StreamInfo:
    """Describe a track. first: its first picture, None if none could be decoded."""
    source = first or track.codec_context
    rotation, flipped, exact = _orientation(first)
    if not exact:
        report = report.noting(f"the display matrix is rounded to {rotation} degrees clockwise")
    shape = (source.height, source.width)
    pixels = source.format
    bits = max((c.bits for c in pixels.components), default=8) if pixels is not None else 8
    aspect = track.sample_aspect_ratio
    return StreamInfo(
        "video",
        encoding="packets",
        codec=track.codec_context.codec.canonical_name,
        shape=shape[::-1] if rotation % 180 else shape,
        dtype="uint8" if bits <= 8 else "uint16",
        rate=float(track.average_rate) if track.average_rate else None,
        clock="media",
        rotation=rotation,
        flipped=flipped,
        sample_aspect=float(aspect) if aspect else 1.0,
        bits=bits,
        color=ColorTags(
            MATRICES.get(source.colorspace, "unknown"),
            RANGES.get(source.color_range, "unknown"),
            PRIMARIES.get(source.color_primaries, "unknown"),
            TRANSFERS.get(source.color_trc, "unknown"),
        ),
        interlaced=first is not None and first.interlaced_frame,
        report=report,
    )


def _orientation(frame: VideoFrame | None) -> tuple[int, bool, bool]:
    """Degrees clockwise that make the picture upright, whether it is mirrored horizontally before,
    and whether that is all the display matrix says.

    The matrix (ISO/IEC 14496-12 6.2.2, 16.16 fixed point) takes (x, y) to (ax + cy, bx + dy).
    """
    if frame is None:
        return 0, False, True
    try:
        data = cast("SideData | None", frame.side_data.get("DISPLAYMATRIX"))
    except ValueError:  # PyAV knows no name for some other side data, such as a view's number
        return -frame.rotation % 360, False, True
    if data is None:
        return 0, False, True
    a, b, _, c, d = np.frombuffer(bytes(data), "<i4")[:5].tolist()
    degrees = math.degrees(math.atan2(-c, d))
    rotation = round(degrees / 90) * 90
    return rotation % 360, a * d - b * c < 0, abs(degrees - rotation) < 0.5
