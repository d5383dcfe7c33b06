"""Coded video, a picture in each message."""

from __future__ import annotations

import io
import struct
from fractions import Fraction

import av
import numpy as np

from genlock._messages import Schema

SIZE = (48, 64)


def coded_video(codec: str, count: int, key_every: int = 10) -> list[bytes]:
    """Pictures of a level of 10 + 4 k, each coded to one packet, without B-frames."""
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        stream = container.add_stream(codec, 25)
        stream.height, stream.width = SIZE
        stream.pix_fmt, stream.time_base = "yuv420p", Fraction(1, 25)
        stream.codec_context.gop_size = key_every
        stream.codec_context.max_b_frames = 0
        quiet = {"libx265": {"x265-params": "log-level=none:bframes=0:keyint=10:scenecut=0"}}
        stream.options = quiet.get(codec, {})
        context = stream.codec_context
        context.flags &= ~av.codec.context.Flags.global_header
        packets = []
        for k in range(count):
            level = np.full((*SIZE, 3), 10 + 4 * k, np.uint8)
            frame = av.VideoFrame.from_ndarray(level, format="rgb24").reformat(format="yuv420p")
            frame.pts = k
            packets += stream.encode(frame)
        packets += stream.encode(None)
        return [bytes(packet) for packet in packets]


def ros_video(ns: int, data: bytes, format: str) -> tuple[Schema, bytes]:
    """A foxglove_msgs/msg/CompressedVideo, written out by hand."""
    text = "builtin_interfaces/Time timestamp\nstring frame_id\nuint8[] data\nstring format\n"
    name = format.encode() + b"\0"
    body = struct.pack("<iII4sI", ns // 10**9, ns % 10**9, 4, b"cam\0", len(data)) + data
    body += bytes(-len(body) % 4) + struct.pack("<I", len(name)) + name
    kind = Schema("foxglove_msgs/msg/CompressedVideo", "cdr", "ros2msg", text.encode())
    return kind, bytes([0, 1, 0, 0]) + body
