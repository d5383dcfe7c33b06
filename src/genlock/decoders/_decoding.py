"""One run of a decoder from a key unit on: what was sent, what came out, what is still inside.

Pictures come out later than their units went in, and in another order. Each is told apart by the
unit number that it carries, never by counting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from av.error import FFmpegError
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS, number, unit_of
from genlock.errors import GenlockError
from genlock.interfaces import UnitTable

MAX_DELAY = 40
"""Units after which a picture that has not come out never will; codecs reorder over at most 16."""
SEEK_COST = 4
"""Units that may as well be decoded as sought past."""
CHUNK = 32
"""Packets that are read at once. Decoding evicts from the caches what reading needs, so packets
read one by one between pictures took five times as long."""


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

    def start_of(self, units: set[int]) -> int:
        """Where to start for all of these units."""
        return int(self.start[list(units)].min())

    def key_before(self, unit: int) -> int:
        """The last key unit before a unit."""
        return int(self.keys[max(int(np.searchsorted(self.keys, unit)) - 1, 0)])


class Decoding:
    """A decoder that was started at a key unit. One thread at a time.

    began: where. ends: whether it is to end once what is wanted has gone in, instead of standing
    there for whoever reads on. position: the next unit that goes in. ahead: pictures that came out
    from the last one that was wanted on, by unit. produced: whether any picture came out. trusted:
    the first was the key picture it began with. false_key: it was not. damaged: a set that
    collects damaged units.
    """

    def __init__(
        self,
        packets: Iterator[tuple[int, Packet[Any]]],
        context: VideoCodecContext,
        order: UnitOrder,
        began: int,
        damaged: set[int],
        skips: bool,
        ends: bool = False,
    ) -> None:
        self.began = began
        self.ends = ends
        self.position = began
        self.ahead: dict[int, VideoFrame] = {}
        self.produced = False
        self.false_key = False
        self._packets = packets
        self._chunk: deque[tuple[int, Packet[Any]]] = deque()
        self._broken: GenlockError | None = None
        self._context = context
        self._order = order
        self._damaged = damaged
        self._skips = skips
        self._ended = False
        self.trusted = began == 0 or not order.shown[began]
        self._inside: dict[int, bool] = {}
        self._unneeded: frozenset[int] = frozenset()
        self._last = self._last_rank = 0
        self._skipping = False
        self._decoded = 0
        context.flush_buffers()
        context.skip_frame = "DEFAULT"

    def reaches(self, units: set[int]) -> bool:
        """Whether going on gives these units, and for less than starting anew."""
        missing = units - self.ahead.keys()
        if not missing:
            return True
        if any(
            self._order.start[unit] < self.began
            or (unit < self.position and unit not in self._inside)
            for unit in missing
        ):
            return False
        resting = self._order.start[list(missing)].max()
        return min(missing) < self.position or resting <= self.position + SEEK_COST

    def aim(self, wanted: set[int]) -> dict[int, VideoFrame]:
        """Turn to these units; gives those of them that came out before.

        Pictures that are shown before all of them are forgotten, and what none needs that is shown
        before the last of them will be left out.
        """
        order, units = self._order, sorted(wanted)
        ranks = order.rank[units]
        self._last = units[-1]
        first, self._last_rank = int(ranks.min()), int(ranks.max())
        self.ahead = {unit: f for unit, f in self.ahead.items() if order.rank[unit] >= first}
        if self._skips:
            way = slice(self.position, units[-1] + MAX_DELAY + 1)
            before = (order.rank[way] < self._last_rank) | ~order.shown[way]
            skippable = np.flatnonzero(order.disposable[way] & before) + self.position
            self._unneeded = frozenset(skippable.tolist()) - wanted
        return {unit: frame for unit, frame in self.ahead.items() if unit in wanted}

    def settled(self) -> int:
        """The units before this one are damaged or not, but no longer unknown."""
        recent = self.position - MAX_DELAY
        inside = (unit for unit, referred in self._inside.items() if referred and unit >= recent)
        return next(inside, self.position)

    def take_decoded(self) -> int:
        """How many units were decoded since this was asked last."""
        decoded, self._decoded = self._decoded, 0
        return decoded

    def step(self) -> list[tuple[int, VideoFrame]] | None:
        """Send one more unit; (unit, frame) of the pictures that come out, None after the last.

        The last picture that `aim` named and those shown after it are kept in `ahead`, since
        whoever reads on will want them, and the last one again where two windows meet.
        """
        if self._ended or self.false_key:
            return None
        if self.ends and self.position > self._last and self._stands_between_pictures():
            return self.end()
        if not self._chunk and not self._read_chunk():
            return self.end()
        unit, packet = self._chunk.popleft()
        self.position = unit + 1
        skip = unit in self._unneeded
        if skip != self._skipping:
            self._skipping = skip
            self._context.skip_frame = "NONREF" if skip else "DEFAULT"
        if not skip:
            self._decoded += 1
            if self._order.shown[unit]:
                self._inside[unit] = not self._order.disposable[unit]
        return self._sent(unit, packet)

    def _read_chunk(self) -> bool:
        """Take the packets that will be sent next, but none after the last unit that is wanted:
        they may be damaged, or never be asked for. Says whether there are any.
        """
        if self._broken is not None:
            raise self._broken
        ahead = min(max(self._last + 1 - self.position, 1), CHUNK)
        try:
            self._chunk.extend(islice(self._packets, ahead))
        except GenlockError as error:
            self._broken = error
            if not self._chunk:
                raise
        for unit, packet in self._chunk:
            number(packet, unit)
        return bool(self._chunk)

    def _stands_between_pictures(self) -> bool:
        """Whether the next unit is a picture of its own; else it may be a second field."""
        return bool(self._order.shown[self.position : self.position + 1].all())

    def end(self) -> list[tuple[int, VideoFrame]]:
        """Send no more; (unit, frame) of the pictures that were still inside."""
        self._ended = True
        out = self._sent(None, None)
        self._inside.clear()
        return out

    def _sent(self, unit: int | None, packet: Packet[Any] | None) -> list[tuple[int, VideoFrame]]:
        try:
            frames = self._context.decode(packet)
        except MemoryError:
            raise
        except FFmpegError:
            if unit is not None:
                self._damage(unit)
            return []
        if not frames:
            return []
        numbered = [(unit_of(frame), frame) for frame in frames]
        for came, frame in numbered:
            self._came_out(came, frame)
        return [] if self.false_key else numbered

    def _came_out(self, unit: int, frame: VideoFrame) -> None:
        self.produced = True
        self._inside.pop(unit, None)
        rank = self._order.rank[unit]
        if rank >= self._last_rank:
            self.ahead[unit] = frame
        if not self.trusted and rank >= self._order.rank[self.began]:
            # the first picture must be the one that decoding began with, and a key picture
            is_key = frame.key_frame or frame.pict_type == PictureType.I
            self.trusted = unit == self.began and is_key
            self.false_key = not self.trusted
        if frame.is_corrupt:
            self._damage(unit)

    def _damage(self, unit: int) -> None:
        """Note damage, unless it may come from having started here."""
        self._inside.pop(unit, None)
        from_here = self._order.start[unit] >= self.began and not self._order.orphan[unit]
        if self.trusted and from_here:
            self._damaged.add(unit)
