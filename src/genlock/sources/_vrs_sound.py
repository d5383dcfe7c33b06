"""Sound streams of VRS files: blocks of PCM or Opus, each sample stamped where the device does."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS, ticks_to_ns
from genlock._vrs.chunks import Chunks
from genlock._vrs.content import AudioSpec
from genlock._vrs.file import Records
from genlock._vrs.stream import NO_TIME_NS, VrsStream
from genlock.clock import ClockMap
from genlock.errors import DecodeError, GenlockError
from genlock.interfaces import CodecSpec, UnitSamples, UnitTable
from genlock.sources._vrs_profile import Profile
from genlock.sources._vrs_track import RecordUnits, Track, described
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Report, SampledTimeline, settle

STAMPS = "capture_timestamps_ns"
OPUS_RATE = 48_000
"""Opus is decoded at 48 kHz, whatever it was recorded at (RFC 7845, 5.1)."""
JITTER_NS = 2_000_000
"""A block that starts this near to where the one before it ends follows it without a hole."""
PCM = {
    "int8": "i1", "uint8": "u1", "int16le": "<i2", "uint16le": "<u2", "int16be": ">i2",
    "uint16be": ">u2", "int24le": "<i3", "int24be": ">i3", "int32le": "<i4", "uint32le": "<u4",
    "int32be": ">i4", "uint32be": ">u4", "float32le": "<f4", "float32be": ">f4",
    "float64le": "<f8", "float64be": ">f8",
}  # fmt: skip


@dataclass(frozen=True)
class Blocks:
    """A stream's blocks, in order of time.

    rows: which records. count: int64 [U], samples. start, stop: int64 [U] ns, when the first
    sample begins and the last ends. jitter: ns that a block may be off. report: of their stamps.
    """

    rows: NDArray[np.intp]
    count: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    jitter: int
    report: Report


NOTHING = np.zeros(0, np.int64)
NO_BLOCKS = Blocks(np.zeros(0, np.intp), NOTHING, NOTHING, NOTHING, 0, Report())


def sound_track(stream: VrsStream, chunks: Chunks, name: str, profile: Profile) -> Track:
    """Describe a stream of sound."""
    assert stream.content.audio is not None
    spec = stream.content.audio.completed(stream.configuration)
    problem = _problem(spec, name, stream)
    blocks = NO_BLOCKS if problem else _blocks(stream, chunks, spec)
    samples, timeline, report = _placed(blocks, spec)
    intrinsics, extrinsics = profile.calibration(name, ())
    info = StreamInfo(
        "audio",
        encoding="samples",
        codec=_codec(spec),
        shape=(spec.channels,),
        dtype=_dtype(spec),
        rate=float(timeline.rate),
        clock=profile.clock,
        report=report.noting(described(stream), *stream.notes),
    )
    records = stream.records.take(blocks.rows)
    table = UnitTable(
        blocks.start,
        blocks.start,
        np.ones(len(records), np.bool_),
        np.zeros(len(records), np.bool_),
        np.zeros(0, np.int64),
        Fraction(1, SECOND_NS),
        samples=samples,
    )
    result = Stream(name, info, timeline, intrinsics, extrinsics, problem)
    return Track(result, partial(SoundUnits, stream, records, spec, table))


def _problem(spec: AudioSpec, name: str, stream: VrsStream) -> GenlockError | None:
    what = ""
    if spec.channels < 1 or spec.rate < 1:
        what = f"it has {spec.channels} channels at {spec.rate} Hz"
    elif spec.format == "opus" and OPUS_RATE % spec.rate:
        what = f"Opus was recorded at {spec.rate} Hz, which it does not know"
    elif spec.format not in ("pcm", "opus") or (spec.format == "pcm" and spec.samples not in PCM):
        what = f"its samples are {spec.format} {spec.samples}"
    if not what:
        return None
    uri = stream.file.location.uri
    message = f"stream {name!r} of {uri} cannot be decoded: {what}"
    return DecodeError(message, recording=uri, stream=name)


def _codec(spec: AudioSpec) -> str:
    return "opus" if spec.format == "opus" else ""


def _dtype(spec: AudioSpec) -> str:
    if spec.format == "opus":
        return "float32"
    return {"<i3": "int32", ">i3": "int32"}.get(
        PCM.get(spec.samples, ""), spec.samples.removesuffix("le").removesuffix("be")
    )


def _frame(spec: AudioSpec) -> int:
    """Bytes from one sample of all channels to the next."""
    return spec.frame or int(PCM[spec.samples][-1]) * spec.channels


def _blocks(stream: VrsStream, chunks: Chunks, spec: AudioSpec) -> Blocks:
    """Find each block's samples and their first and last stamps, in order of time."""
    count = _counts(stream, chunks, spec)
    period = SECOND_NS / spec.rate
    jitter, notes = JITTER_NS, []
    if STAMPS in stream.layout.variable:
        start, stop, uneven = _stamps(stream, chunks, period)
        if uneven:
            notes.append(f"{uneven} blocks have uneven stamps inside: their first and last count")
    else:
        start = stream.record_times_ns
        stop = start + np.rint(count * period).astype(np.int64)
        jitter = max(jitter, int(np.median(count) * period / 2) if len(count) else 0)
        notes.append("blocks are stamped once, by the VRS record: half a block off is no hole")
    kept, report = settle(np.where(count > 0, start, NO_TIME_NS))
    return Blocks(kept, count[kept], start[kept], stop[kept], jitter, report.noting(*notes))


def _counts(stream: VrsStream, chunks: Chunks, spec: AudioSpec) -> NDArray[np.int64]:
    """Samples of each block at the recorded rate."""
    heads = stream.heads(chunks)
    sizes = stream.layout.sizes(heads) if len(heads) else np.zeros(0, np.int64)
    if spec.format == "pcm":
        counts: NDArray[np.int64] = np.maximum(stream.payload_sizes - sizes, 0) // _frame(spec)
        return counts
    if "audio_sample_count" in (stream.layout.fixed.names or ()):
        return stream.layout.rows(heads)["audio_sample_count"].astype(np.int64)
    return (sizes - stream.layout.head_size) // 8  # as many as there are stamps


def _stamps(
    stream: VrsStream, chunks: Chunks, period: float
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Start of the first and end of the last sample of each block; how many are uneven inside."""
    records, layout = stream.records, stream.layout
    bounds = np.full((len(records), 2), NO_TIME_NS, np.int64)
    uneven = 0
    heads = stream.heads(chunks)
    for row, size in enumerate(layout.sizes(heads).tolist() if len(heads) else ()):
        head = stream.file.head(chunks, records, row, size)
        stamps = layout.value(head, STAMPS) if len(head) == size else NOTHING
        if len(stamps) and stamps.min() >= 0:
            bounds[row] = stamps[0], stamps[-1] + round(period)
            steps = np.diff(stamps)
            uneven += bool(len(steps) and np.abs(steps - steps.mean()).max() > period / 2)
    return bounds[:, 0], bounds[:, 1], uneven


def _placed(blocks: Blocks, spec: AudioSpec) -> tuple[UnitSamples, SampledTimeline, Report]:
    """Lay the blocks end to end, with a hole where a stamp says that time passed without sound.

    The device's clock and the microphone's are not the same: the timeline's clock goes through the
    stamps at the ends of each run without a hole, so that no drift turns into holes.
    """
    rate = OPUS_RATE if spec.format == "opus" else max(spec.rate, 1)
    count = blocks.count * (rate // max(spec.rate, 1))
    late = blocks.start[1:] - blocks.stop[:-1]
    holes = np.where(late > blocks.jitter, np.rint(late * (rate / SECOND_NS)), 0).astype(np.int64)
    first = np.cumsum(count) - count
    first[1:] += np.cumsum(holes)
    breaks = np.flatnonzero(holes)
    runs = np.stack([np.append(0, breaks + 1), np.append(breaks, len(count) - 1)], axis=1)
    samples = UnitSamples(first, count, np.zeros_like(count))
    if not len(count):
        return samples, SampledTimeline(0, rate, 0), blocks.report
    segments = [(int(first[a]), int(first[b] + count[b])) for a, b in runs]
    start_ns = int(blocks.start[0])
    clock = _clock(start_ns, rate, segments, [(blocks.start[a], blocks.stop[b]) for a, b in runs])
    timeline = SampledTimeline(start_ns, rate, segments[-1][1], segments, clock)
    return samples, timeline, _report(blocks, spec, rate, holes)


def _clock(
    start_ns: int, rate: int, segments: list[tuple[int, int]], stamps: list[tuple[int, int]]
) -> ClockMap:
    """From the time that counting samples gives to the stamps; identity within a sample."""
    counted = start_ns + ticks_to_ns(np.array(segments).ravel(), Fraction(SECOND_NS, rate))
    stated = np.array(stamps, np.int64).ravel()
    if np.abs(stated - counted).max() < SECOND_NS / rate:
        return ClockMap()
    later = np.append(True, (np.diff(counted) > 0) & (np.diff(stated) > 0))
    return ClockMap(knots=tuple(zip(counted[later].tolist(), stated[later].tolist(), strict=True)))


def _report(blocks: Blocks, spec: AudioSpec, rate: int, holes: NDArray[np.int64]) -> Report:
    notes = []
    if holes.any():
        notes.append(f"{holes.sum()} samples are missing in {np.count_nonzero(holes)} holes")
    early = int((blocks.stop[:-1] - blocks.start[1:] > blocks.jitter).sum())
    if early:
        notes.append(f"{early} blocks start before the one before them ends")
    if rate != spec.rate:
        notes.append(f"recorded at {spec.rate} Hz; Opus is decoded at {rate} Hz")
    report = blocks.report.noting(*notes)
    return Report(report.dropped, report.reordered, report.ties, int(holes.sum()), report.notes)


class SoundUnits(RecordUnits):
    """Blocks of sound: arrays [C, n] of PCM, or the bytes of an Opus packet."""

    def __init__(
        self, stream: VrsStream, records: Records, spec: AudioSpec, table: UnitTable
    ) -> None:
        super().__init__(stream)
        self._records = records
        self._sound = spec
        opus = spec.format == "opus"
        self.spec = CodecSpec(
            "samples",
            _codec(spec),
            extradata=opus_head(spec) if opus else None,
            table=table,
            options={"uri": stream.file.location.uri},
        )

    def unit(self, index: int) -> bytes | NDArray[Any]:
        data = self._stream.block(self._chunks, self._records, index)
        return data if self._sound.format == "opus" else pcm(data, self._sound)

    def units(self, first: int) -> Iterator[tuple[int, bytes | NDArray[Any]]]:
        for index in range(first, len(self._records)):
            yield index, self.unit(index)


def pcm(data: bytes, spec: AudioSpec) -> NDArray[Any]:
    """One block as an array [C, n]: integers at the full scale of their type, 24 bits in int32."""
    code, frame = PCM[spec.samples], _frame(spec)
    size = int(code[-1]) * spec.channels
    raw = np.frombuffer(data, np.uint8, len(data) // frame * frame).reshape(-1, frame)[:, :size]
    if code[1:] == "i3":
        wide = np.zeros((*raw.shape[:1], spec.channels, 4), np.uint8)
        place = slice(1, 4) if code[0] == "<" else slice(0, 3)
        wide[..., place] = raw.reshape(-1, spec.channels, 3)
        samples = wide.view(f"{code[0]}i4")[..., 0]
    else:
        samples = np.ascontiguousarray(raw).view(code)
    native = samples.astype(samples.dtype.newbyteorder("="), copy=False)
    return np.ascontiguousarray(native.T)


def opus_head(spec: AudioSpec) -> bytes:
    """The header that an Ogg file would have (RFC 7845, 5.1), which VRS leaves out.

    Channels are not a surround layout but microphones, so the mapping family is 255: one stream
    for each pair and for each channel that is left. No priming is stated, so none is dropped.
    """
    streams = spec.channels - spec.pairs
    head = struct.pack("<8sBBHIhB", b"OpusHead", 1, spec.channels, 0, spec.rate, 0, 255)
    return head + bytes([streams, spec.pairs, *range(spec.channels)])
