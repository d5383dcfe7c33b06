"""A media file read once, or several that are one recording: its tracks and its telemetry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np
from av.packet import Packet

from genlock._ffmpeg import Media
from genlock._nanoseconds import SECOND_NS, ticks_to_ns
from genlock._pictures.header import pixel_limit
from genlock.errors import OpenError, error_context
from genlock.interfaces import OpenOptions, UnitTable
from genlock.location import Location
from genlock.sources._arrays import ArrayTable
from genlock.sources._audio_packets import AudioPackets
from genlock.sources._chapters import joined_notes
from genlock.sources._packet_log import PacketLog
from genlock.sources._telemetry import Telemetry, is_payload
from genlock.sources._video_packets import VideoPackets
from genlock.sources._views import SECOND_VIEW, has_second_view
from genlock.stream import Stream


class TrackPackets(Protocol):
    """Collects one track's packets while the container is demuxed once, then describes it.

    lay: places the file that was read last, this much later than it says itself.
    """

    log: PacketLog

    def add(self, packet: Packet[Any]) -> None: ...

    def lay(self, seconds: Fraction) -> None: ...

    def finish(self, name: str, reopen: Callable[[], Media]) -> tuple[Stream, UnitTable]: ...


TRACKS: Mapping[str, Callable[[Any, OpenOptions], TrackPackets]] = MappingProxyType(
    {"video": VideoPackets, "audio": AudioPackets}
)
"""Who reads the packets of which kind of track."""


class Track(NamedTuple):
    """One track of a container: what it is, its place among all tracks, its packets.

    known: what the container says of it when it is opened with probing, see `Media`. joints: where
    each file goes on with it. view: which of the views that the track codes.
    """

    stream: Stream
    number: int
    table: UnitTable
    known: Mapping[str, Any]
    joints: Sequence[tuple[int, int]]
    view: int = 0


Tracks = Mapping[str, Track]
Sensors = Mapping[str, ArrayTable]


def scan(files: Sequence[Location], options: OpenOptions) -> tuple[Tracks, Sensors]:
    """Read files that go on where the one before ends; each is demuxed once.

    Raises OpenError for a file without tracks, one in which nothing plays, and one whose tracks
    are coded in another way than those of the first. DecodeError for a damaged container.
    """
    with closing(Media(files[0])) as first:
        found = _Scan(first, options)
        found.read(first)
        for file in files[1:]:
            with closing(Media(file)) as media, error_context(file.uri):
                found.go_on(media)
        return found.described(files)


class _Scan:
    """What was found so far.

    starts: when each file starts on the clock of the first, in seconds: where the pictures of the
    one before end.
    """

    def __init__(self, media: Media, options: OpenOptions) -> None:
        self._media = media
        self._options = options
        self._tracks = {
            f"{kind}{number or ''}": track
            for kind in TRACKS
            for number, track in enumerate(media.tracks(kind))
        }
        if not self._tracks:
            found = ", ".join(sorted({s.type for s in media.container.streams})) or "nothing"
            raise OpenError(f"{media.location.uri} holds no video or audio track (found: {found})")
        self._known = {t.index: media.known(t.index) for t in self._tracks.values()}
        self._logs = {t.index: TRACKS[t.type](t, options) for t in self._tracks.values()}
        self._telemetry = Telemetry()
        self._starts: list[Fraction] = []
        self._end = Fraction(0)

    def go_on(self, media: Media) -> None:
        """Read a file that goes on with the recording."""
        for number, known in self._known.items():
            if media.known(number) != known or self._base(media, number) != self._base(
                self._media, number
            ):
                raise OpenError(
                    f"{media.location.uri} is coded in another way than {self._media.location.name}"
                    f" (track {number}): they cannot be one recording, open each by itself, as"
                    f" {media.location.name}#chapter=NUMBER"
                )
            self._logs[number].log.begin()
        self.read(media)

    def _base(self, media: Media, number: int) -> Any:
        return media.container.streams[number].time_base

    def read(self, media: Media) -> None:
        """Take all packets of a file, and place them."""
        streams = media.container.streams
        data = [stream for stream in streams if stream.type == "data"]
        payloads: list[Packet[Any]] = []
        for packet in media.packets([*(streams[number] for number in self._logs), *data]):
            if packet.stream_index in self._logs:
                self._logs[packet.stream_index].add(packet)
            elif is_payload(packet):
                payloads.append(packet)
        seconds = self._place()
        for log in self._logs.values():
            log.lay(seconds)
        for packet in payloads:
            _add_payload(self._telemetry, packet, seconds)

    def _place(self) -> Fraction:
        """How much later the last file is than it says itself."""
        leader = next(iter(self._logs.values())).log
        start, end = (ticks * leader.time_base for ticks in leader.shown())
        seconds = self._end - start if self._starts else Fraction(0)
        self._starts.append(start + seconds)
        self._end = end + seconds
        return seconds

    def described(self, files: Sequence[Location]) -> tuple[Tracks, Sensors]:
        """The tracks and sensors by name."""
        read = any(len(packets.log) for packets in self._logs.values())
        if not read and not any(map(_is_described, self._tracks.values())):
            raise OpenError(f"nothing in {self._media.location.uri} plays: was it cut off?")
        notes = joined_notes(files, self._starts)
        found: dict[str, Track] = {}
        for name, track in self._tracks.items():
            log, number = self._logs[track.index], track.index
            stream, table = log.finish(name, partial(Media, files[0]))
            stream = _noting(stream, notes)
            joints = [(joint.unit, joint.shift) for joint in log.log.joints]
            found[name] = Track(stream, number, table, self._known[number], joints)
            if self._has_second_view(log):
                second = replace(stream, name=f"{name}-view{SECOND_VIEW}")
                found[second.name] = found[name]._replace(stream=second, view=SECOND_VIEW)
        sensors = self._telemetry.tables()
        return found, {n: t._replace(stream=_noting(t.stream, notes)) for n, t in sensors.items()}

    def _has_second_view(self, packets: TrackPackets) -> bool:
        if not isinstance(packets, VideoPackets) or not packets.states_views:
            return False
        with closing(Media(self._media.location)) as again:
            return has_second_view(again, packets.index, pixel_limit(self._options.max_pixels))


def _is_described(track: Any) -> bool:
    """Whether a container says what a track holds, also where it holds nothing.

    Where FFmpeg finds nothing in a file, it believes its suffix.
    """
    context = track.codec_context
    return bool(context.sample_rate if track.type == "audio" else context.width)


def _noting(stream: Stream, notes: tuple[str, ...]) -> Stream:
    info = stream.info
    return replace(stream, info=info.with_report(info.report.noting(*notes))) if notes else stream


def _add_payload(telemetry: Telemetry, packet: Packet[Any], seconds: Fraction) -> None:
    base = packet.time_base
    if packet.pts is None or base is None:
        return
    start, stop = packet.pts, packet.pts + (packet.duration or 0)
    ns = ticks_to_ns(np.array([start, stop]), SECOND_NS * Fraction(*base.as_integer_ratio()))
    later_ns = round(seconds * SECOND_NS)
    telemetry.add(bytes(packet), int(ns[0]) + later_ns, int(ns[1]) + later_ns)
