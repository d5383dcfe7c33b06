"""From a window to jobs: plan every field, so that workers can fill arrays from decoders.

`plan_window` is cheap and decodes nothing: it gives one `Job` per field, which runs on the pool of
its modality.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

from genlock._audio_job import AudioJob
from genlock._cloud_job import CloudJob
from genlock._field import Field, GridField
from genlock._frame_job import FrameJob
from genlock._label_job import LabelJob
from genlock._table_job import PoseJob, TableJob, field_table
from genlock.align import (
    FOREVER_NS,
    Plan,
    plan_at,
    plan_audio,
    plan_field,
)
from genlock.errors import WindowError, error_context
from genlock.fields import Audio, Depth, Fields, Labels, Points, Pose, Sensor, Video
from genlock.jobs import Job
from genlock.opened import Opened
from genlock.stream import Stream
from genlock.timeline import SampledTimeline
from genlock.windows import Window


def snap_window(opened: Opened, fields: Fields, window: Window) -> Window:
    """The window moved to the key frame at or before its start, of the first video field."""
    for field in fields.values():
        if isinstance(field, Video):
            stream = opened.stream(field).name
            return window._replace(start_ns=opened.key_frame_before(stream, window.start_ns))
    return window


def plan_window(opened: Opened, fields: Fields, order: list[str], window: Window) -> dict[str, Job]:
    """Plan every field of one window; `order` as `check_fields` gives it.

    Raises StreamError, ClockError, FieldError, WindowError, TimeUnitError, naming the recording.
    """
    if not -FOREVER_NS <= window.start_ns <= window.start_ns + window.duration_ns <= FOREVER_NS:
        raise WindowError(
            f"{window} lies beyond 2**62 ns (146 years from 0): start_ns is in ns, duration in s",
            recording=opened.uri,
        )
    streams = {name: opened.stream(fields[name]) for name in order}
    opened.require_common_clock(stream.name for stream in streams.values())
    jobs: dict[str, Job] = {}
    for name, stream in streams.items():
        field = fields[name]
        with error_context(opened.uri, stream.name, window.start_ns):
            at = jobs[field.at].plan if isinstance(field, GridField) and field.at else None
            jobs[name] = _plan(opened, stream, field, window, at)
            if isinstance(field, Pose) and field.reference is not None:
                other = fields[field.reference]
                _relate(cast(PoseJob, jobs[name]), opened.stream(other), cast(Pose, other))
    return {name: jobs[name] for name in fields}


def _plan(opened: Opened, stream: Stream, field: Field, window: Window, at: Plan | None) -> Job:
    start_ns, duration_ns = window.start_ns, window.duration_ns
    if isinstance(field, Labels):
        return LabelJob(opened, stream, field, (start_ns, start_ns + duration_ns))
    if isinstance(field, Audio):
        assert isinstance(stream.timeline, SampledTimeline)
        audio = plan_audio(field, stream.timeline, start_ns, duration_ns)
        return AudioJob(opened, stream, field, audio)
    assert isinstance(field, GridField)
    valid = stream.timeline.valid
    if isinstance(field, Sensor | Pose):
        valid = field_table(opened, field)[1]
    plan = plan_field(field, stream.timeline, start_ns, duration_ns, at, valid)
    return _JOBS[type(field)](opened, stream, field, plan)


_JOBS: Mapping[type[Field], Callable[..., Job]] = MappingProxyType(
    {Video: FrameJob, Depth: FrameJob, Sensor: TableJob, Pose: PoseJob, Points: CloudJob}
)


def _relate(job: PoseJob, stream: Stream, field: Pose) -> None:
    """Plan the poses that a job's are relative to, at the job's own grid times."""
    whole = field_table(job.opened, field)[1]
    at_grid = plan_at(field, job.plan.grid_ns, stream.timeline, whole)
    job.reference = PoseJob(job.opened, stream, field, at_grid)
    job.plan = job.plan.masked(at_grid.mask)
