"""Lone WAV and FLAC files: one stream named `audio` that starts at 0.

WAV files of plain numbers (8 to 64 bits, RF64, extensible) are mapped into memory; FLAC and coded
WAV (ADPCM, A-law, µ-law) are read through libsndfile, which is exact to the sample after a seek
for these. It is not for Vorbis and MP3, so those are media files like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from types import MappingProxyType

import numpy as np

from genlock.clock import ClockMap
from genlock.errors import OpenError, StreamError
from genlock.interfaces import (
    CodecSpec,
    OpenChild,
    OpenOptions,
    Units,
    UnitSamples,
    UnitTable,
)
from genlock.location import Location
from genlock.sources._sound_units import CodedUnits, PlainUnits, SoundFile
from genlock.sources._wav import FLOAT, WavHeader, is_wav, read_header
from genlock.stream import Stream, StreamInfo
from genlock.timeline import SampledTimeline

CLOCK = "media"
STREAM = "audio"
CODED_WAV = {0x0002: "adpcm_ms", 0x0006: "pcm_alaw", 0x0007: "pcm_mulaw", 0x0011: "adpcm_ima_wav"}
"""WAV format tags that libsndfile decodes, with FFmpeg's names."""
FLAC_TOTAL = slice(21, 26)
"""Where a FLAC file's STREAMINFO has its 36 bits of total samples (RFC 9639, 8.2)."""
PLAIN_UNIT = 2**16
CODED_UNIT = 4096
"""Samples of a unit that is decoded: a FLAC frame of usual size, so that damage spoils two."""


def claims(location: Location, head: bytes) -> bool:
    """Whether this is a WAV file of a known codec, or a FLAC file that states its length."""
    if head[:4] == b"fLaC":
        return int.from_bytes(head[FLAC_TOTAL], "big") % 2**36 > 0
    if not is_wav(head):
        return False
    with location.open() as file:
        try:
            header = read_header(file)
        except ValueError:
            return True
    return header.layout is not None or header.tag in CODED_WAV


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> SoundSource:
    """Open a WAV or FLAC file. Raises OpenError naming the location."""
    if is_wav(location.head()):
        with location.open() as file, _refusing(location):
            header = read_header(file)
        if header.layout is not None:
            return _plain(location, header)
        return _coded(location, CODED_WAV.get(header.tag, ""))
    return _coded(location, "flac")


class SoundSource:
    """An open sound file. Thread-safe: each cursor has a file of its own."""

    clock = CLOCK
    clocks: Mapping[str, ClockMap] = MappingProxyType({})

    def __init__(
        self,
        location: Location,
        info: StreamInfo,
        timeline: SampledTimeline,
        unit_frames: int,
        open_units: Callable[[CodecSpec, UnitSamples], Units],
    ) -> None:
        self.location = location
        self.streams = MappingProxyType({STREAM: Stream(STREAM, info, timeline)})
        table, self._samples = _equal_units(timeline, unit_frames)
        self._spec = CodecSpec("samples", table=table, options={"uri": location.uri})
        self._open_units = open_units

    def units(self, stream: str) -> Units:
        if stream != STREAM:
            raise StreamError(f"{self.location.uri} has no stream {stream!r}", stream=stream)
        return self._open_units(self._spec, self._samples)

    def close(self) -> None:
        """Nothing is held open."""


def _plain(location: Location, header: WavHeader) -> SoundSource:
    bits = 8 * header.frame_bytes // header.channels
    kind = "float" if header.tag == FLOAT else "uint" if bits == 8 else "int"
    dtype = f"{kind}{32 if bits == 24 else bits}"
    info = _info(str(header.layout), header.channels, header.rate, dtype, bits)
    timeline = SampledTimeline(0, header.rate, header.frames)
    return SoundSource(location, info, timeline, PLAIN_UNIT, partial(PlainUnits, location, header))


def _coded(location: Location, codec: str) -> SoundSource:
    sound = SoundFile(location)
    try:
        bits = {"PCM_S8": 8, "PCM_24": 24}.get(sound.subtype, 16)
        dtype = "int32" if bits == 24 else "int16"
        info = _info(codec, sound.channels, sound.rate, dtype, bits)
        timeline = SampledTimeline(0, sound.rate, sound.frames())
    finally:
        sound.close()
    return SoundSource(location, info, timeline, CODED_UNIT, partial(CodedUnits, location, dtype))


def _info(codec: str, channels: int, rate: int, dtype: str, bits: int) -> StreamInfo:
    return StreamInfo(
        "audio",
        encoding="samples",
        codec=codec,
        shape=(channels,),
        dtype=dtype,
        rate=float(rate),
        clock=CLOCK,
        bits=bits,
    )


def _equal_units(timeline: SampledTimeline, size: int) -> tuple[UnitTable, UnitSamples]:
    """A table of units that hold `size` samples each, the last one the rest."""
    first = np.arange(0, timeline.count, size, dtype=np.int64)
    samples = UnitSamples(
        first, np.minimum(size, timeline.count - first), np.zeros(len(first), np.int64)
    )
    always = np.ones(len(first), np.bool_)
    no_rows = np.zeros(0, np.int64)
    period = Fraction(1, timeline.rate)
    table = UnitTable(first, first, always, ~always, no_rows, period, samples=samples)
    return table, samples


@contextmanager
def _refusing(location: Location) -> Iterator[None]:
    """Turn what is wrong with a header into an OpenError naming the location."""
    try:
        yield
    except ValueError as error:
        message = f"cannot open {location.uri}: the WAV file is damaged: {error}"
        raise OpenError(message, recording=location.uri) from error
