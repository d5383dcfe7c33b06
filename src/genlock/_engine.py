"""`Engine`: what lives as long as a loader: open recordings, decoders, worker threads, memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence

from genlock._decoder_pool import DecoderPool
from genlock._field_order import check_fields
from genlock._memory import Block, Ring
from genlock._meter import Meter
from genlock._pool import SharedPool
from genlock._recent import Budget
from genlock._row_cache import RowCache
from genlock._sample_cache import SampleCache
from genlock._threads import ChannelClosed, Task, TaskPool
from genlock._trace import SpanLog
from genlock._work import Progress, StageCounts, Work
from genlock.fields import Audio, PictureField
from genlock.jobs import Planned
from genlock.opened import Opened
from genlock.slots import Slot, SlotSpec
from genlock.spans import recording_opener

RECORDINGS_KEPT_OPEN = 64
MOST_DECODERS = 64
SOUND_SHARE = 4
"""One part in so many of `cache_bytes` is for decoded sound, where there is any."""


class Engine:
    """What lives as long as a loader: open recordings, decoders, worker threads, memory.

    work: what the loader asks for. allocate: where memory for batches comes from. templates: shapes
    of the fields, once known. Thread-safe.
    """

    def __init__(self, work: Work, allocate: Callable[[int], Block], spans: SpanLog) -> None:
        self.spans = spans
        self.work = work
        self.order = check_fields(work.fields)
        self.recordings: SharedPool[Opened] = SharedPool(
            RECORDINGS_KEPT_OPEN, recording_opener(work.windows)
        )
        self.decoders = _make_decoders(work)
        self.ring = Ring(work.prefetch + 2, allocate)
        self.cache = SampleCache(work.cache_bytes if work.keeps_samples else 0)
        self.planning = Meter("plan", self.spans)
        self.templates: dict[str, SlotSpec | None] = {}
        self._pools: dict[str, TaskPool] = {}
        self._lock = threading.Lock()
        self.closed = False

    def submit(self, pool: str, task: Task, walk: Hashable = None) -> None:
        """Run a task on the threads of a pool, which start when first needed; walk: `TaskQueue`."""
        with self._lock:
            if self.closed:
                raise ChannelClosed
            if pool not in self._pools:
                self._pools[pool] = TaskPool(pool, self.work.threads[pool], self.spans)
        self._pools[pool].submit(task, walk)

    def count(self, jobs: Sequence[Planned], slots: Sequence[Slot]) -> None:
        """Note what jobs of one pool delivered in its statistics."""
        entries = sum(len(slot.times) for slot in slots)
        nbytes = sum(getattr(slot.values, "nbytes", 0) for slot in slots)
        self._pools[jobs[0].pool].meter.count(entries, nbytes)

    def progress(self, queue: float) -> Progress:
        """What has been done so far; queue: see `Progress`."""

        def counts(name: str, threads: int, meter: Meter) -> StageCounts:
            return StageCounts(name, threads, meter.items, meter.busy_s, meter.cpu_s)

        pools = [counts(name, p.threads, p.meter) for name, p in dict(self._pools).items()]
        return Progress(
            stages=(counts("plan", 1, self.planning), *pools),
            queue=queue,
            buffers=self.ring.allocated,
            samples_cached=self.cache.hits,
            samples_decoded=self.cache.misses,
            frames=self.decoders.rows.needed,
            frames_cached=self.decoders.rows.found,
            cache_bytes=self.cache.bytes + self.decoders.rows.nbytes + self.decoders.sounds.bytes,
            packets=self.decoders.packets,
        )

    def make_room(self) -> None:
        """Finished samples come first in `cache_bytes`; frames and sound get the rest."""
        rest = max(0, self.work.cache_bytes - self.cache.bytes)
        sounds, rows = self.decoders.sounds, self.decoders.rows
        sounds.limit = min(sounds.limit, rest // SOUND_SHARE)
        rows.limit = min(rows.limit, rest - sounds.limit)

    def stop(self) -> Sequence[threading.Thread]:
        """Take no more tasks and drop those that wait; returns the threads, to be joined."""
        with self._lock:
            self.closed = True
            pools = list(self._pools.values())
        return [thread for pool in pools for thread in pool.stop()]

    def release(self) -> None:
        """Close what is open and let go of what is kept."""
        self.decoders.close()
        self.recordings.close()
        self.cache.clear()


def _make_decoders(work: Work) -> DecoderPool:
    """The pool of decoders: one for each lane and stream of this rank, unless stated."""
    lanes = (work.windows.lanes or 0) // work.windows.world_size
    fields = work.fields.values()
    streams = {field.stream for field in fields if isinstance(field, PictureField | Audio)}
    busy = max(work.threads["video"], work.threads["image"], work.threads["audio"])
    wanted = max(8 * busy, (lanes + busy) * len(streams))
    heard = any(isinstance(field, Audio) for field in fields)
    sounds = Budget(work.cache_bytes // SOUND_SHARE if heard else 0)
    rows = RowCache(work.cache_bytes - sounds.limit if work.windows.overlapping else 0)
    return DecoderPool(work.decoders or min(wanted, MOST_DECODERS), rows, sounds, lanes > 0)
