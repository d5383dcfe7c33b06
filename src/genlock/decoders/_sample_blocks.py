"""Decoded audio at a stream's own rate, in blocks that always start at the same packets.

After a seek, some decoders never again give what they gave before: those of AAC and AC-3 make up
noise, and predictors of ADPCM carry rounding on. So every block of about a second is decoded from
a decoder's first state, after as many packets as it needs to settle, and a sample is a function of
the file and its position alone. For AAC without noise substitution, MP3, Vorbis and lossless
codecs this equals the whole file decoded at once, bit for bit; for Opus within 1e-6.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._audio_codec import AudioCodec
from genlock._recent import Budget, Recent
from genlock.errors import DecodeError
from genlock.interfaces import Units, UnitSamples

BLOCK_S = 1
"""About how many seconds of packets a block holds: less means more settling, more means more that
a short window does not want."""


class Piece(NamedTuple):
    """Samples [C, n] in the type they are stored in, from a position in the stream on."""

    first: int
    samples: NDArray[Any]


class SampleBlocks:
    """Gives a stream's sound samples, a block at a time. One thread at a time.

    Units without a codec are arrays, and each is a block; packets are decoded. Damaged packets, and
    packets of another rate or channel count than the stream's, give no piece.
    """

    def __init__(
        self,
        units: Units,
        samples: UnitSamples,
        rate: int,
        channels: int,
        budget: Budget,
        scope: Hashable,
    ) -> None:
        self._units = units
        self._samples = samples
        self._ends = samples.first + samples.count
        self._rate = rate
        self._channels = channels
        self._codec = AudioCodec(units.spec) if units.spec.codec else None
        typical = int(np.median(samples.count)) if len(samples.count) else 0
        self._per_block = max(1, BLOCK_S * rate // max(typical, 1)) if self._codec else 1
        self._settling = self._codec.settling_packets(typical, rate) if self._codec else 0
        self._blocks = Recent[list[Piece]](budget, (scope, "stored"), _bytes)

    def pieces(self, first: int, stop: int) -> list[Piece]:
        """All pieces that hold some of the samples first … stop, in order, and maybe others."""
        low = int(self._ends.searchsorted(first, "right"))
        high = int(self._samples.first.searchsorted(stop, "left"))
        if low >= high:
            return []
        blocks = range(low // self._per_block, (high - 1) // self._per_block + 1)
        return [piece for block in blocks for piece in self._block(block)]

    def _block(self, block: int) -> list[Piece]:
        pieces = self._blocks.get(block)
        if pieces is None:
            codec = self._codec
            pieces = self._array(block) if codec is None else self._packets(codec, block)
            self._blocks.put(block, pieces)
        return pieces

    def _array(self, unit: int) -> list[Piece]:
        try:
            return list(self._kept(unit, self._units.unit(unit)))
        except DecodeError:
            return []

    def _packets(self, codec: AudioCodec, block: int) -> list[Piece]:
        start = block * self._per_block
        stop = min(start + self._per_block, len(self._ends))
        return _joined(self._decoded(codec, start, stop))

    def _decoded(self, codec: AudioCodec, start: int, stop: int) -> Iterator[Piece]:
        """Sound samples of the packets start … stop."""
        codec.restart()
        for index, unit in self._units.units(max(0, start - self._settling)):
            if index < start:
                codec.settle(unit)
                continue
            decoded = codec.decode(unit)
            if decoded is not None and decoded.rate == self._rate:
                yield from self._kept(index, decoded.samples)
            if index + 1 >= stop:
                return

    def _kept(self, unit: int, raw: NDArray[Any]) -> Iterator[Piece]:
        """The part of a unit's samples that belongs to the stream, if there is one."""
        table = self._samples
        samples = raw[:, table.skip[unit] : table.skip[unit] + table.count[unit]]
        if samples.size and len(samples) == self._channels:
            yield Piece(int(table.first[unit]), samples)


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """The same samples in as few pieces as there are holes."""
    runs: list[list[Piece]] = []
    stop = None
    for piece in pieces:
        if piece.first != stop or piece.samples.dtype != runs[-1][-1].samples.dtype:
            runs.append([])
        runs[-1].append(piece)
        stop = piece.first + piece.samples.shape[1]
    return [Piece(run[0].first, np.concatenate([p.samples for p in run], 1)) for run in runs]


def _bytes(pieces: list[Piece]) -> int:
    return sum(piece.samples.nbytes for piece in pieces)
