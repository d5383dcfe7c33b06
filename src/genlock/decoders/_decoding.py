"""One run of a decoder from a key unit on: what was sent, what came out, what is still inside.

Pictures come out later than their units went in, and in another order. Each is told apart by the
unit number that it carries, never by counting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from av.error import FFmpegError
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS, number, unit_of
from genlock.interfaces import UnitTable

MAX_DELAY = 40
"""Units after which a picture that has not come out never will; codecs reorder over at most 16."""
SEEK_COST = 4
"""Units that may as well be decoded as sought past."""


class UnitOrder:
    """What a unit table says of the order of decoding and of showing. Immutable.

    shown: bool [U], whether a unit holds a row. rank: int64 [U], grows in the order of showing.
    keys: int64 [K], units to start at; the first unit is one. start: int64 [U], where to start for
    each unit: at the last key unit up to it, but one earlier for a picture that follows the key
    unit and is shown before it, since it may refer to pictures before the key unit (open GOP).
    orphan: bool [U], those that follow the first key unit, but refer to what is not there.
    """

    def __init__(self, table: UnitTable, key: NDArray[np.bool_]) -> None:
        units = np.arange(len(table.pts))
        self.disposable = table.disposable
        self.shown = np.zeros(len(units), np.bool_)
        self.shown[table.row_unit] = True
        self.rank = table.pts
        if (table.pts == NO_TICKS).any():
            self.rank = np.full(len(units), -1, np.int64)
            self.rank[table.row_unit] = np.arange(len(table.row_unit))
        self.keys = np.union1d(np.flatnonzero(key), [0]).astype(np.int64)
        which = np.searchsorted(self.keys, units, "right") - 1
        leading = self.rank < self.rank[self.keys[which]]
        self.start = self.keys[np.maximum(which - leading, 0)]
        self.orphan = leading & (which == 0) & ~self.shown

    def key_before(self, unit: int) -> int:
        """The last key unit before a unit."""
        return int(self.keys[max(int(np.searchsorted(self.keys, unit)) - 1, 0)])


class Decoding:
    """A decoder that was started at a key unit. One thread at a time.

    began: where. position: the next unit that goes in. ahead: pictures that came out from the
    last one that was wanted on, by unit. produced: whether any picture came out. trusted: the
    first was the key picture it began with. false_key: it was not. damaged: a set that collects
    damaged units.
    """

    def __init__(
        self,
        packets: Iterator[tuple[int, Packet[Any]]],
        context: VideoCodecContext,
        order: UnitOrder,
        began: int,
        damaged: set[int],
        skips: bool,
    ) -> None:
        self.began = began
        self.position = began
        self.ahead: dict[int, VideoFrame] = {}
        self.produced = False
        self.false_key = False
        self._packets = packets
        self._context = context
        self._order = order
        self._damaged = damaged
        self._skips = skips
        self._ended = False
        self.trusted = began == 0 or not order.shown[began]
        self._inside: set[int] = set()
        self._decoded = 0
        context.flush_buffers()

    def reaches(self, units: set[int]) -> bool:
        """Whether going on gives these units, and for less than starting anew."""
        missing = units - self.ahead.keys()
        if not missing:
            return True
        if self._ended or any(
            self._order.start[unit] < self.began
            or (unit < self.position and unit not in self._inside)
            for unit in missing
        ):
            return False
        resting = self._order.start[list(missing)].max()
        return min(missing) < self.position or resting <= self.position + SEEK_COST

    def settled(self) -> int:
        """The units before this one are damaged or not, but no longer unknown."""
        recent = self.position - MAX_DELAY
        inside = (u for u in self._inside if u >= recent and not self._order.disposable[u])
        return min(inside, default=self.position)

    def take_ahead(self, units: set[int], first_rank: int) -> dict[int, VideoFrame]:
        """Which of these units came out before; those shown before first_rank are forgotten."""
        rank = self._order.rank
        self.ahead = {unit: f for unit, f in self.ahead.items() if rank[unit] >= first_rank}
        return {unit: f for unit, f in self.ahead.items() if unit in units}

    def take_decoded(self) -> int:
        """How many units were decoded since this was asked last."""
        decoded, self._decoded = self._decoded, 0
        return decoded

    def step(self, wanted: set[int], last_rank: int) -> list[tuple[int, VideoFrame]] | None:
        """Send one more unit; (unit, frame) of the pictures that come out, None after the last.

        wanted: units to decode in any case. last_rank: rank of the last of them to be shown; it and
        pictures beyond are kept in `ahead`, since whoever reads on will want them, and may want the
        last one again where two windows meet.
        """
        if self._ended or self.false_key:
            return None
        following = next(self._packets, None)
        if following is None:
            self._ended = True
            return self._sent(None, None, last_rank)
        unit, packet = following
        self.position = unit + 1
        unneeded = self._order.rank[unit] < last_rank or not self._order.shown[unit]
        skip = self._skips and unneeded and unit not in wanted and self._order.disposable[unit]
        self._context.skip_frame = "NONREF" if skip else "DEFAULT"
        self._decoded += not skip
        if self._order.shown[unit] and not skip:
            self._inside.add(unit)
        number(packet, unit)
        return self._sent(unit, packet, last_rank)

    def _sent(
        self, unit: int | None, packet: Packet[Any] | None, last_rank: int
    ) -> list[tuple[int, VideoFrame]]:
        try:
            frames = self._context.decode(packet)
        except MemoryError:
            raise
        except FFmpegError:
            if unit is not None:
                self._damage(unit)
            return []
        numbered = [(unit_of(frame), frame) for frame in frames]
        for came, frame in numbered:
            self._came_out(came, frame)
            if self._order.rank[came] >= last_rank:
                self.ahead[came] = frame
        return [] if self.false_key else numbered

    def _came_out(self, unit: int, frame: VideoFrame) -> None:
        self.produced = True
        self._inside.discard(unit)
        if not self.trusted and self._order.rank[unit] >= self._order.rank[self.began]:
            # the first picture must be the one that decoding began with, and a key picture
            is_key = frame.key_frame or frame.pict_type == PictureType.I
            self.trusted = unit == self.began and is_key
            self.false_key = not self.trusted
        if frame.is_corrupt:
            self._damage(unit)

    def _damage(self, unit: int) -> None:
        """Note damage, unless it may come from having started here."""
        self._inside.discard(unit)
        from_here = self._order.start[unit] >= self.began and not self._order.orphan[unit]
        if self.trusted and from_here:
            self._damaged.add(unit)
