"""What a container says of a track's packets, collected by demuxing once."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from av.packet import Packet
from av.stream import Stream
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS, ticks


@dataclass(frozen=True)
class Columns:
    """What a container says of a track's packets, in decode order; times in ticks of time_base.

    pts, dts: int64 [U], NO_TICKS where not stated. duration: int64 [U], 0 where not stated.
    size: int64 [U] bytes. position: int64 [U], first byte in the file, -1 where not stated.
    key, discard: bool [U]; discard: decoded but not shown (edit lists). corrupt: bool [U], the
    container itself saw that bytes of them were lost.
    """

    pts: NDArray[np.int64]
    dts: NDArray[np.int64]
    duration: NDArray[np.int64]
    size: NDArray[np.int64]
    position: NDArray[np.int64]
    key: NDArray[np.bool_]
    discard: NDArray[np.bool_]
    corrupt: NDArray[np.bool_]
    time_base: Fraction

    def __len__(self) -> int:
        return len(self.pts)


class Joint(NamedTuple):
    """Where a file goes on with a track: its first unit, and what is added to its ticks."""

    unit: int
    shift: int


class PacketLog:
    """Collects the columns of one track while its container is demuxed, or several that go on."""

    def __init__(self, stream: Stream) -> None:
        base = stream.time_base
        self.time_base = Fraction(1, 1) if base is None else Fraction(*base.as_integer_ratio())
        self.joints = [Joint(0, 0)]
        self._rows = array("q")
        self._end: int | None = None

    def add(self, packet: Packet[Any]) -> None:
        flags = packet.is_keyframe | packet.is_discard << 1 | packet.is_corrupt << 2
        times = ticks(packet.pts), ticks(packet.dts), packet.duration or 0
        self._rows.extend((*times, packet.size, position_of(packet), flags))

    def __len__(self) -> int:
        return len(self._rows) // 6

    def begin(self) -> None:
        """The packets of another file follow."""
        self.joints.append(Joint(len(self), 0))

    def ends(self) -> NDArray[np.intp]:
        """The last packet of each file that has one."""
        after = np.unique([*(joint.unit for joint in self.joints[1:]), len(self)])
        return after[after > 0] - 1

    def shown(self, lead: int = 0) -> tuple[int, int]:
        """Ticks of the last file at which what it shows starts and ends.

        lead: how much of its first packet is not shown.
        """
        rows = np.array(self._rows[self.joints[-1].unit * 6 :], np.int64).reshape(-1, 6)
        pts, duration, discard = rows[:, 0], rows[:, 2], rows[:, 5] & 2
        kept = (pts != NO_TICKS) & (discard == 0)
        if not kept.any():
            return 0, 0
        return int(pts[kept].min()) + lead, int((pts + duration)[kept].max())

    def lay(self, seconds: Fraction, lead: int = 0, slack: int = 0) -> None:
        """Place the last file: `seconds` later, or right after the one before if that is no more
        than `slack` ticks away.
        """
        shift = round(seconds / self.time_base)
        start, end = self.shown(lead)
        if self._end is not None and abs(start + shift - self._end) <= slack:
            shift = self._end - start
        self._end = end + shift
        self.joints[-1] = self.joints[-1]._replace(shift=shift)

    def columns(self) -> Columns:
        rows = np.array(self._rows, np.int64).reshape(-1, 6)
        pts, dts, duration, size, position, flags = (np.ascontiguousarray(c) for c in rows.T)
        files = np.diff([*(joint.unit for joint in self.joints), len(self)])
        shift = np.repeat([joint.shift for joint in self.joints], files)
        pts, dts = moved(pts, shift), moved(dts, shift)
        key, discard, corrupt = ((flags & bit) > 0 for bit in (1, 2, 4))
        base = self.time_base
        return Columns(pts, dts, duration, size, position, key, discard, corrupt, base)


def moved(stamps: NDArray[np.int64], shift: Any) -> NDArray[np.int64]:
    """Time stamps with ticks added, one number or one for each, where they are stated."""
    return np.where(stamps == NO_TICKS, stamps, stamps + shift)


def position_of(packet: Packet[Any]) -> int:
    """The first byte of a packet in its file, -1 where the container does not say."""
    return -1 if packet.pos is None else packet.pos
