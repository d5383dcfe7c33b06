"""Checks of what a media file's header claims against the packets that it holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from genlock._ffmpeg import Media
from genlock._nanoseconds import SECOND_NS
from genlock.doctor.finding import Finding
from genlock.location import Location
from genlock.opened import Opened

LIP_SYNC_NS = 45_000_000
"""How early sound may be before people notice it beside its picture (ITU-R BT.1359)."""


def duration(opened: Opened) -> Iterator[Finding]:
    """A file whose header promises more than its packets hold: cut off, or badly joined."""
    for uri, names in _media_files(opened).items():
        with closing(Media(Location(uri))) as media:
            claimed_s = _claimed_s(media)
        spans = [opened.streams[name].timeline for name in names]
        spans = [timeline for timeline in spans if len(timeline)]
        if claimed_s is None or not spans:
            continue
        held_ns = max(t.end_ns for t in spans) - min(t.start_ns for t in spans)
        held_s = held_ns / SECOND_NS
        if claimed_s - held_s > max(0.1, 0.02 * claimed_s):
            text = f"{uri} claims {claimed_s:.3f} s, its packets end after {held_s:.3f} s"
            advice = "it was probably cut off: copy it again; what is there can be read"
            yield Finding("cut-off", "error", text, advice, names[0])


def _claimed_s(media: Media) -> float | None:
    """How long the header says that picture and sound last; telemetry may be longer."""
    tracks = [*media.tracks("video"), *media.tracks("audio")]
    stated = [float(t.duration * t.time_base) for t in tracks if t.duration and t.time_base]
    if stated:
        return max(stated)
    whole = media.container.duration
    return None if whole is None or len(tracks) < len(media.container.streams) else whole / 1e6


def offset(opened: Opened) -> Iterator[Finding]:
    """Picture and sound of one file that do not begin and end together."""
    for names in _media_files(opened).values():
        kinds = {opened.streams[name].info.modality: name for name in reversed(names)}
        if {"video", "audio"} - kinds.keys():
            continue
        video, audio = (opened.streams[kinds[kind]].timeline for kind in ("video", "audio"))
        if not len(video) or not len(audio):
            continue
        ahead = video.start_ns - audio.start_ns
        if abs(ahead) > LIP_SYNC_NS:
            text = f"the container places the first picture {ahead / 1e6:+.0f} ms after the sound"
            advice = "Genlock keeps that offset; readers that count frames from zero lose it"
            yield Finding("av-offset", "warning", text, advice, kinds["video"], video.start_ns)
        behind = video.end_ns - audio.end_ns
        alike = max(LIP_SYNC_NS, video.period_ns) + 0.01 * (audio.end_ns - audio.start_ns)
        if min(abs(behind), abs(behind - ahead)) > alike:  # and not as far apart all along
            text = f"the pictures end {behind / 1e6:+.0f} ms after the sound"
            advice = "one of them was cut, lost data or ran on a clock of its own: compare the ends"
            yield Finding("av-drift", "warning", text, advice, kinds["audio"], audio.end_ns)


def _media_files(opened: Opened) -> dict[str, list[str]]:
    """Streams by the media file that holds their packets."""
    files: dict[str, list[str]] = {}
    for name, stream in opened.streams.items():
        if stream.problem is None and stream.info.encoding in ("packets", "samples"):
            with closing(opened.source.units(name)) as units:
                spec = units.spec
            if spec.context is not None and "uri" in spec.options:
                files.setdefault(spec.options["uri"], []).append(name)
    return files
