"""A container's video track before it is decoded: its timeline, unit table and description."""

from __future__ import annotations

from typing import Any

import numpy as np
from av.packet import Packet
from av.video.stream import VideoStream

from genlock._ffmpeg import NO_TICKS, Media
from genlock.interfaces import UnitTable
from genlock.sources._packets import Columns, PacketLog
from genlock.stream import Stream, StreamInfo
from genlock.timeline import SECOND_NS, Report, Timeline, ticks_to_ns


class VideoPackets:
    """Collects one video track's packets during the scan and makes a stream of them."""

    def __init__(self, track: VideoStream) -> None:
        self._track = track
        self._log = PacketLog(track)

    def add(self, packet: Packet[Any]) -> None:
        self._log.add(packet)

    def finish(self, name: str, media: Media) -> tuple[Stream, UnitTable]:
        columns = self._log.columns()
        row_unit, report = _rows(columns)
        table = UnitTable(
            columns.pts,
            columns.dts,
            columns.key,
            np.zeros(len(columns), np.bool_),
            row_unit,
            columns.time_base,
        )
        return Stream(name, _info(self._track, report), _timeline(columns, row_unit)), table


def _rows(columns: Columns) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Report]:
    """Units that hold a picture to show, in order of presentation."""
    shown = np.flatnonzero(~columns.discard & (columns.size > 0) & (columns.pts != NO_TICKS))
    order = np.argsort(columns.pts[shown], kind="stable")
    row_unit = shown[order].astype(np.int64)
    ties = int((np.diff(columns.pts[row_unit]) == 0).sum())
    return row_unit, Report(ties=ties)


def _timeline(columns: Columns, row_unit: np.ndarray[Any, np.dtype[np.int64]]) -> Timeline:
    period = columns.time_base * SECOND_NS
    pts, durations = columns.pts[row_unit], columns.duration[row_unit]
    durations[:-1] = np.diff(pts)
    ends = ticks_to_ns(pts + durations, period)
    ns = ticks_to_ns(pts, period)
    return Timeline(ns, ends - ns)


def _info(track: VideoStream, report: Report) -> StreamInfo:
    rate = track.average_rate
    return StreamInfo(
        "video",
        encoding="packets",
        codec=track.codec_context.name,
        shape=(track.height, track.width),
        dtype="uint8",
        rate=float(rate) if rate else None,
        clock="media",
        report=report,
    )
