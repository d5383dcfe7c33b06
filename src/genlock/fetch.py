"""From a window to jobs: plan every field, so that workers can fill arrays from decoders.

Planning is cheap and decodes nothing: it gives one `Job` per field and window, which runs on the
pool of its modality.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    plan_fields,
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
    return plan_windows(opened, fields, order, [window])[0]


def plan_windows(
    opened: Opened, fields: Fields, order: list[str], windows: Sequence[Window]
) -> list[dict[str, Job]]:
    """Plan every field of several windows of a recording together: each as `plan_window` does.

    Raises what it does for one of them; then the place it names may be another's.
    """
    for window in windows:
        if not -FOREVER_NS <= window.start_ns <= window.start_ns + window.duration_ns <= FOREVER_NS:
            raise WindowError(
                f"{window} lies beyond 2**62 ns (146 years from 0): start_ns is in ns, duration "
                "in s",
                recording=opened.uri,
            )
    streams = {name: opened.stream(fields[name]) for name in order}
    opened.require_common_clock(stream.name for stream in streams.values())
    jobs: dict[str, Sequence[Job]] = {}
    for name, stream in streams.items():
        field = fields[name]
        with error_context(opened.uri, stream.name, windows[0].start_ns):
            given = jobs[field.at] if isinstance(field, GridField) and field.at else None
            at = [job.plan for job in given] if given else [None] * len(windows)
            jobs[name] = _plan(opened, stream, field, windows, at)
            if isinstance(field, Pose) and field.reference is not None:
                other = fields[field.reference]
                for job in jobs[name]:
                    _relate(cast(PoseJob, job), opened.stream(other), cast(Pose, other))
    return [{name: jobs[name][i] for name in fields} for i in range(len(windows))]


def _plan(
    opened: Opened,
    stream: Stream,
    field: Field,
    windows: Sequence[Window],
    at: Sequence[Plan | None],
) -> Sequence[Job]:
    spans = [(window.start_ns, window.duration_ns) for window in windows]
    if isinstance(field, Labels):
        return [LabelJob(opened, stream, field, (start, start + length)) for start, length in spans]
    timeline = stream.timeline
    if isinstance(field, Audio):
        assert isinstance(timeline, SampledTimeline)
        return [AudioJob(opened, stream, field, plan_audio(field, timeline, *s)) for s in spans]
    assert isinstance(field, GridField)
    if isinstance(field, Sensor | Pose):
        timeline = field_table(opened, field).timeline
    kind = _JOBS[type(field)]
    return [kind(opened, stream, field, p) for p in plan_fields(field, timeline, spans, at)]


_JOBS: Mapping[type[Field], Callable[..., Job]] = MappingProxyType(
    {Video: FrameJob, Depth: FrameJob, Sensor: TableJob, Pose: PoseJob, Points: CloudJob}
)


def _relate(job: PoseJob, stream: Stream, field: Pose) -> None:
    """Plan the poses that a job's are relative to, at the job's own grid times."""
    at_grid = plan_at(field, job.plan.grid_ns, field_table(job.opened, field).timeline)
    job.reference = PoseJob(job.opened, stream, field, at_grid)
    job.plan = job.plan.masked(at_grid.mask)
