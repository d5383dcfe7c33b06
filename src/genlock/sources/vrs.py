"""VRS recordings: Project Aria's glasses, generation 1 and 2, and any other VRS file.

A recording split into chunks (`x.vrs`, `x.vrs_1`, …) is opened by its first file. Results of
Aria's Machine Perception Services and the ground truth of Aria Digital Twin that lie beside a
recording become streams of it. docs/formats/vrs.md says which streams, clocks and units come out.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing

from genlock._vrs.chunks import Chunks
from genlock._vrs.file import VrsFile
from genlock._vrs.index import MAGIC
from genlock._vrs.stream import VrsStream
from genlock.errors import LayoutError
from genlock.interfaces import OpenChild, OpenOptions
from genlock.location import Location
from genlock.sources._adt import INSTANCE_STREAM, Instances
from genlock.sources._aria import Aria, calibration_of, clock_maps, generation
from genlock.sources._aria_folder import AriaFolder
from genlock.sources._mps import doubtful_tracks, result_tracks
from genlock.sources._vrs_pictures import picture_track
from genlock.sources._vrs_profile import Plain, Profile
from genlock.sources._vrs_sound import sound_track
from genlock.sources._vrs_table import table_tracks
from genlock.sources._vrs_track import Track, TrackSource

Tracks = dict[str, Track]


def claims(location: Location, head: bytes) -> bool:
    """Whether this is a VRS file: by its first bytes, then by its suffix."""
    return head.startswith(MAGIC) or location.suffix == ".vrs"


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> TrackSource:
    """Open a recording. Raises OpenError naming the file, for a missing chunk too."""
    if options.unit is not None:
        message = f"{location.uri}: a VRS file states the unit of its times: leave unit= out"
        raise LayoutError(message, recording=location.uri)
    file = VrsFile(location)
    with closing(file.open()) as chunks:
        streams = [VrsStream(file, chunks, id) for id in sorted(file.streams)]
        if (made_by := generation(file)) is None:
            plain = Plain()
            return TrackSource(location, plain.clock, read_tracks(streams, chunks, plain), {})
        beside = AriaFolder.beside(location)
        instances = None if beside.instances is None else Instances(beside.instances)
        aria = Aria(made_by, calibration_of(file, streams), instances)
        clocks = clock_maps([s for s in streams if aria.is_clock(s)], chunks)
        tracks = read_tracks([s for s in streams if not aria.is_clock(s)], chunks, aria)
    tracks |= _ground_truth(beside, aria, instances)
    tracks |= doubtful_tracks(beside.doubtful, location) | result_tracks(beside.results)
    return TrackSource(location, aria.clock, tracks, clocks)


def _ground_truth(beside: AriaFolder, aria: Aria, instances: Instances | None) -> Tracks:
    """Streams of the VRS files that belong to a recording, and what its segmentations mean."""
    tracks: Tracks = {}
    for companion in beside.companions:
        file = VrsFile(companion)
        with closing(file.open()) as chunks:
            streams = [VrsStream(file, chunks, id) for id in sorted(file.streams)]
            tracks |= read_tracks(streams, chunks, aria)
    timelines = [track.stream.timeline for track in tracks.values() if len(track.stream.timeline)]
    if instances is not None and timelines:
        start_ns = min(timeline.start_ns for timeline in timelines)
        end_ns = max(timeline.end_ns for timeline in timelines)
        tracks[INSTANCE_STREAM] = instances.track(start_ns, end_ns, aria.clock)
    return tracks


def read_tracks(streams: list[VrsStream], chunks: Chunks, profile: Profile) -> Tracks:
    """All streams by name; those that share a name get their instance's number too."""
    named = [(profile.name(stream), stream) for stream in streams]
    shared = Counter(name for name, _ in named)
    tracks: Tracks = {}
    for name, stream in named:
        unique = name if shared[name] == 1 else f"{name}-{stream.id.instance}"
        unique = unique if unique not in tracks else f"{name}-{stream.id}"
        for track in _tracks(stream, chunks, unique, profile):
            tracks[track.stream.name] = track
    return tracks


def _tracks(stream: VrsStream, chunks: Chunks, name: str, profile: Profile) -> list[Track]:
    if stream.content.image:
        return [picture_track(stream, chunks, name, profile)]
    if stream.content.audio:
        return [sound_track(stream, chunks, name, profile)]
    return table_tracks(stream, chunks, name, profile)
