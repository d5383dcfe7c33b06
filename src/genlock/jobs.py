"""`Job`: one field of one window, planned; knows its arrays, and decodes straight into them.

Each kind has a file of its own: `_frame_job.py`, `_audio_job.py`, `_table_job.py`, and so on.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from genlock._decoder_pool import DecoderPool
from genlock.errors import error_context
from genlock.opened import Opened
from genlock.slots import Slot, SlotSpec
from genlock.stream import Stream

NOTHING: Mapping[str, NDArray[np.float32]] = MappingProxyType({})


class Planned(Protocol):
    """One field of one window that is ready to be filled: decoded by a `Job`, or remembered.

    spec: what arrays `fill` needs; None for labels. pool: whose threads fill it. place: its
    recording and stream. constants: what belongs to its values besides them, by kind. kin: a key
    that it shares with jobs that are best filled together with it.
    """

    @property
    def field(self) -> Any: ...

    @property
    def constants(self) -> Mapping[str, NDArray[np.float32]]: ...

    @property
    def spec(self) -> SlotSpec | None: ...

    @property
    def pool(self) -> str: ...

    @property
    def place(self) -> tuple[str, str]: ...

    @property
    def kin(self) -> Hashable: ...

    def fill(self, slot: Slot, decoders: DecoderPool) -> None: ...

    def fill_all(
        self, jobs: Sequence[Any], slots: Sequence[Slot], decoders: DecoderPool
    ) -> None: ...


class Alone:
    """What is filled by itself."""

    @property
    def kin(self) -> Hashable:
        return id(self)

    def fill_all(self, jobs: Sequence[Any], slots: Sequence[Slot], decoders: DecoderPool) -> None:
        """Fill the slots of several jobs of one kin, of which this is one.

        Whatever is raised, each may be filled by itself after it.
        """
        for job, slot in zip(jobs, slots, strict=True):
            job.fill(slot, decoders)


@dataclass
class Job(Alone):
    """One field of one window: planned, to be filled."""

    opened: Opened
    stream: Stream
    field: Any
    plan: Any

    pool: ClassVar[str] = ""

    @property
    def spec(self) -> SlotSpec | None:
        """What arrays `fill` needs; None for labels."""
        raise NotImplementedError

    @property
    def place(self) -> tuple[str, str]:
        return self.opened.uri, self.stream.name

    @property
    def valid_share(self) -> float:
        """Share of the grid that the plan serves, before anything is decoded."""
        return float(self.plan.mask.mean()) if len(self.plan.mask) else 0.0

    @property
    def constants(self) -> Mapping[str, NDArray[np.float32]]:
        """What belongs to the field's values in this window besides them, by kind."""
        return NOTHING

    def fill(self, slot: Slot, decoders: DecoderPool) -> None:
        """Decode into the slot. Errors name recording, stream and time."""
        start_ns = int(self.plan.grid_ns[0]) if len(self.plan.grid_ns) else None
        self.aligned(slot)
        with error_context(self.opened.uri, self.stream.name, start_ns):
            self._values(slot, decoders)

    def aligned(self, slot: Slot) -> None:
        """Write what the plan says without values."""
        slot.times[...] = self.plan.grid_ns
        slot.source_times[...] = self.plan.source_ns
        slot.mask[...] = self.plan.mask

    def _values(self, slot: Slot, decoders: DecoderPool) -> None:
        raise NotImplementedError
