"""Checks that decode: frames and sound that cannot be read, and the scale of depth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import cast

import numpy as np
from numpy.typing import NDArray

from genlock.doctor.finding import Decode, Finding
from genlock.errors import GenlockError
from genlock.interfaces import FrameDecoder, FrameFormat, SampleDecoder
from genlock.opened import Opened
from genlock.stream import Stream
from genlock.timeline import SampledTimeline

SAMPLED = 8
AT_ONCE = 32
SMALL = FrameFormat(size=(32, 32), color="gray")
NEAREST_M, FARTHEST_M = 0.05, 200.0


def unreadable_frames(opened: Opened, decode: Decode) -> Iterator[Finding]:
    """Frames whose file or packets are damaged."""
    for stream in _streams(opened, "video", "depth"):
        rows = _rows(stream, decode)
        try:
            bad = rows[~_decoded(opened, stream, rows)]
        except GenlockError as error:
            yield Finding.of(error, "unreadable")
            continue
        if len(bad):
            text = f"{len(bad)} of {len(rows)} frames decoded are damaged or lack their references"
            advice = "they are masked; record or copy the file again if they matter"
            first = int(stream.timeline.ns[bad[0]])
            yield Finding("unreadable", "error", text, advice, stream.name, first, len(bad))


def unreadable_sound(opened: Opened, decode: Decode) -> Iterator[Finding]:
    """Sound that is listed and does not decode."""
    for stream in _streams(opened, "audio"):
        timeline = cast(SampledTimeline, stream.timeline)
        starts = np.arange(0, timeline.count, timeline.rate)
        starts = starts if decode == "all" else _spread(starts)
        try:
            lost = _silent(opened, stream, timeline, starts)
        except GenlockError as error:
            yield Finding.of(error, "unreadable")
            continue
        if len(lost):
            text = f"{len(lost)} samples of sound do not decode"
            advice = "they are zero and masked; record or copy the file again if they matter"
            first = int(timeline.at(lost[:1])[0])
            yield Finding("unreadable", "error", text, advice, stream.name, first, len(lost))


def depth_scale(opened: Opened, decode: Decode) -> Iterator[Finding]:
    """Depths beyond what rooms and sensors have: the wrong scale."""
    for stream in _streams(opened, "depth"):
        rows = _spread(_rows(stream, "all"), 3)
        height, width = stream.info.shape[:2]
        metres = np.zeros((len(rows), height, width), np.float32)
        with closing(opened.decoder(stream.name, depth=True)) as decoder:
            cast(FrameDecoder, decoder).read(rows, FrameFormat(), metres)
        valid = metres[metres > 0]
        if not len(valid):
            text, advice = "no pixel holds a depth", "check depth = { invalid = … }"
            yield Finding("depth-scale", "warning", text, advice, stream.name, count=len(rows))
            continue
        middle = float(np.median(valid))
        if not NEAREST_M < middle < FARTHEST_M:
            text = f"half the depths are over {middle:.3g} m"
            advice = "state the scale: depth = { scale = … } in metres per unit (0.001 for mm)"
            yield Finding("depth-scale", "error", text, advice, stream.name)


def _decoded(opened: Opened, stream: Stream, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of these rows decode to a sound picture."""
    is_depth = stream.info.modality == "depth"
    height, width = stream.info.shape[:2]
    shape, dtype = ((height, width), np.float32) if is_depth else ((1, 32, 32), np.uint8)
    fine = np.zeros(len(rows), np.bool_)
    with closing(opened.decoder(stream.name, is_depth)) as decoder:
        for first in range(0, len(rows), AT_ONCE):
            part = rows[first : first + AT_ONCE]
            out = np.zeros((len(part), *shape), dtype)
            wanted = FrameFormat() if is_depth else SMALL
            fine[first : first + len(part)] = cast(FrameDecoder, decoder).read(part, wanted, out)
    return fine


def _silent(
    opened: Opened, stream: Stream, timeline: SampledTimeline, starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Samples of the seconds from `starts` that are listed and do not decode."""
    listed, lost = timeline.valid, [np.empty(0, np.int64)]
    with closing(opened.decoder(stream.name)) as decoder:
        for start in starts.tolist():
            count = min(timeline.rate, timeline.count - start)
            out = np.zeros((stream.info.shape[0], count), np.float32)
            fine = cast(SampleDecoder, decoder).read(start, timeline.rate, out)
            wanted = ~fine if listed is None else ~fine & listed[start : start + count]
            lost.append(start + np.flatnonzero(wanted))
    return np.concatenate(lost)


def _streams(opened: Opened, *modalities: str) -> list[Stream]:
    return [
        stream
        for stream in opened.streams.values()
        if stream.info.modality in modalities and stream.problem is None and len(stream.timeline)
    ]


def _rows(stream: Stream, decode: Decode) -> NDArray[np.int64]:
    """The rows to decode: of those that are there, all or a few."""
    valid = stream.timeline.valid
    rows = np.arange(len(stream.timeline)) if valid is None else np.flatnonzero(valid)
    return rows if decode == "all" else _spread(rows)


def _spread(rows: NDArray[np.int64], count: int = SAMPLED) -> NDArray[np.int64]:
    """A few of these, from the first to the last."""
    return (
        rows[np.unique(np.linspace(0, len(rows) - 1, count).astype(np.int64))]
        if len(rows)
        else rows
    )
