"""A cursor over the packets of a container's track, which are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

import numpy as np
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Stream
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS, Media, ticks
from genlock.errors import DecodeError
from genlock.interfaces import CodecSpec, UnitTable
from genlock.location import Location
from genlock.sources._packet_log import position_of

LEAD_IN = 8
"""Units to start before the wanted one where a seek lands inside of a group of packets."""
MAX_UNKNOWN = 256
"""Packets to read after a seek in search of one that is known."""
SIZE_SPAN = 2**21
ALPHA_DECODERS = MappingProxyType({"vp8": "libvpx", "vp9": "libvpx-vp9"})
"""Decoders that read the alpha of WebM, which FFmpeg's own leave out."""


class PacketUnits:
    """A cursor over the packets of one track, with a container of its own.

    Units are `av.Packet`, unchanged. One thread at a time; close it explicitly. Raises OpenError
    if the file is gone, DecodeError if it no longer holds the packets that the table lists.
    options: for the decoder, see `CodecSpec.options`. known: see `Media.knowing`.
    """

    def __init__(
        self,
        location: Location,
        track: int,
        table: UnitTable,
        encoding: str,
        options: Mapping[str, Any],
        known: Mapping[str, Any],
    ) -> None:
        self._location = location
        self._track = track
        self._table = table
        self._known = known
        self._media = Media.knowing(location, track, known)
        self._fresh = True
        self._seeker = _Seeker(table, self._media.container.format.name)
        context = self._stream.codec_context
        with_alpha = ALPHA_DECODERS.get(context.name, "") if self._has_alpha() else ""
        self.spec = CodecSpec(
            encoding,
            with_alpha or context.name,
            context=None if with_alpha else context,
            extradata=context.extradata,
            table=table,
            options={"uri": location.uri, **options},
        )

    def _has_alpha(self) -> bool:
        return self._stream.metadata.get("alpha_mode") == "1"

    @property
    def _stream(self) -> Stream:
        return self._media.container.streams[self._track]

    def unit(self, index: int) -> Any:
        for _, packet in self.units(index):
            return packet
        raise DecodeError(f"{self._location.uri} has no packet {index}")

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        # what comes with the first packets alone, such as a palette, would be lost by seeking
        numbered = None if first == 0 and self._fresh else self._sought(first)
        if numbered is None:
            self._rewind()
            numbered = islice(enumerate(self._packets()), first, None)
        return islice(numbered, len(self._table.pts) - first)

    def _sought(self, first: int) -> Iterator[tuple[int, Packet[Stream]]] | None:
        for stamp in self._seeker.stamps(first):
            numbered = self._seeker.numbered(self._packets_at(stamp), first)
            if numbered is not None:
                return numbered
        return None

    def _rewind(self) -> None:
        if not self._fresh:
            self._media.close()
            self._media = Media.knowing(self._location, self._track, self._known)

    def _packets_at(self, stamp: int) -> Iterator[Packet[Stream]]:
        try:
            self._media.container.seek(stamp, stream=self._stream)
        except FFmpegError:  # this container cannot seek, or not to there
            return iter(())
        return self._packets()

    def _packets(self) -> Iterator[Packet[Stream]]:
        self._fresh = False
        return self._media.packets([self._stream])

    def close(self) -> None:
        self._media.close()


class _Seeker:
    """Where to seek for a unit, and which packets a seek came to."""

    def __init__(self, table: UnitTable, container: str) -> None:
        self._key = table.key
        # Matroska's index holds pts; others are sought by dts, and by pts would land too late
        by_pts = "matroska" in container or NO_TICKS in table.dts
        self._targets = table.pts if by_pts else table.dts
        # in MP4 a seek to a key unit's dts goes to the key unit before it, where pts is later
        self._direct = table.pts if "mp4" in container else self._targets
        # FFmpeg infers dts anew after a seek: they identify packets only where pts cannot
        self._by_pts = bool((table.pts != NO_TICKS).any())
        stamp = table.pts if self._by_pts else table.dts
        size = np.zeros_like(stamp) if table.size is None else table.size
        self._identity = (stamp * SIZE_SPAN + size).view(np.uint64)
        # after a seek in Ogg, FFmpeg stamps packets with the times of others; positions stay
        self._positioned = table.position is not None and bool((table.position >= 0).all())
        if table.position is not None and self._positioned:
            self._identity = table.position.view(np.uint64)

    @cached_property
    def _sorted(self) -> NDArray[np.intp]:
        return np.argsort(self._identity, kind="stable")

    def stamps(self, first: int) -> Iterator[int]:
        """Times to seek to for a unit, each further back: its own, that of a unit some way before,
        in containers that lose what a seek lands inside of, those of earlier key units. Where the
        first lands too late, the next is tried.
        """
        if self._direct[first] != NO_TICKS:
            yield int(self._direct[first])
        keys = np.flatnonzero(self._key[:first])
        for unit in (first, max(first - LEAD_IN, 0), *keys[-1:], *keys[-4:-3]):
            if self._targets[unit] != NO_TICKS:
                yield int(self._targets[unit])

    def numbered(
        self, packets: Iterator[Packet[Stream]], first: int
    ) -> Iterator[tuple[int, Packet[Stream]]] | None:
        """(unit, packet) from unit `first` on; None if these packets do not lead up to it."""
        for packet in islice(packets, MAX_UNKNOWN):
            unit = self._unit(packet)
            if unit is not None:
                break
        else:
            return None
        while unit < first and self._is(unit, packet):
            unit, packet = unit + 1, next(packets, packet)
        if unit != first or not self._is(unit, packet):
            return None
        return chain([(unit, packet)], enumerate(packets, unit + 1))

    def _unit(self, packet: Packet[Stream]) -> int | None:
        """The only unit that a packet can be; of units at one position, a seek finds the first."""
        identity = self._identify(packet)
        at = int(np.searchsorted(self._identity, identity, sorter=self._sorted))
        same = self._identity[self._sorted[at : at + 2]] == identity
        found = same[:1].any() and (self._positioned or same.sum() == 1)
        return int(self._sorted[at]) if found else None

    def _is(self, unit: int, packet: Packet[Stream]) -> bool:
        return bool(self._identity[unit] == self._identify(packet))

    def _identify(self, packet: Packet[Stream]) -> np.uint64:
        if self._positioned:
            return np.uint64(position_of(packet) % 2**64)
        stamp = ticks(packet.pts if self._by_pts else packet.dts)
        return np.uint64((stamp * SIZE_SPAN + packet.size) % 2**64)
