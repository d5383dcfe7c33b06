"""Audio files for tests: a signal of known samples, encoded by FFmpeg into a container."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from genlock.decoders.audio import AudioDecoder
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources import media, sound

RATE = 48_000
LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1"}


def sweep(count: int, channels: int = 2, rate: int = RATE) -> NDArray[np.float32]:
    """A sweep with some noise in its second half, unlike itself at any shift. [C, N]."""
    t = np.arange(count) / rate
    noise = np.random.default_rng(7).standard_normal(count) * (t > t[-1] / 2)
    wave = 0.4 * np.sin(2 * np.pi * (200 * t + 900 * t * t)) + 0.02 * noise
    rows = [(1 - 0.1 * c) * np.roll(wave, 17 * c) for c in range(channels)]
    return np.stack(rows).astype(np.float32)


@dataclass(frozen=True)
class Coding:
    """How to encode: FFmpeg's names of encoder and container, and what comes back.

    extra: samples after the last one that the container does not say are padding. lag: samples of
    priming before the first one that it does not say. exact: what a window equals the whole file's
    decode to; None: only itself, since the decoder makes up noise.
    """

    codec: str
    container: str
    extra: int = 0
    lag: int = 0
    exact: float | None = 0.0
    sample_format: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.codec}-{self.container}"


def encode(coding: Coding, samples: NDArray[np.float32], rate: int = RATE) -> bytes:
    """Encode samples [C, N] from time 0 on."""
    layout = LAYOUTS[len(samples)]
    file = io.BytesIO()
    with av.open(file, "w", format=coding.container) as container:
        stream = container.add_stream(coding.codec, rate=rate, layout=layout)
        context = stream.codec_context
        context.options = {"strict": "-2", **coding.options}
        context.time_base = stream.time_base = Fraction(1, rate)
        if coding.sample_format:
            context.format = coding.sample_format
        context.open()
        frame = av.AudioFrame.from_ndarray(samples, "fltp", layout)
        frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
        cut = av.AudioResampler(context.format, layout, rate, context.frame_size or 1024)
        for piece in [*cut.resample(frame), *cut.resample(None)]:
            container.mux(stream.encode(piece))
        container.mux(stream.encode(None))
    return file.getvalue()


def edited(
    data: bytes,
    container: str,
    payload: Callable[[int, bytes], bytes | None] = lambda index, payload: payload,
    delay_s: Callable[[int], float] = lambda index: 0,
) -> bytes:
    """The same file with some packets' bytes replaced, left out (None), or stamped later."""
    file = io.BytesIO()
    with av.open(io.BytesIO(data)) as source, av.open(file, "w", format=container) as target:
        track = source.streams.audio[0]
        copy = target.add_stream_from_template(track)
        target.start_encoding()
        packets = (packet for packet in source.demux(track) if packet.size)
        for index, packet in enumerate(packets):
            content = payload(index, bytes(packet))
            if content is None:
                continue
            ticks = round(delay_s(index) / packet.time_base)
            changed = av.Packet(content)
            changed.pts, changed.dts = packet.pts + ticks, packet.dts + ticks
            changed.duration, changed.time_base = packet.duration, packet.time_base
            changed.is_keyframe, changed.stream = True, copy
            target.mux(changed)
    return file.getvalue()


def ffmpeg_samples(data: bytes, track: int = 0) -> NDArray[np.float32]:
    """All samples [C, N] as FFmpeg trims them itself, one packet after the other."""
    pieces = []
    with av.open(io.BytesIO(data)) as container:
        for frame in container.decode(audio=track):
            piece = frame.to_ndarray()
            if not frame.format.is_planar:
                piece = piece.reshape(-1, frame.layout.nb_channels).T
            pieces.append(as_float(piece))
    return np.concatenate(pieces, 1)


def as_float(stored: NDArray[np.generic]) -> NDArray[np.float32]:
    """Full scale is 1; unsigned bytes are centred at 128."""
    if stored.dtype.kind == "u":
        return ((stored.astype(np.float64) - 128) / 128).astype(np.float32)
    scale = 1.0 if stored.dtype.kind == "f" else 2.0 ** (8 * stored.dtype.itemsize - 1)
    return (stored.astype(np.float64) / scale).astype(np.float32)


def opened(data: bytes | str | Path) -> Source:
    """The file by whichever of the two formats claims it."""
    location = Location.of(data)
    format = sound if sound.claims(location, location.head()) else media
    return format.open_source(location, OpenOptions(), lambda *_: pytest.fail("no children"))


def read(
    source: Source, first: int, count: int, rate: int | None = None, stream: str = "audio"
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Samples first … first + count by a decoder of their own, over what was in memory before."""
    described = source.streams[stream]
    out = np.full((described.info.shape[0], count), np.nan, np.float32)
    decoder = AudioDecoder(source.units(stream), described)
    try:
        valid = decoder.read(first, rate or described.timeline.rate, out)
    finally:
        decoder.close()
    return out, valid


def read_all(source: Source, stream: str = "audio") -> NDArray[np.float32]:
    """All samples; every one must be valid."""
    samples, valid = read(source, 0, len(source.streams[stream].timeline), stream=stream)
    assert valid.all()
    return samples


def best_lag(found: NDArray[np.float32], true: NDArray[np.float32], lags: Iterable[int]) -> int:
    """How many samples later than in `true` [N] the signal is in `found` [N]."""
    middle = slice(len(true) // 4, len(true) // 2)
    wanted = true[middle]

    def error(lag: int) -> float:
        shifted = found[middle.start + lag : middle.stop + lag]
        return float(np.square(shifted - wanted).mean())

    return min(lags, key=error)
