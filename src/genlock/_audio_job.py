"""`AudioJob`: the sound of one window."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from genlock._decoder_pool import DecoderPool
from genlock._memory import ArraySpec
from genlock.align import AudioPlan
from genlock.errors import FieldError
from genlock.jobs import Job
from genlock.slots import Slot, SlotSpec


@dataclass
class AudioJob(Job):
    """Audio: a run of samples, channels mixed or kept."""

    plan: AudioPlan

    pool: ClassVar[str] = "audio"

    @cached_property
    def spec(self) -> SlotSpec:
        channels = self.field.channels or self.stream.info.shape[0]
        values = ArraySpec((channels, self.plan.count), np.dtype(np.float32))
        return SlotSpec(values, self.plan.count, 1, axes=(1,))

    def _values(self, slot: Slot, decoders: DecoderPool) -> None:
        stored, wanted = self.stream.info.shape[0], slot.values.shape[0]
        if wanted not in (1, stored) and stored != 1:
            raise FieldError(
                f"{self.stream.name!r} has {stored} channels, not {wanted}: "
                "ask for channels=1 (their mean) or leave channels out"
            )
        direct = wanted == stored
        out = slot.values if direct else np.empty((stored, self.plan.count), np.float32)
        with decoders.lease(self.opened, self.stream.name, False) as decoder:
            slot.mask[...] &= decoder.read(self.plan.first, self.plan.rate, out)
        if not direct:
            slot.values[...] = out.mean(axis=0, dtype=np.float32) if wanted == 1 else out
        if not slot.mask.all():
            slot.values[:, ~slot.mask] = 0
