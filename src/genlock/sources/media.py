"""Media files: any container that FFmpeg reads, with its video and audio tracks.

Tracks are named `video`, `video1`, … and `audio`, `audio1`, … in the container's order; the sensors
of GoPro telemetry by their keys (`ACCL`, `GYRO`, `GPS5`, …). Cover pictures, subtitles and other
data tracks are no streams. Times are the container's own: a file that starts at 8.33 s starts at
8.33 s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from av.packet import Packet

from genlock._containers import is_container
from genlock._ffmpeg import Media
from genlock._nanoseconds import SECOND_NS, ticks_to_ns
from genlock._pictures.header import pixel_limit
from genlock.clock import ClockMap
from genlock.errors import DecodeError, OpenError, StreamError, error_context
from genlock.interfaces import OpenChild, OpenOptions, Units, UnitTable
from genlock.location import Location
from genlock.sources._arrays import ArraySource, ArrayTable
from genlock.sources._audio_packets import AudioPackets
from genlock.sources._packets import PacketUnits
from genlock.sources._telemetry import Telemetry
from genlock.sources._video_packets import VideoPackets
from genlock.sources._views import SECOND_VIEW, has_second_view
from genlock.stream import Stream

CLOCK = "media"

SUFFIX = re.compile(
    r"\.(3gp|aac|ac3|aiff?|amr|asf|au|avi|caf|dts|eac3|flac|flv|gif|h26[45]|hevc|ivf|m2ts|m2v"
    r"|m4[av]|mjpe?g|mk[av]|mov|mp[34]|mpe?g|mts|mxf|nut|obu|og[agv]|opus|tta|ts|vob|w64|wav|webm"
    r"|wm[av]|wv|y4m)"
)


class TrackPackets(Protocol):
    """Collects one track's packets while the container is demuxed once, then describes it."""

    def add(self, packet: Packet[Any]) -> None: ...

    def finish(self, name: str, reopen: Callable[[], Media]) -> tuple[Stream, UnitTable]: ...


TRACKS: Mapping[str, Callable[[Any, OpenOptions], TrackPackets]] = MappingProxyType(
    {"video": VideoPackets, "audio": AudioPackets}
)
"""Who reads the packets of which kind of track."""


def claims(location: Location, head: bytes) -> bool:
    """Whether this looks like a media file: by its first bytes, then by its suffix."""
    if is_container(head):
        return True
    return SUFFIX.fullmatch(location.suffix) is not None and not location.is_folder()


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> MediaSource:
    """Open a container and list its tracks. Raises OpenError naming the location."""
    try:
        with closing(Media(location)) as media, error_context(location.uri):
            return MediaSource(location, options, *_scan(media, options))
    except DecodeError as error:
        raise OpenError(f"cannot read {location.uri}: {error.message}") from error


def restore(
    location: Location,
    options: OpenOptions,
    streams: Mapping[str, Stream],
    state: Mapping[str, Any],
) -> MediaSource:
    """The source that had this state; the file is not opened before its units are wanted."""
    tracks = {name: Track(streams[name], *stored) for name, stored in state["tracks"].items()}
    sensors = {name: ArrayTable(streams[name], held) for name, held in state["sensors"].items()}
    return MediaSource(location, options, tracks, sensors)


class Track(NamedTuple):
    """One track of a container: what it is, its place among all tracks, its packets.

    known: what the container says of it when it is opened with probing, see `Media`. view: which
    of the views that the track codes.
    """

    stream: Stream
    number: int
    table: UnitTable
    known: Mapping[str, Any]
    view: int = 0


def _is_described(track: Any) -> bool:
    """Whether a container says what a track holds, also where it holds nothing.

    Where FFmpeg finds nothing in a file, it believes its suffix.
    """
    context = track.codec_context
    return bool(context.sample_rate if track.type == "audio" else context.width)


class MediaSource:
    """An open media file. Thread-safe: each cursor has a container of its own."""

    clock = CLOCK
    clocks: Mapping[str, ClockMap] = MappingProxyType({})

    def __init__(
        self,
        location: Location,
        options: OpenOptions,
        tracks: Mapping[str, Track],
        sensors: Mapping[str, ArrayTable],
    ) -> None:
        self.location = location
        self._options = options
        self._tracks = tracks
        self._tables = sensors
        self._sensors = ArraySource(location, CLOCK, sensors)
        described = {name: track.stream for name, track in tracks.items()}
        self.streams = MappingProxyType({**described, **self._sensors.streams})

    def state(self) -> Mapping[str, Any]:
        """What `restore` needs besides the streams: of tracks their packets, of sensors all."""
        return {
            "tracks": {name: tuple(track)[1:] for name, track in self._tracks.items()},
            "sensors": {name: table.columns for name, table in self._tables.items()},
        }

    def units(self, stream: str) -> Units:
        if stream in self._sensors.streams:
            return self._sensors.units(stream)
        if stream not in self._tracks:
            raise StreamError(f"{self.location.uri} has no stream {stream!r}", stream=stream)
        track = self._tracks[stream]
        return PacketUnits(
            self.location,
            track.number,
            track.table,
            track.stream.info.encoding,
            {"max_pixels": self._options.max_pixels, "view": track.view},
            track.known,
        )

    def close(self) -> None:
        """Nothing is held open."""


def _scan(media: Media, options: OpenOptions) -> tuple[dict[str, Track], Mapping[str, ArrayTable]]:
    """Read the container once, and describe its tracks and its sensors."""
    tracks = {
        f"{kind}{number or ''}": track
        for kind in TRACKS
        for number, track in enumerate(media.tracks(kind))
    }
    if not tracks:
        found = ", ".join(sorted({s.type for s in media.container.streams})) or "nothing"
        raise OpenError(f"{media.location.uri} holds no video or audio track (found: {found})")
    known = {track.index: media.known(track.index) for track in tracks.values()}
    logs = {track.index: TRACKS[track.type](track, options) for track in tracks.values()}
    telemetry = Telemetry()
    data = [stream for stream in media.container.streams if stream.type == "data"]
    empty = True
    for packet in media.packets([*tracks.values(), *data]):
        if packet.stream_index in logs:
            logs[packet.stream_index].add(packet)
            empty = False
        else:
            _add_payload(telemetry, packet)
    if empty and not any(map(_is_described, tracks.values())):
        raise OpenError(f"nothing in {media.location.uri} plays: was it cut off?")
    described = {}
    for name, track in tracks.items():
        stream, table = logs[track.index].finish(name, partial(Media, media.location))
        described[name] = Track(stream, track.index, table, known[track.index])
        if _has_second_view(media, logs[track.index], options):
            second = replace(stream, name=f"{name}-view{SECOND_VIEW}")
            described[second.name] = described[name]._replace(stream=second, view=SECOND_VIEW)
    return described, telemetry.tables()


def _has_second_view(media: Media, packets: TrackPackets, options: OpenOptions) -> bool:
    if not isinstance(packets, VideoPackets) or not packets.states_views:
        return False
    with closing(Media(media.location)) as again:
        return has_second_view(again, packets.index, pixel_limit(options.max_pixels))


def _add_payload(telemetry: Telemetry, packet: Packet[Any]) -> None:
    base = packet.time_base
    if packet.pts is None or base is None:
        return
    start, stop = packet.pts, packet.pts + (packet.duration or 0)
    ns = ticks_to_ns(np.array([start, stop]), SECOND_NS * Fraction(*base.as_integer_ratio()))
    telemetry.add(bytes(packet), int(ns[0]), int(ns[1]))
