"""Packets of a container's track: their table, made by demuxing once, and a cursor over them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from av.packet import Packet
from av.stream import Stream
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS, Media, ticks
from genlock.interfaces import CodecSpec, UnitTable
from genlock.location import Location


@dataclass(frozen=True)
class Columns:
    """What a container says of a track's packets, in decode order; times in ticks of time_base.

    pts, dts: int64 [U], NO_TICKS where not stated. duration: int64 [U], 0 where not stated.
    size: int64 [U] bytes. position: int64 [U] byte offset in the file, -1 where not known.
    key, discard: bool [U]; discard: decoded but not shown (edit lists).
    """

    pts: NDArray[np.int64]
    dts: NDArray[np.int64]
    duration: NDArray[np.int64]
    size: NDArray[np.int64]
    position: NDArray[np.int64]
    key: NDArray[np.bool_]
    discard: NDArray[np.bool_]
    time_base: Fraction

    def __len__(self) -> int:
        return len(self.pts)


class PacketLog:
    """Collects the columns of one track while its container is demuxed."""

    def __init__(self, stream: Stream) -> None:
        base = stream.time_base
        self._time_base = Fraction(1, 1) if base is None else Fraction(*base.as_integer_ratio())
        self._rows = array("q")

    def add(self, packet: Packet[Any]) -> None:
        flags = packet.is_keyframe | packet.is_discard << 1
        times = ticks(packet.pts), ticks(packet.dts), packet.duration or 0
        position = -1 if packet.pos is None else packet.pos
        self._rows.extend((*times, packet.size, position, flags))

    def __len__(self) -> int:
        return len(self._rows) // 6

    def columns(self) -> Columns:
        rows = np.array(self._rows, np.int64).reshape(-1, 6)
        pts, dts, duration, size, position, flags = (np.ascontiguousarray(c) for c in rows.T)
        key, discard = (flags & 1) > 0, (flags & 2) > 0
        return Columns(pts, dts, duration, size, position, key, discard, self._time_base)


class PacketUnits:
    """A cursor over the packets of one track, with a container of its own.

    Units are `av.Packet`, unchanged. One thread at a time; close it explicitly. Raises OpenError
    if the file is gone, DecodeError if it no longer holds the packets that the table lists.
    """

    def __init__(
        self, location: Location, stream_index: int, table: UnitTable, encoding: str
    ) -> None:
        self._location = location
        self._table = table
        self._index = stream_index
        self._marks, self._first_marked = np.unique(self._marking, return_index=True)
        self._media = Media(location)
        stream = self._stream
        context = stream.codec_context
        self.spec = CodecSpec(
            encoding,
            context.name if context else "",
            context=context,
            extradata=context.extradata if context else None,
            table=table,
        )

    @property
    def _stream(self) -> Stream:
        return self._media.container.streams[self._index]

    def unit(self, index: int) -> Any:
        return next(self.units(index))[1]

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        for index, packet in self._from(first):
            if index >= first:
                yield index, packet

    def _from(self, first: int) -> Iterator[tuple[int, Packet[Any]]]:
        """Packets from unit `first` or some unit before it, numbered by the table."""
        stamps = self._stamps
        for key in self._landings(first):
            self._seek(int(stamps[key]))
            packets = self._media.packets([self._stream])
            packet = next(packets, None)
            start = None if packet is None else self._number(packet)
            if packet is not None and start is not None and start <= first:
                yield start, packet
                yield from enumerate(packets, start + 1)
                return
        self._media.close()
        self._media = Media(self._location)
        yield from enumerate(self._media.packets([self._stream]))

    def _landings(self, first: int) -> Iterator[int]:
        """Key units to seek to for `first`, each further back than the last."""
        if not self._seekable:
            return
        keys = np.flatnonzero(self._table.key[: first + 1])
        for steps in (1, 2, 5):
            if steps < len(keys):
                yield int(keys[-steps])

    @property
    def _stamps(self) -> NDArray[np.int64]:
        """The column that tells packets apart."""
        pts = self._table.pts
        return self._table.dts if (pts == NO_TICKS).any() else pts

    @property
    def _marking(self) -> NDArray[np.int64]:
        """The column that numbers a packet after a seek: where it is, if the container says so.

        After a seek in Ogg, FFmpeg gives packets time stamps of others; their positions stay.
        Packets that share one (of an Ogg page, a Matroska lace) are read from the first on.
        """
        position = self._table.position
        return self._stamps if position is None or (position < 0).any() else position

    @property
    def _seekable(self) -> bool:
        if (self._stamps == NO_TICKS).any():
            return False
        return self._marking is self._table.position or len(self._marks) == len(self._stamps)

    def _number(self, packet: Packet[Any]) -> int | None:
        marking = self._marking
        if marking is self._table.position:
            mark = packet.pos
        else:
            mark = ticks(packet.pts if marking is self._table.pts else packet.dts)
        at = int(np.searchsorted(self._marks, -1 if mark is None else mark))
        found = at < len(self._marks) and self._marks[at] == mark
        return int(self._first_marked[at]) if found else None

    def _seek(self, stamp: int) -> None:
        self._media.container.seek(stamp, stream=self._stream)

    def close(self) -> None:
        self._media.close()
