"""What a family of devices means by its VRS streams: names, clocks, units, which fields matter.

`Plain` knows nothing but what each file says of itself; `_aria.Aria` knows Project Aria's glasses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from genlock._vrs.stream import VrsStream
from genlock.stream import Extrinsics, Intrinsics, Modality, Stamp

CAPTURE_TIME = "capture_timestamp_ns"
RECORD_TIME = ""
"""No field: the times of the VRS records themselves."""


@dataclass(frozen=True)
class TableSpec:
    """How a stream of fields becomes a table.

    fields: which, in order; none means all that hold numbers, but the time. units: by field.
    scale: factor to that unit, by field. valid: a flag field → the start of the names of those
    fields that hold nothing where it is false. pose: fields of translation and of rotation (x, y,
    z, w). frames: (parent, child) of it. time: field of the times, in ns. by: a text field whose
    values tell streams apart that were written as one.
    """

    modality: Modality = "sensor"
    fields: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)
    valid: Mapping[str, str] = field(default_factory=dict)
    pose: tuple[str, str] | None = None
    frames: tuple[str, str] | None = None
    time: str = CAPTURE_TIME
    by: str = ""


@dataclass(frozen=True)
class PictureSpec:
    """What pictures mean.

    stamp: which moment of the exposure a time is. depth: how depth is encoded, for depth. codes:
    makes uint16 of pixels that are 64-bit numbers. problem: why they cannot be read.
    """

    modality: Modality = "video"
    stamp: Stamp = "start"
    depth: str | None = None
    codes: Callable[[NDArray[np.uint64]], NDArray[np.uint16]] | None = None
    problem: str = ""


class Profile(Protocol):
    """What is known of a family of devices. clock: the recording's."""

    clock: str

    def name(self, stream: VrsStream) -> str:
        """What a stream is called. Streams of one name are told apart by whoever asks."""

    def table(self, stream: VrsStream) -> TableSpec: ...

    def pictures(self, stream: VrsStream) -> PictureSpec: ...

    def calibration(
        self, name: str, shape: tuple[int, ...]
    ) -> tuple[Intrinsics | None, Extrinsics | None]:
        """What the file states of a sensor. shape: of its pictures, () for others."""

    def is_clock(self, stream: VrsStream) -> bool:
        """Whether a stream relates clocks, and so is none of the recording's streams."""


class Plain:
    """Any VRS file: streams are named after their flavor, else after their kind of device."""

    clock = "vrs"

    def name(self, stream: VrsStream) -> str:
        text = stream.tags.flavor or stream.tags.device.removesuffix(" Class")
        return re.sub(r"[^a-z0-9_]+", "-", text.lower()).strip("-") or "stream"

    def table(self, stream: VrsStream) -> TableSpec:
        # what is of variable size fits into no column
        return TableSpec() if stream.layout.fixed.names else TableSpec("labels")

    def pictures(self, stream: VrsStream) -> PictureSpec:
        spec = stream.content.image
        floating = spec is not None and spec.pixels == "depth32f"
        return PictureSpec("depth", depth="metres") if floating else PictureSpec()

    def calibration(
        self, name: str, shape: tuple[int, ...]
    ) -> tuple[Intrinsics | None, Extrinsics | None]:
        return None, None

    def is_clock(self, stream: VrsStream) -> bool:
        return False
