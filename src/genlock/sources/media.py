"""Media files: any container that FFmpeg reads, with its video and audio tracks.

Tracks are named `video`, `video1`, … and `audio`, `audio1`, … in the container's order; the sensors
of GoPro telemetry by their keys (`ACCL`, `GYRO`, `GPS5`, …). Cover pictures, subtitles and other
data tracks are no streams. Times are the container's own: a file that starts at 8.33 s starts at
8.33 s. Files that a GoPro camera cut one recording into are one recording (`_chapters`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from genlock._containers import is_container
from genlock.clock import ClockMap
from genlock.errors import DecodeError, OpenError, StreamError, error_context
from genlock.interfaces import OpenChild, OpenOptions, Units
from genlock.location import Location
from genlock.sources._arrays import ArraySource, ArrayTable
from genlock.sources._chapters import ChapterUnits, files_of, table_of
from genlock.sources._media_scan import Track, scan
from genlock.sources._packet_log import Joint
from genlock.sources._packets import PacketUnits
from genlock.stream import Stream

CLOCK = "media"

SUFFIX = re.compile(
    r"\.(3gp|aac|ac3|aiff?|amr|asf|au|avi|caf|dts|eac3|flac|flv|gif|h26[45]|hevc|ivf|m2ts|m2v"
    r"|m4[av]|mjpe?g|mk[av]|mov|mp[34]|mpe?g|mts|mxf|nut|obu|og[agv]|opus|tta|ts|vob|w64|wav|webm"
    r"|wm[av]|wv|y4m)"
)


def claims(location: Location, head: bytes) -> bool:
    """Whether this looks like a media file: by its first bytes, then by its suffix."""
    if is_container(head):
        return True
    return SUFFIX.fullmatch(location.suffix) is not None and not location.is_folder()


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> MediaSource:
    """Open a container and list its tracks. Raises OpenError naming the location."""
    files = files_of(location)
    try:
        with error_context(location.uri):
            return MediaSource(location, options, files, *scan(files, options))
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
    files = [location.parent.child(name, listed=True) for name in state["files"]]
    return MediaSource(location, options, files or [location], tracks, sensors)


class MediaSource:
    """An open media file. Thread-safe: each cursor has a container of its own."""

    clock = CLOCK
    clocks: Mapping[str, ClockMap] = MappingProxyType({})

    def __init__(
        self,
        location: Location,
        options: OpenOptions,
        files: Sequence[Location],
        tracks: Mapping[str, Track],
        sensors: Mapping[str, ArrayTable],
    ) -> None:
        self.location = location
        self._options = options
        self._files = files
        self._tracks = tracks
        self._tables = sensors
        self._sensors = ArraySource(location, CLOCK, sensors)
        described = {name: track.stream for name, track in tracks.items()}
        self.streams = MappingProxyType({**described, **self._sensors.streams})

    def state(self) -> Mapping[str, Any]:
        """What `restore` needs besides the streams: of tracks their packets, of sensors all."""
        lone = self._files == [self.location]
        return {
            "files": [] if lone else [file.name for file in self._files],
            "tracks": {name: tuple(track)[1:] for name, track in self._tracks.items()},
            "sensors": {name: table.columns for name, table in self._tables.items()},
        }

    def units(self, stream: str) -> Units:
        if stream in self._sensors.streams:
            return self._sensors.units(stream)
        if stream not in self._tracks:
            raise StreamError(f"{self.location.uri} has no stream {stream!r}", stream=stream)
        track = self._tracks[stream]
        joints = [Joint(*joint) for joint in track.joints]
        if len(joints) > 1:
            return ChapterUnits(track.table, joints, partial(self._packets, track, joints))
        return self._packets(track, joints, 0)

    def _packets(self, track: Track, joints: Sequence[Joint], number: int) -> PacketUnits:
        """A cursor over a track's packets in one file."""
        table = track.table if len(joints) == 1 else table_of(track.table, joints, number)
        return PacketUnits(
            self._files[number],
            track.number,
            table,
            track.stream.info.encoding,
            {
                "uri": self.location.uri,
                "max_pixels": self._options.max_pixels,
                "view": track.view,
            },
            track.known,
        )

    def close(self) -> None:
        """Nothing is held open."""
