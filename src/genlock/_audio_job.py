"""`AudioJob`: the sound of one window."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from genlock._decoder_pool import DecoderPool
from genlock.align import AudioPlan
from genlock.errors import FieldError
from genlock.interfaces import SampleDecoder
from genlock.jobs import Job
from genlock.slots import Slot, SlotSpec, sound_spec


@dataclass
class AudioJob(Job):
    """Audio: a run of samples, channels mixed or kept."""

    plan: AudioPlan

    pool: ClassVar[str] = "audio"

    @cached_property
    def spec(self) -> SlotSpec:
        return sound_spec(self.field.channels or self.stream.info.shape[0], self.plan.count)

    @property
    def kin(self) -> Hashable:
        return id(self.opened), id(self.field)

    def fill_all(
        self, jobs: Sequence[AudioJob], slots: Sequence[Slot], decoders: DecoderPool
    ) -> None:
        """One after another, from one decoder."""
        with decoders.lease(self.opened, self.stream.name, False) as decoder:
            for job, slot in zip(jobs, slots, strict=True):
                job.aligned(slot)
                job._read(slot, decoder)

    def _values(self, slot: Slot, decoders: DecoderPool) -> None:
        with decoders.lease(self.opened, self.stream.name, False) as decoder:
            self._read(slot, decoder)

    def _read(self, slot: Slot, decoder: SampleDecoder) -> None:
        stored, wanted = self.stream.info.shape[0], slot.values.shape[0]
        if wanted not in (1, stored) and stored != 1:
            raise FieldError(
                f"{self.stream.name!r} has {stored} channels, not {wanted}: "
                "ask for channels=1 (their mean) or leave channels out"
            )
        direct = wanted == stored
        out = slot.values if direct else np.empty((stored, self.plan.count), np.float32)
        heard = decoder.read(self.plan.first, self.plan.rate, out)
        slot.mask[...] &= heard
        if not direct:
            slot.values[...] = out.mean(axis=0, dtype=np.float32) if wanted == 1 else out
        if not slot.mask.all():
            slot.values[:, ~slot.mask] = 0
