"""`Walks`: which pictures are decoded by going on where those of another window end."""

from __future__ import annotations

from collections.abc import Hashable

from genlock._frame_job import FrameJob
from genlock.jobs import Planned

PLACES = 64
"""Streams of which it is known where the last window began."""


class Walks:
    """Tells the jobs that one decoder does best in turn, as `TaskQueue` takes it.

    A window of a video that begins after the one before it, with no key frame between them, is
    decoded by way of that one's frames: whoever does so at the same time decodes them as well.
    Used by the planning thread alone.
    """

    def __init__(self) -> None:
        self._last: dict[Hashable, tuple[int, object]] = {}

    def of(self, job: Planned) -> Hashable:
        """The walk that a job belongs to; None if it shares its way with no other."""
        if not isinstance(job, FrameJob) or (begins := job.begins_ns) is None:
            return None
        before, walk = self._last.pop(job.place, (begins + 1, None))
        if not (before <= begins and job.key_frame_before(begins) <= before):
            walk = object()
        self._last[job.place] = begins, walk
        if len(self._last) > PLACES:
            del self._last[next(iter(self._last))]
        return walk
