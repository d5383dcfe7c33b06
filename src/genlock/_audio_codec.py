"""`AudioCodec`: an FFmpeg audio decoder that gives all samples of a packet, priming included."""

from __future__ import annotations

import re
import struct
from contextlib import suppress
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import av
import av.error
import numpy as np
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.codec.context import Flags2
from av.packet import Packet
from numpy.typing import NDArray

from genlock.errors import DecodeError
from genlock.interfaces import CodecSpec

KEEPS_HISTORY = frozenset(
    {"aac", "aac_latm", "amrnb", "amrwb", "g722", "nellymoser", "real_144", "libopencore_amrnb"}
)
"""Decoders that flushing does not take back to their start: FFmpeg leaves AAC's overlapping half
frame and the state of its noise generator (ISO/IEC 14496-3, 4.6.13) as they are, and the
predictors of codecs made for speech."""

SETTLING = {"opus": Fraction(1, 2), "mp3": Fraction(4, 5)}
"""Seconds after which a decoder started in the middle gives what it would have given anyway, by
measurement and, for MP3, by its bit reservoir of 511 bytes (ISO/IEC 11172-3, 2.4.2.7), which may
hold 20 frames at 8 kbit/s. Opus is then within 1e-6 (RFC 7845, 4.6 asks for 80 ms)."""
SETTLING_SBR = Fraction(1)
"""The same for HE-AAC, whose spectral band replication waits for a header in the packets."""
SETTLING_PACKETS = 2
"""The same, in packets, for all codecs: transforms overlap with the packet before."""
AAC_FRAME = 1024

MPEG_AUDIO = re.compile(r"mp[123](float)?")
MPEG_SYNC = 0xFFE0
"""The 11 bits that each frame of MPEG-1 and MPEG-2 audio starts with."""

PLANES = 8
"""FFmpeg's AV_NUM_DATA_POINTERS: PyAV counts the planes of a frame with this many channels or more
past the end of its list, and reads what lies there."""

SKIP_SAMPLES = struct.Struct("<II")
"""FFmpeg's AV_PKT_DATA_SKIP_SAMPLES: samples to drop at the start, then at the end."""


class Decoded(NamedTuple):
    """One packet's samples, [C, n] in the decoder's type, and what to drop of them.

    skip: samples to drop from the start of these; it may reach into the packets after. pad: from
    the end. Integers are at the full scale of their type; uint8 is centred at 128.
    """

    samples: NDArray[Any]
    rate: int
    skip: int
    pad: int


class AudioCodec:
    """A decoder of one audio track. One thread at a time.

    spec: with the context of an open container, or a codec's name and headers without. Packets are
    `av.Packet`, or their bytes.
    """

    def __init__(self, spec: CodecSpec) -> None:
        self.name = spec.codec
        self._is_mpeg = MPEG_AUDIO.fullmatch(self.name) is not None
        self._extradata = spec.extradata
        self._given: AudioCodecContext | None = spec.context
        self._context: AudioCodecContext = self._given or self._made()
        self._prepare()

    def _made(self) -> AudioCodecContext:
        try:
            context = av.CodecContext.create(self.name, "r")
        except (av.error.FFmpegError, ValueError) as error:
            raise DecodeError(f"this FFmpeg has no decoder for {self.name!r}") from error
        if not isinstance(context, AudioCodecContext):
            raise DecodeError(f"{self.name!r} is not an audio codec")
        if self._extradata:
            context.extradata = self._extradata
        if self._given is not None and self._given.sample_rate:
            context.sample_rate, context.layout = self._given.sample_rate, self._given.layout
        return context

    def _prepare(self) -> None:
        # without it FFmpeg trims by what it saw before, so samples would depend on the path there
        self._context.flags2 |= Flags2.skip_manual
        self._context.thread_count = 1

    def restart(self) -> None:
        """Forget all packets: the next one is decoded as the first."""
        if self.name in KEEPS_HISTORY:
            self._context = self._made()
            self._prepare()
        else:
            self._context.flush_buffers()

    def decode(self, packet: Packet[Any] | bytes) -> Decoded | None:
        """All samples of the next packet, in decode order; None if it is damaged.

        Some decoders give a packet's samples with a later one: then there are none here.
        """
        try:
            frames = self._frames(packet)
            if frames is None:
                return None
            samples = [_planar(frame) for frame in frames]
        except (av.error.FFmpegError, ValueError):  # ValueError: a type that NumPy does not have
            return None
        if not frames:
            nothing = np.zeros((self._context.layout.nb_channels, 0), np.float32)
            return Decoded(nothing, self._context.sample_rate, 0, 0)
        shapes = {(frame.sample_rate, frame.layout.nb_channels) for frame in frames}
        if len(shapes) > 1 or any(frame.is_corrupt for frame in frames):
            return None
        skip, pad = _frame_skip(frames[0])[0], _frame_skip(frames[-1])[1]
        whole = samples[0] if len(samples) == 1 else np.concatenate(samples, 1)
        return Decoded(whole, frames[0].sample_rate, skip, pad)

    def settle(self, packet: Packet[Any] | bytes) -> None:
        """Decode the next packet for the sake of those after it."""
        with suppress(av.error.FFmpegError, ValueError):
            self._frames(packet)

    def _frames(self, packet: Packet[Any] | bytes) -> list[AudioFrame] | None:
        """What FFmpeg makes of a packet; None if it is not to be shown it."""
        unit = Packet(packet) if isinstance(packet, bytes) else packet
        if not unit.size or not self._starts_well(unit):
            return None
        return self._context.decode(unit)

    def _starts_well(self, packet: Packet[Any]) -> bool:
        # FFmpeg's parser puts what it cannot read before the next frame, in one packet with it,
        # and the decoder skips it: that frame would come out at the time of what is lost
        head = memoryview(packet)[:2]
        return not self._is_mpeg or int.from_bytes(head) & MPEG_SYNC == MPEG_SYNC

    def settling_packets(self, packet_samples: int, rate: int) -> int:
        """How many packets before a wanted one must be decoded, and their samples dropped."""
        family = self.name.removesuffix("float").removeprefix("lib")
        seconds = SETTLING.get(family, Fraction(0))
        if self.name in KEEPS_HISTORY and packet_samples > AAC_FRAME:
            seconds = SETTLING_SBR
        return max(SETTLING_PACKETS, ceil(seconds * rate / max(packet_samples, 1)))


def packet_skip(packet: Packet[Any]) -> tuple[int, int]:
    """Samples to drop at the start of a packet (or more, after it) and at its end, undecoded."""
    if not packet.has_sidedata("skip_samples"):
        return 0, 0
    return _skip(packet.get_sidedata("skip_samples"))


def _frame_skip(frame: AudioFrame) -> tuple[int, int]:
    entry = frame.side_data.get("SKIP_SAMPLES") if len(frame.side_data) else None
    return (0, 0) if entry is None else _skip(entry)


def _skip(data: Any) -> tuple[int, int]:
    start, end = SKIP_SAMPLES.unpack_from(bytes(data))
    return start, end


def _planar(frame: AudioFrame) -> NDArray[Any]:
    channels = frame.layout.nb_channels
    if frame.format.is_planar and channels >= PLANES:
        frame = _packed(frame)
    samples: NDArray[Any] = frame.to_ndarray()
    return samples if frame.format.is_planar else samples.reshape(-1, channels).T


def _packed(frame: AudioFrame) -> AudioFrame:
    frame.pts = None  # else the resampler checks it against the frames before
    resampler = av.AudioResampler(format=frame.format.packed, layout=frame.layout)
    return resampler.resample(frame)[0]
