"""A container's audio track before it is decoded: its timeline, unit table and description."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from av.audio.stream import AudioStream
from av.packet import Packet

from genlock._audio_codec import AudioCodec, Decoded, packet_skip
from genlock._ffmpeg import Media
from genlock.errors import DecodeError
from genlock.interfaces import CodecSpec, OpenOptions, UnitTable
from genlock.sources._packet_log import Columns, PacketLog
from genlock.sources._placement import Placement, RawSamples, place
from genlock.stream import Stream, StreamInfo
from genlock.timeline import SampledTimeline

EQUAL_PACKETS = re.compile(r"aac(_latm)?|ac3|mp[123](float)?")
"""Codecs whose packets all hold as many samples as the first."""
WRONG_DURATIONS = re.compile(r"vorbis|wavpack")
"""Codecs whose packets' durations are not what they decode to: FFmpeg gets Vorbis wrong where
the block size changes, and does not know WavPack's."""
MOST_SAMPLES = 2**20
"""A packet that claims to be longer lies: the longest known, of TTA, have a second."""
UNKNOWN = -1


class AudioPackets:
    """Collects one audio track's packets during the scan and makes a stream of them.

    How many samples a packet holds is known without decoding it where all packets are equal, where
    the packet says so (Opus), or where its duration is stated to the sample; else it is decoded.
    Priming and padding are what edit lists, codec headers and containers say, nothing is guessed.
    The first sound packet's rate and channels are the stream's; others that differ are invalid.
    """

    def __init__(self, track: AudioStream, options: OpenOptions) -> None:
        context = track.codec_context
        self._track = track
        self.log = PacketLog(track)
        self._codec = AudioCodec(
            CodecSpec("samples", context.name, context=context, extradata=context.extradata)
        )
        self._raw = array("q")
        self._first: Decoded | None = None
        coarse = not track.time_base or track.time_base * (context.sample_rate or 0) > 1
        self._decodes_all = not EQUAL_PACKETS.fullmatch(context.name) and (
            coarse or WRONG_DURATIONS.match(context.name) is not None
        )

    def add(self, packet: Packet[Any]) -> None:
        self.log.add(packet)
        count, (skip, pad) = UNKNOWN, packet_skip(packet)
        if self._codec.name == "opus":
            count = opus_samples(memoryview(packet)[:2])
        if self._first is None or (self._decodes_all and count == UNKNOWN):
            decoded = self._codec.decode(packet)
            if decoded is not None:
                count, skip, pad = decoded.samples.shape[1], decoded.skip, decoded.pad
                self._first = self._first or (decoded if count else None)
        self._raw.extend((count, skip, pad))

    def lay(self, seconds: Fraction) -> None:
        """Place the last file; it goes on where the sound of the one before ended, if that is no
        more than a packet away: packets are not as long as pictures.
        """
        packet = self._raw[3 * self.log.joints[-1].unit :][:3] or (0, 0, 0)
        rate = self._first.rate if self._first else 1
        typical = self._first.samples.shape[1] if self._first else 0
        lead, slack = (round(n / (self.log.time_base * rate)) for n in (packet[1], typical))
        self.log.lay(seconds, lead, slack)

    def finish(self, name: str, reopen: Callable[[], Media]) -> tuple[Stream, UnitTable]:
        """Describe the track; it is never read again, so reopen is not called."""
        columns = self.log.columns()
        first = self._first
        rate = first.rate if first else self._track.codec_context.sample_rate or 1
        placement = place(columns, rate, self._raw_samples(columns, rate))
        info, timeline = self._info(rate, placement), self._timeline(rate, placement)
        problem = None
        if first is None and len(columns):
            why = f"no packet of {name!r} can be decoded as {self._codec.name}: it is damaged"
            problem = DecodeError(why, stream=name)
        return Stream(name, info, timeline, problem=problem), _table(columns, placement)

    def _raw_samples(self, columns: Columns, rate: int) -> RawSamples:
        raw = np.array(self._raw, np.int64).reshape(-1, 3)
        count, skip, pad = (np.ascontiguousarray(column) for column in raw.T)
        typical = self._first.samples.shape[1] if self._first else 0
        samples_per_tick = columns.time_base * rate
        stated = np.rint(columns.duration * float(samples_per_tick)).astype(np.int64)
        stated[stated > MOST_SAMPLES] = 0
        unknown = count == UNKNOWN
        if EQUAL_PACKETS.fullmatch(self._codec.name):
            count[unknown] = typical
        else:
            count[unknown] = np.where(stated > 0, stated, typical)[unknown]
        if samples_per_tick <= 1:
            # the end of an MP4 track: the last packet is as long as its duration, not its frame
            ends = self.log.ends()
            ends = ends[stated[ends] > 0]
            pad[ends] = np.maximum(pad[ends], count[ends] - stated[ends])
        return RawSamples(count, skip, pad)

    def _timeline(self, rate: int, placement: Placement) -> SampledTimeline:
        # FFmpeg counts the time of an MP3 file from its first packet, priming included
        first_ns = 0 if self._track.container.format.name == "mp3" else placement.first_ns
        count = placement.segments[-1][1] if placement.segments else 0
        return SampledTimeline(first_ns, rate, count, placement.segments)

    def _info(self, rate: int, placement: Placement) -> StreamInfo:
        context = self._track.codec_context
        channels, dtype = context.layout.nb_channels, np.dtype(np.float32)
        if self._first is not None:
            channels, dtype = self._first.samples.shape[0], self._first.samples.dtype
        return StreamInfo(
            "audio",
            encoding="samples",
            codec=context.codec.canonical_name,
            shape=(channels,),
            dtype=dtype.name,
            rate=float(rate),
            clock="media",
            bits=8 * dtype.itemsize,
            report=placement.report,
        )


def _table(columns: Columns, placement: Placement) -> UnitTable:
    always = np.ones(len(columns), np.bool_)
    no_rows = np.zeros(0, np.int64)
    return UnitTable(
        columns.pts,
        columns.dts,
        always,
        ~always,
        no_rows,
        columns.time_base,
        samples=placement.samples,
        position=columns.position,
    )


def opus_samples(head: memoryview) -> int:
    """Samples at 48 kHz that an Opus packet holds, by its first two bytes (RFC 6716, 3.1, 3.2)."""
    if not len(head):
        return UNKNOWN
    config, code = head[0] >> 3, head[0] & 3
    if config < 12:
        frame = (480, 960, 1920, 2880)[config % 4]
    elif config < 16:
        frame = (480, 960)[config % 2]
    else:
        frame = (120, 240, 480, 960)[config % 4]
    if code == 3 and len(head) < 2:
        return UNKNOWN
    return frame * (1, 2, 2, head[1] & 63 if code == 3 else 0)[code]
