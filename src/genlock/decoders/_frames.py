"""Pictures of wanted units, such that every order of reading gives what decoding all would give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS
from genlock.decoders._decoding import MAX_DELAY, SEEK_COST, Decoding, UnitOrder
from genlock.interfaces import Units, UnitTable

SKIPPABLE = frozenset({"h264", "hevc"})
"""Codecs for which leaving out pictures that none refers to is exact for all others."""

TRIED_KEYS = 16
"""Key pictures, spread over the stream, of which one must decode for the stream to be sound."""


class FrameReader:
    """Decodes the pictures of wanted units. One thread at a time.

    leaps: whether the next read is taken to seek, so that nothing is decoded beyond what is wanted.
    produced: whether any picture has ever come out of the decoder. decoded: how many units went
    into it to be decoded.
    """

    def __init__(self, units: Units, table: UnitTable, context: VideoCodecContext) -> None:
        self._units = units
        self._table = table
        self._context = context
        self._key = table.key.copy()
        self._order = UnitOrder(table, self._key)
        self._skips = context.codec.canonical_name in SKIPPABLE and NO_TICKS not in table.pts
        known = () if table.damaged is None else np.flatnonzero(table.damaged).tolist()
        self._damaged: set[int] = set(known)
        self._absent: set[int] = set()
        self._decoding: Decoding | None = None
        self.leaps = False
        self.produced = False
        self.decoded = 0

    def distance(self, unit: int) -> int | None:
        """How many units lie before one on the way from here; None if it has to seek."""
        if self._decoding is None or not self._decoding.reaches({unit}):
            return None
        return max(0, unit - self._decoding.position)

    def read(self, wanted: NDArray[np.int64]) -> Iterator[tuple[int, VideoFrame]]:
        """(unit, frame) of each wanted unit that holds a sound picture, in some order.

        wanted: int64, units that have a row. Left out are damaged pictures, those decoded from
        damaged ones, and those that decoding never gives.
        """
        units = np.unique(wanted)
        apart = self._order.start[units[1:]] > units[:-1] + SEEK_COST
        for run in np.split(units, np.flatnonzero(apart) + 1):
            pending = {unit for unit in run.tolist() if unit not in self._absent}
            for decoding in self._attempts(pending):
                for unit, frame in self._collect(decoding, pending):
                    pending.discard(unit)
                    if not self._spoiled(unit):
                        yield unit, frame
                pending -= {unit for unit in pending if self._spoiled(unit)}
                self._learn(decoding)
            self._absent |= pending

    def decodes(self) -> bool:
        """Whether any picture of the stream does, whatever was read before: the keys are tried."""
        keys = self._order.keys[self._order.shown[self._order.keys]]
        tried = np.unique(np.linspace(0, len(keys) - 1, TRIED_KEYS).astype(np.int64))
        for unit in keys[tried] if len(keys) else ():
            if self.produced or any(True for _ in self.read(np.array([unit]))):
                return True
        return self.produced

    def _attempts(self, pending: set[int]) -> Iterator[Decoding]:
        """Decoders to ask for what is pending: the current one if it can go on, else one started
        at the right key unit, then at the one before, at last at the start of the stream.
        """
        if pending and self._decoding is not None and self._decoding.reaches(pending):
            self._decoding.ends = False
            yield self._decoding
        if pending and self.leaps:
            yield self._begin(self._order.start_of(pending), ends=True)
        began = -1
        for step_back in range(3):
            if not pending:
                return
            start = self._order.start_of(pending)
            start = (start, self._order.key_before(start), 0)[step_back]
            if start != began:
                yield (decoding := self._begin(start))
                if step_back and decoding.trusted:
                    return  # what does not come from two key pictures never comes
            began = start

    def _begin(self, start: int, ends: bool = False) -> Decoding:
        self._decoding = Decoding(
            _packets(self._units, self._table, start),
            self._context,
            self._order,
            start,
            self._damaged,
            self._skips,
            ends,
        )
        return self._decoding

    def _collect(self, decoding: Decoding, pending: set[int]) -> Iterator[tuple[int, VideoFrame]]:
        """Take pending pictures out of a decoder, each when damage to those that it was decoded
        from is known: FFmpeg tells only when these come out, which may be later.
        """
        waiting = decoding.aim(pending)
        missing = pending - waiting.keys()
        last = max(missing, default=0)
        while True:
            if waiting:
                settled = decoding.settled()
                for unit in sorted(unit for unit in waiting if unit <= settled):
                    yield unit, waiting.pop(unit)
            lost = not missing or decoding.position > last + MAX_DELAY
            out = None if lost and not waiting else decoding.step()
            if out is None:
                break
            came = {unit: frame for unit, frame in out if unit in missing}
            if came:
                waiting |= came
                missing -= came.keys()
                last = max(missing, default=0)
        yield from waiting.items()

    def _spoiled(self, unit: int) -> bool:
        """Whether a unit is damaged or decoded from a damaged one: one that lies on its way from
        where decoding starts for it, is referred to, and does not belong to the pictures before.
        """
        start, disposable = self._order.start, self._order.disposable
        return unit in self._damaged or any(
            start[unit] <= bad < unit and start[bad] >= start[unit] and not disposable[bad]
            for bad in self._damaged
        )

    def _learn(self, decoding: Decoding) -> None:
        self.produced |= decoding.produced
        self.decoded += decoding.take_decoded()
        if decoding.false_key:
            self._key[decoding.began] = False
            self._order = UnitOrder(self._table, self._key)

    def close(self) -> None:
        """Let go of the decoder and of the pictures that it gave ahead."""
        self._decoding = None


def _packets(units: Units, table: UnitTable, start: int) -> Iterator[tuple[int, Packet[Any]]]:
    """Units as packets; those of containers that FFmpeg does not read are encoded bytes."""
    for unit, packet in units.units(start):
        if not isinstance(packet, Packet):
            packet = Packet(packet)
            packet.pts, packet.dts = int(table.pts[unit]), int(table.dts[unit])
        yield unit, packet
