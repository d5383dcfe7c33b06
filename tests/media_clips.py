"""Clips that tests make for themselves: every frame carries its own number, and where it is cut
and how it is coded is up to the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from genlock.interfaces import FrameFormat, OpenOptions, Source
from genlock.location import Location
from genlock.sources import media

WIDTH, HEIGHT = 128, 64
BLOCK = 16


def picture(number: int, height: int = HEIGHT, width: int = WIDTH) -> np.ndarray:
    """A grey picture, uint8 [H, W]: 8 blocks on top spell the number, a bar wanders below."""
    gray = np.full((height, width), 60 + number % 100, np.uint8)
    for bit in range(8):
        gray[:BLOCK, bit * BLOCK : (bit + 1) * BLOCK] = 235 if number >> (7 - bit) & 1 else 16
    at = number * 5 % (width - 8)
    gray[BLOCK + 4 :, at : at + 8] = 220
    return gray


def number_in(gray: np.ndarray) -> int:
    """The number that a picture spells; luma [H, W] at its own size."""
    blocks = [gray[4:12, b * BLOCK + 4 : b * BLOCK + 12].mean() for b in range(8)]
    return sum(int(value > 128) << (7 - bit) for bit, value in enumerate(blocks))


def encode(
    path: Path,
    codec: str,
    pictures: Iterable[np.ndarray | av.VideoFrame] | int = 60,
    *,
    pixels: str = "yuv420p",
    container: str | None = None,
    options: Mapping[str, str] | None = None,
    muxing: Mapping[str, str] | None = None,
    pts: Callable[[int], int] = lambda index: index,
    time_base: Fraction = Fraction(1, 25),
    gop: int = 12,
    b_frames: int | None = None,
    tags: Mapping[str, Any] | None = None,
) -> Path:
    """Write a clip of grey pictures (by default, of the first numbers) or of ready frames."""
    if isinstance(pictures, int):
        pictures = map(picture, range(pictures))
    with av.open(str(path), "w", format=container, options=dict(muxing or {})) as file:
        stream = None
        for index, content in enumerate(pictures):
            frame = content if isinstance(content, av.VideoFrame) else _gray(content, pixels)
            if stream is None:
                stream = file.add_stream(codec, rate=int(1 / time_base) if time_base < 1 else 25)
                stream.width, stream.height, stream.pix_fmt = frame.width, frame.height, pixels
                stream.options = dict(options or {})
                context = stream.codec_context
                context.time_base = time_base
                context.thread_count, context.gop_size = 1, gop
                if b_frames is not None:
                    context.max_b_frames = b_frames
                for name, value in (tags or {}).items():
                    setattr(context, name, value)
            frame.pts, frame.time_base = pts(index), time_base
            file.mux(stream.encode(frame))
        assert stream is not None
        file.mux(stream.encode(None))
    return path


def _gray(gray: np.ndarray, pixels: str) -> av.VideoFrame:
    """A frame whose luma is exactly the picture and whose chroma is neutral."""
    frame = av.VideoFrame.from_ndarray(gray, format="gray")
    if pixels == "gray":
        return frame
    planar = av.VideoFrame(frame.width, frame.height, "yuv420p")
    for plane, value in zip(planar.planes, (gray, 128, 128), strict=True):
        lines = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, -1)
        lines[:, : plane.width] = value
    return planar if pixels == "yuv420p" else planar.reformat(format=pixels)


def open_media(target: Any, options: OpenOptions | None = None) -> Source:
    """Open one file as the library would, but with this format alone."""
    return media.open_source(Location.of(target), options or OpenOptions(), _no_children)


def _no_children(location: Location, options: OpenOptions) -> Source:
    raise AssertionError("a media file opens no other location")


LUMA = FrameFormat(color="gray")
