"""A container's video track before it is read: its rows, unit table and description.

Rows come from the packets alone wherever each packet says when its picture is shown. The first
picture is decoded too: it tells where the pictures that can be decoded begin, and what only
pictures tell (display matrix, true size, colour tags, interlacing).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from genlock._ffmpeg import Media, number, prepare, unit_of
from genlock._pictures.header import pixel_limit
from genlock.errors import LimitError
from genlock.interfaces import OpenOptions, UnitTable
from genlock.sources._bitstream import inspector
from genlock.sources._packet_log import Columns, PacketLog
from genlock.sources._video_info import picture_info
from genlock.sources._video_rows import decoded_rows, packet_rows
from genlock.sources._views import states_views
from genlock.stream import Stream

PROBED_PACKETS = 512
CUT_ANYWHERE = re.compile("mpeg|h26|hevc|m4v|vc1|obu")
"""Containers that may begin in the middle of a group of pictures. In others the first packet is
meant to be decoded: if it cannot be, it is damaged, and counts as a row.
"""
STATEFUL_CODECS = frozenset({"gif", "apng", "flic", "anm", "ansi"})
"""Decoders whose pictures build on all before them, whatever the container flags as key."""


class VideoPackets:
    """Collects one video track's packets while its container is demuxed once.

    Raises LimitError if the track claims pictures above the limit.
    """

    def __init__(self, track: VideoStream, options: OpenOptions) -> None:
        self._track = track
        self.log = PacketLog(track)
        self._max_pixels = pixel_limit(options.max_pixels)
        context = track.codec_context
        self._inspect = inspector(context.name, context.extradata)
        self._heads = array("q")
        self._first: VideoFrame | None = None
        self._damaged = False
        self._whole = not CUT_ANYWHERE.search(track.container.format.name)
        if track.width * track.height > self._max_pixels:
            raise LimitError(
                f"a track claims pictures of {track.width}x{track.height}, above the limit of"
                f" {self._max_pixels} pixels: raise max_pixels or GENLOCK_MAX_PIXELS if it is right"
            )
        prepare(context, self._max_pixels)

    @property
    def index(self) -> int:
        """The track's place in its container."""
        return self._track.index

    @property
    def states_views(self) -> bool:
        """Whether the track's first picture says which of several views it is."""
        return states_views(self._first)

    def add(self, packet: Packet[Any]) -> None:
        head = self._inspect(memoryview(packet))
        self._heads.extend(head)
        if self._first is None and len(self.log) < PROBED_PACKETS:
            number(packet, len(self.log))
            self._probe(packet)
        self.log.add(packet)

    def _probe(self, packet: Packet[Any] | None) -> None:
        try:
            frames = self._track.codec_context.decode(packet)
        except FFmpegError:
            meant_first = self._whole and not len(self.log)
            self._damaged |= packet is not None and (packet.is_keyframe or meant_first)
        else:
            self._first = frames[0] if frames else None

    def lay(self, seconds: Fraction) -> None:
        """Place the last file `seconds` later than it says itself."""
        self.log.lay(seconds)

    def finish(self, name: str, reopen: Callable[[], Media]) -> tuple[Stream, UnitTable]:
        """Describe the track. reopen: opens the container again, for tracks whose packets do not
        say when their pictures are shown, so that they have to be decoded once.
        """
        if self._first is None and len(self.log) < PROBED_PACKETS:
            self._probe(None)
        columns = self.log.columns()
        layer, disposable, shown, follows = np.array(self._heads, np.int64).reshape(-1, 4).T
        first = None if self._first is None or self._damaged else unit_of(self._first)
        rows = packet_rows(columns, shown > 0, first)
        if rows is None:
            media = reopen()
            try:
                rows = decoded_rows(media, self._track.index, columns, self._max_pixels)
            finally:
                media.close()
        table = UnitTable(
            columns.pts,
            columns.dts,
            self._keys(columns),
            (disposable > 0) & (layer == layer.max(initial=0)),
            rows.unit,
            columns.time_base,
            columns.size,
            damaged=_damaged(columns, follows > 0),
        )
        info = picture_info(self._track, self._first, rows.report)
        return Stream(name, info, rows.timeline(columns.time_base)), table

    def _keys(self, columns: Columns) -> NDArray[np.bool_]:
        """Packets that decoding can start at; the first where none is flagged."""
        key = columns.key.copy()
        palette = self._first is not None and self._first.format.has_palette
        if palette or self._track.codec_context.name in STATEFUL_CODECS or not key.any():
            key[:] = False
            key[:1] = True
        return key


def _damaged(columns: Columns, follows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Packets that are known to be damaged, or to build on lost ones.

    A key picture builds on none; after a loss only those that are shown before it are damaged.
    """
    damaged = columns.corrupt | ~follows
    keys = np.append(np.flatnonzero(columns.key), len(columns))
    for key, next_key in pairwise(keys.tolist()):
        if follows[key]:
            continue
        damaged[key] = columns.corrupt[key]
        group = columns.pts[key + 1 : next_key]
        trailing = np.flatnonzero(group > columns.pts[key])
        leading = int(trailing[0]) if len(trailing) else len(group)
        damaged[key + 1 : key + 1 + leading] = True
    return damaged
