"""`LabelJob`: the annotations of one window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from genlock._decoder_pool import DecoderPool
from genlock.errors import error_context
from genlock.jobs import Job
from genlock.slots import Slot
from genlock.stream import Label


@dataclass
class LabelJob(Job):
    """Labels: the list of annotations that overlap the window."""

    plan: tuple[int, int]

    pool: ClassVar[str] = "table"

    @property
    def spec(self) -> None:
        return None

    @property
    def valid_share(self) -> float:
        return 1.0

    def fill(self, slot: Slot, decoders: DecoderPool) -> None:
        start_ns, end_ns = self.plan
        timeline = self.stream.timeline
        durations = timeline.durations_ns
        begins = timeline.ns
        ends = begins if durations is None else begins + durations
        instant = ends == begins
        overlaps = (begins < end_ns) & ((ends > start_ns) | (instant & (begins >= start_ns)))
        with error_context(self.opened.uri, self.stream.name, start_ns):
            values = self.opened.columns(self.stream.name)["value"]
        slot.values.extend(
            Label(int(begins[i]), int(ends[i]), values[i]) for i in np.flatnonzero(overlaps)
        )
