"""What a recording says of its streams: `StreamInfo`, `Stream`, calibration, labels and `Span`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from genlock.calibration import Extrinsics as Extrinsics
from genlock.calibration import Intrinsics as Intrinsics
from genlock.clock import ClockMap
from genlock.timeline import Report, Timeline

Modality = Literal["video", "depth", "audio", "sensor", "pose", "points", "labels"]
Stamp = Literal["start", "mid", "end"]
MODALITIES: tuple[Modality, ...] = get_args(Modality)


@dataclass(frozen=True)
class ColorTags:
    """The colour tags of a picture stream, as FFmpeg names them; "unknown" where untagged."""

    matrix: str = "unknown"
    range: str = "unknown"
    primaries: str = "unknown"
    transfer: str = "unknown"


@dataclass(frozen=True)
class StreamInfo:
    """What is known of a stream before anything is decoded.

    modality: what its rows are. encoding: "packets", "image", "samples", "columns" or "points";
    picks the decoder. shape: of one row, (height, width) upright for pictures, (channels,) for
    audio, (dimensions,) for tables, (most points, values of each) for clouds; () if unknown.
    dtype: as stored. rate: Hz, nominal, or None. clock: name of the clock its times are on. stamp:
    which moment of an exposure or block a time means. exposure_ns: ns, if stated. columns: names
    of a table's columns, of a point's values. quaternion: order in which the *file* stores it
    (values are always x, y, z, w). depth: how depth is encoded.
    rotation: degrees clockwise that were applied to make frames upright; flipped: mirrored
    horizontally before that. sample_aspect: pixel width / height. bits: per component.
    report: what was dropped, reordered, missing.
    """

    modality: Modality
    encoding: str = ""
    codec: str = ""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    rate: float | None = None
    clock: str = ""
    stamp: Stamp = "start"
    exposure_ns: int | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    quaternion: str | None = None
    frames: tuple[str, str] | None = None
    depth: str | None = None
    rotation: int = 0
    flipped: bool = False
    sample_aspect: float = 1.0
    bits: int = 8
    color: ColorTags = field(default_factory=ColorTags)
    interlaced: bool = False
    report: Report = field(default_factory=Report)

    def with_report(self, report: Report) -> StreamInfo:
        """The same info with another report."""
        return replace(self, report=report)


@dataclass(frozen=True)
class Stream:
    """One named series of a recording: what it is and when its rows are. Immutable.

    timeline: on the recording's clock in `Recording.streams`, on the stream's own clock in a
    source. intrinsics, extrinsics: calibration, if the source states it. problem: an error that
    any use of the stream's times raises, such as an unknown unit; the stream is still listed.
    counts: int64 [N], of point clouds: how many points each row stores.
    """

    name: str
    info: StreamInfo
    timeline: Timeline
    intrinsics: Intrinsics | None = None
    extrinsics: Extrinsics | None = None
    problem: Exception | None = None
    counts: NDArray[np.int64] | None = field(default=None, compare=False)

    def require_times(self) -> None:
        """Raise the stream's problem, if it has one: each time as a new exception."""
        if self.problem is not None:
            raise copy.copy(self.problem) from self.problem.__cause__

    def camera(self, crop: tuple[int, int, int, int] | None, size: Any) -> Intrinsics | None:
        """The intrinsics of upright frames after a crop and a resize to (height, width)."""
        info = self.info
        if self.intrinsics is None or len(info.shape) < 2:
            return None
        camera = self.intrinsics.upright(info.shape, info.rotation, info.flipped)
        if camera is not None and crop is not None:
            camera = camera.cropped(crop)
        return camera if camera is None or size is None else camera.scaled(size)

    def on_clock(self, clock: ClockMap) -> Stream:
        """The same stream with its times taken through a clock map."""
        timeline = self.timeline.mapped(clock)
        return self if timeline is self.timeline else replace(self, timeline=timeline)

    def __repr__(self) -> str:
        info = self.info
        shape = "x".join(map(str, info.shape)) or ("?" if info.dtype else "")
        about = [
            repr(self.name),
            " ".join(filter(None, (info.modality, info.codec))),
            f"{shape} {info.dtype}".strip(),
            f"{info.rate:g} Hz" if info.rate else "",
            f"{type(self.problem).__name__}: see .problem" if self.problem else repr(self.timeline),
        ]
        return f"Stream({', '.join(filter(None, about))})"


class Label(NamedTuple):
    """One annotation: [start_ns, end_ns) on the recording's clock, and its value."""

    start_ns: int
    end_ns: int
    value: Any


class Span(NamedTuple):
    """The time range of a recording: [start_ns, end_ns)."""

    uri: str
    start_ns: int
    end_ns: int
