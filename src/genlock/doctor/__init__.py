"""Is this recording sound? Checks that say what is wrong with one, and what to do.

| module         | looks at                                                                        |
|----------------|---------------------------------------------------------------------------------|
| `finding.py`   | what a check says                                                               |
| `times.py`     | one stream's times: lost rows, gaps, jitter, doubled or impossible stamps       |
| `spans.py`     | the streams beside each other: when each begins and ends, unrelated clocks      |
| `rates.py`     | stamps against rates, and drift between streams that run side by side           |
| `mending.py`   | the tables of a recording.toml that put a clock right                           |
| `values.py`    | tables: units of accelerometers and gyroscopes, norms of quaternions, positions |
| `motion.py`    | poses against the gyroscope: offset, drift and scale                            |
| `container.py` | what a media file claims against what it holds                                  |
| `pictures.py`  | decoding: unreadable frames and sound, the scale of depth                       |

    for finding in genlock.doctor.check(recording):
        print(finding)

A check is a function from what it looks at to findings; nothing is changed, and the same input
gives the same findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from genlock.doctor import container, motion, pictures, rates, spans, times, values
from genlock.doctor.finding import SEVERITIES, Decode, Finding, Severity
from genlock.errors import GenlockError
from genlock.opened import Opened
from genlock.recording import Recording
from genlock.recording import open as open_recording
from genlock.stream import Stream

__all__ = ["SEVERITIES", "Decode", "Finding", "Severity", "check", "check_path"]

TIME_CHECKS: tuple[Callable[[Stream], Iterator[Finding]], ...] = (
    times.problem,
    times.missing,
    times.dropped_stamps,
    times.reordered,
    times.duplicates,
    times.lost_rows,
    times.gaps,
    times.holes,
    times.jitter,
)
RECORDING_CHECKS: tuple[Callable[[Opened], Iterator[Finding]], ...] = (
    spans.clocks,
    spans.coverage,
    rates.paces,
    values.accelerometer,
    values.gyroscope,
    values.quaternions,
    values.positions,
    values.empty_columns,
    values.invalid_rows,
    motion.pose_against_gyroscope,
    container.duration,
    container.offset,
)
DECODE_CHECKS: tuple[Callable[[Opened, Decode], Iterator[Finding]], ...] = (
    pictures.unreadable_frames,
    pictures.unreadable_sound,
    pictures.depth_scale,
)


def check(recording: Recording, decode: Decode = "sample") -> list[Finding]:
    """Everything that looks wrong with a recording, the gravest first.

    decode: "sample" decodes a few frames of each stream, "all" every one, "none" none. What keeps
    a check from looking (a damaged table, say) is a finding itself. Raises ClosedError.
    """
    opened = recording.opened
    found: list[Finding] = []
    for stream in opened.streams.values():
        for check_times in TIME_CHECKS:
            found += check_times(stream)
    for check_recording in RECORDING_CHECKS:
        found += _guarded(check_recording, opened)
    if decode != "none":
        for check_decoding in DECODE_CHECKS:
            found += _guarded(check_decoding, opened, decode)
    placed = {finding.at(opened.uri): None for finding in found}  # each once
    return sorted(placed, key=lambda finding: SEVERITIES.index(finding.severity))


def check_path(target: Any, decode: Decode = "sample") -> list[Finding]:
    """The same for a path or URL; that it cannot be opened is a finding."""
    try:
        with closing(open_recording(target)) as recording:
            return check(recording, decode)
    except GenlockError as error:
        return [Finding.of(error, "open").at(str(target))]


def _guarded(check: Callable[..., Iterator[Finding]], *arguments: Any) -> Iterator[Finding]:
    try:
        yield from check(*arguments)
    except GenlockError as error:
        yield Finding.of(error, "read")
