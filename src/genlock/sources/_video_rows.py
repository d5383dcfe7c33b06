"""The rows of a video track: which packets hold the pictures that are shown, and when.

From the packets alone where each says when its picture is shown (`packet_rows`); else by decoding
the track once (`decoded_rows`): AVI and raw streams know no presentation times, MPEG-PS states
some of them.
"""

from __future__ import annotations

from array import array
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from typing import cast

import numpy as np
from av.error import FFmpegError
from av.packet import Packet
from av.video.stream import VideoStream
from numpy.typing import NDArray

from genlock._ffmpeg import NO_TICKS, Media, number, prepare, ticks, unit_of
from genlock._nanoseconds import SECOND_NS, ticks_to_ns
from genlock.sources._packet_log import Columns
from genlock.timeline import Report, Timeline

Ticks = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """unit: int64 [N], the packet of each row. pts: int64 [N] ticks, sorted. duration: int64 [N]
    ticks; a row lasts until the next, the last as long as its packet says.
    """

    unit: Ticks
    pts: Ticks
    duration: Ticks
    report: Report

    def timeline(self, time_base: Fraction) -> Timeline:
        period_ns = time_base * SECOND_NS
        ns = ticks_to_ns(self.pts, period_ns)
        return Timeline(ns, ticks_to_ns(self.pts + self.duration, period_ns) - ns)


def packet_rows(
    columns: Columns, shown: NDArray[np.bool_], first: int | None = None
) -> Rows | None:
    """Rows by the packets' own pts; None if some picture has none.

    shown: bool [U], packets that give a picture. first: the packet of the first picture that the
    decoder gave: what is to be shown before it refers to pictures that are not in the file.
    """
    units = np.flatnonzero(shown & ~columns.discard & (columns.size > 0))
    stated = columns.pts[units] != NO_TICKS
    decodable = np.ones(len(units), np.bool_)
    if first is not None and columns.pts[first] != NO_TICKS:
        pts, first_pts = columns.pts[units], columns.pts[first]
        decodable = (pts > first_pts) | ((pts == first_pts) & (units >= first))
        decodable[~stated] = units[~stated] > first
    if not stated[decodable].all():
        return None
    dropped = len(units) - int(decodable.sum())
    report = Report(dropped=dropped, reordered=_backward_steps(columns.dts))
    if dropped:
        report = report.noting(f"{dropped} pictures before the first key frame cannot be decoded")
    return _in_order(units[decodable], columns.pts[units[decodable]], columns, report)


def decoded_rows(media: Media, index: int, columns: Columns, max_pixels: int) -> Rows:
    """Rows by decoding track `index` of a freshly opened container once, in the decoder's order.

    A container that states pts for the first picture states them for those it cannot infer; the
    decoder's dts stands in for the others. One that states none there has a clock of slots (dts)
    or no clock at all: pictures take the slots in order, or the nominal durations.
    """
    unit, pts, shown_dts = _decode_all(media, index, max_pixels).T
    slots = np.sort(columns.dts[unit])
    if len(unit) and pts[0] != NO_TICKS:
        pts, how = np.where(pts == NO_TICKS, shown_dts, pts), "some inferred from decoding times"
    elif (slots != NO_TICKS).all():
        pts, how = slots, "the container numbers pictures but does not say when they are shown"
    else:
        durations = columns.duration[unit]
        pts, how = np.cumsum(durations) - durations, "the nominal rate, as the file has no clock"
    for row in np.flatnonzero(pts == NO_TICKS):  # the last ones come out without any time
        pts[row] = pts[row - 1] + columns.duration[unit[row - 1]] if row else 0
    report = Report(
        reordered=_backward_steps(pts),
        missing=int((columns.size > 0).sum()) - len(unit),
        notes=(f"times found by decoding once: {how}",),
    )
    return _in_order(unit, pts, columns, report)


def _decode_all(media: Media, index: int, max_pixels: int) -> Ticks:
    """Packet, pts and dts of each picture that the decoder gives, int64 [N, 3]."""
    track = cast(VideoStream, media.container.streams[index])
    context = track.codec_context
    prepare(context, max_pixels)
    shown = array("q")
    for unit, packet in enumerate(chain(media.packets([track]), [None])):
        if packet is not None:
            number(packet, unit)
        with suppress(FFmpegError):  # a damaged picture gives no row, and no slot is moved for it
            for frame in context.decode(cast("Packet[VideoStream] | None", packet)):
                shown.extend((unit_of(frame), ticks(frame.pts), ticks(frame.dts)))
    return np.array(shown, np.int64).reshape(-1, 3)


def _in_order(unit: Ticks, pts: Ticks, columns: Columns, report: Report) -> Rows:
    """Rows sorted by time; those of equal times stay in the order they came in."""
    order = np.argsort(pts, kind="stable")
    unit, pts = unit[order], pts[order]
    duration = columns.duration[unit]
    steps = np.diff(pts)
    duration[:-1] = steps
    if len(steps) and duration[-1] <= 0:
        duration[-1] = int(np.median(steps))
    return Rows(unit, pts, duration, replace(report, ties=int((steps == 0).sum())))


def _backward_steps(dts: Ticks) -> int:
    return int((np.diff(dts[dts != NO_TICKS]) < 0).sum())
