"""The header of a WAV file, as far as it says where which samples are.

RIFF and WAVE: Multimedia Programming Interface 1.0 (IBM, Microsoft 1991), WAVE_FORMAT_EXTENSIBLE:
Microsoft's "Multiple Channel Audio Data and WAVE Files", 64-bit sizes: EBU Tech 3306 (RF64, BW64).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
SIZE_ELSEWHERE = 0xFFFFFFFF
MOST_CHUNKS = 4096
FORMAT = struct.Struct("<HHIIHH")
LAYOUTS: dict[tuple[int, float], str] = {
    (PCM, 1): "pcm_u8",
    (PCM, 2): "pcm_s16le",
    (PCM, 3): "pcm_s24le",
    (PCM, 4): "pcm_s32le",
    (FLOAT, 4): "pcm_f32le",
    (FLOAT, 8): "pcm_f64le",
}
"""FFmpeg's names of the linear layouts, by format tag and bytes per sample."""


@dataclass(frozen=True)
class WavHeader:
    """tag: format tag (PCM = 1, …). frame_bytes: of one sample of all channels. offset, size: bytes
    of the samples that are really in the file, whatever its header claims."""

    tag: int
    channels: int
    rate: int
    frame_bytes: int
    offset: int
    size: int

    @property
    def layout(self) -> str | None:
        """FFmpeg's name of the codec if samples are stored as plain numbers, else None."""
        return LAYOUTS.get((self.tag, self.frame_bytes / self.channels))

    @property
    def frames(self) -> int:
        return self.size // self.frame_bytes


def is_wav(head: bytes) -> bool:
    """Whether a file starts as a little-endian WAV file does."""
    return head[:4] in (b"RIFF", b"RF64", b"BW64") and head[8:12] == b"WAVE"


def read_header(file: BinaryIO) -> WavHeader:
    """Read a file's chunks up to its samples. Raises ValueError saying what is wrong.

    Sizes that a recorder left open (0xFFFFFFFF in a pipe, 0 in the whole file's header too after
    a crash) mean the rest of the file.
    """
    end = file.seek(0, 2)
    file.seek(0)
    unfinished = file.read(12)[4:8] == bytes(4)
    long_size = format = None
    for name, offset, size in _chunks(file, end):
        if name == b"ds64":
            long_size = int.from_bytes(file.read(16)[8:], "little")
        elif name == b"fmt ":
            format = file.read(min(size, 40))
        elif name == b"data":
            if format is None:
                break
            if size == SIZE_ELSEWHERE and long_size:
                size = long_size
            rest = end - offset
            return _header(format, offset, rest if unfinished and not size else min(size, rest))
    raise ValueError("it has no format and data chunks")


def _chunks(file: BinaryIO, end: int) -> Iterator[tuple[bytes, int, int]]:
    """(name, offset, size) of each chunk, with the file at its offset."""
    offset = 12
    for _ in range(MOST_CHUNKS):
        file.seek(offset)
        header = file.read(8)
        if len(header) < 8:
            return
        size = int.from_bytes(header[4:], "little")
        yield header[:4], offset + 8, size
        offset += 8 + size + size % 2
        if offset >= end:
            return


def _header(format: bytes, offset: int, size: int) -> WavHeader:
    if len(format) < FORMAT.size:
        raise ValueError("its format chunk is cut off")
    tag, channels, rate, _, frame_bytes, _ = FORMAT.unpack_from(format)
    if tag == EXTENSIBLE and len(format) >= 26:
        tag = int.from_bytes(format[24:26], "little")
    if not channels or not rate or frame_bytes < 1:
        raise ValueError(f"it claims {channels} channels at {rate} Hz in {frame_bytes} bytes")
    return WavHeader(tag, channels, rate, frame_bytes, offset, size)
