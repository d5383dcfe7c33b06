"""FFmpeg containers through PyAV: opened safely, closed explicitly, their times made integers.

The only file that calls `av.open`. What a container may make FFmpeg do is limited here: it cannot
make it read another file (playlists, concat scripts, image patterns, network protocols).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, BinaryIO, cast

import av
import av.error
import av.format
import numpy as np
from av.codec.context import Flags, ThreadType
from av.container import InputContainer
from av.packet import Packet
from av.stream import Discard, Disposition, Stream
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from genlock.errors import DecodeError, OpenError
from genlock.location import Location

NO_TICKS = int(np.iinfo(np.int64).min)
"""Stands for a time stamp that the container does not state, as AV_NOPTS_VALUE does in FFmpeg."""

READS_OTHER_FILES = re.compile(
    "avisynth|bluray|concatf?|dash|dvdvideo|hls|image2(pipe)?|imf|lavfi|rtp|rtsp|sap|sdp"
    "|vapoursynth|vobsub|webm_dash_manifest"
)
"""Demuxers that open what a file names: playlists, scripts, name patterns, network streams."""
UNPROBED = {"probesize": "32", "analyzeduration": "0"}
UNDECODED = {"max_pixels": "1"}
"""Makes decoders refuse pictures. FFmpeg decodes the first one even unprobed, for up to 30 ms; but
some tracks are known by it alone, and some lose their size."""
TELL_ALL = frozenset({"mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"})
"""Containers whose headers say what a decoder needs; others are probed for it."""
GENERATE_PTS = 0x0001
SILENT_ABOUT_DAMAGE = frozenset({"ffv1", "hevc", "mjpeg", "png"})
"""Decoders that hide damage unless told to fail on it; others flag the frame (h264 fails on what is
harmless if told so).
"""


class Media:
    """An open container with what lies under it. One thread at a time; close it explicitly.

    container: the PyAV container; its packets carry the times that the file states, none made up.
    probed: whether FFmpeg reads and decodes until it knows each track, which takes up to 100 ms.
    decoded: whether it decodes the first pictures where it is not to probe. Raises OpenError,
    naming the location, where FFmpeg finds nothing it can read.
    """

    def __init__(self, location: Location, probed: bool = True, decoded: bool = True) -> None:
        self.location = location
        self._options = {} if probed else UNPROBED
        self._decoding = {} if decoded else UNDECODED
        self._file: BinaryIO | None = None
        try:
            self.container = self._open()
        except (av.error.FFmpegError, OSError, ValueError) as error:
            self._close_file()
            raise OpenError(_why(location, error), recording=location.uri) from error
        # PyAV asks FFmpeg to make up missing pts, which it does wrongly for B-frames
        self.container.flags &= ~GENERATE_PTS

    @classmethod
    def knowing(cls, location: Location, track: int, known: Mapping[str, Any]) -> Media:
        """Open a container of which `known` was found out before, without probing if its header
        says the same of the track.
        """
        for decoded in (False, True) if known["format"] in TELL_ALL else ():
            with suppress(OpenError):
                media = cls(location, probed=False, decoded=decoded)
                if media.known(track) == known:
                    return media
                media.close()
        return cls(location)

    def known(self, track: int) -> dict[str, Any]:
        """What decoding a track depends on, that probing may find out and headers may say."""
        streams = self.container.streams
        context: Any = streams[track].codec_context if track < len(streams) else None
        names = ("name", "extradata", "width", "height", "reorder_depth", "sample_rate", "channels")
        stated = {name: getattr(context, name, None) for name in names}
        return {"format": self.container.format.name, **stated}

    def _open(self) -> InputContainer:
        options = {"format_whitelist": _formats(), "protocol_whitelist": "file", **self._options}
        if self.location.path is not None:
            # "file:" keeps a name such as -x.mp4, a:b.mp4 or 100%03d.mp4 a plain name
            place: str | BinaryIO = f"file:{self.location.path}"
        else:
            place = self._file = self.location.open()
            options["protocol_whitelist"] = "none"
        return av.open(place, "r", options=self._decoding, container_options=options)

    def tracks(self, kind: str) -> list[Stream]:
        """The tracks of one kind ("video" or "audio") that play: no cover pictures, nothing in a
        codec that this FFmpeg does not know.
        """
        return [
            stream
            for stream in self.container.streams
            if stream.type == kind
            and stream.codec_context is not None
            and not stream.disposition & Disposition.attached_pic
        ]

    def packets(self, streams: Iterable[Stream]) -> Iterator[Packet[Stream]]:
        """Packets of these streams from where the container stands, without the flushing ones.

        Raises DecodeError naming the location where the container itself is damaged.
        """
        wanted = tuple(streams)
        for stream in self.container.streams:
            stream.discard = Discard.default if stream in wanted else Discard.all
        with ffmpeg_errors(self.location):
            for packet in self.container.demux(wanted):
                if packet.size or packet.dts is not None or packet.pts is not None:
                    yield packet

    def close(self) -> None:
        self.container.close()
        self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def ticks(value: int | None) -> int:
    """A time stamp as an int64: NO_TICKS where the container states none."""
    return NO_TICKS if value is None else int(value)


def prepare(context: VideoCodecContext, max_pixels: int, view: int = 0) -> None:
    """Make a decoder that is not open yet ours: one thread, no picture above the limit, and each
    frame numbered as the packet that it was decoded from (`number`, `unit_of`). view: which view
    of a track that codes several.
    """
    context.thread_count = 1
    context.thread_type = ThreadType.NONE
    context.flags |= Flags.copy_opaque
    context.options = {"max_pixels": str(max_pixels)}
    if view:
        context.options["view_ids"] = str(view)
    if context.codec.canonical_name in SILENT_ABOUT_DAMAGE:
        context.options["err_detect"] = "crccheck+explode"


def number(packet: Packet[Any], unit: int) -> None:
    """Give a packet a number that the frame decoded from it will carry.

    PyAV finds what a packet carries by the object's identity, so it must be an object of its own.
    """
    packet.opaque = [unit]


def unit_of(frame: VideoFrame) -> int:
    """The number of the packet that a frame was decoded from."""
    return int(cast("list[int]", frame.opaque)[0])


@contextmanager
def ffmpeg_errors(location: Location) -> Iterator[None]:
    """Turn FFmpeg's errors into DecodeError naming the location."""
    try:
        yield
    except av.error.FFmpegError as error:
        raise DecodeError(f"{location.uri}: {error.strerror}", recording=location.uri) from error


@cache
def _formats() -> str:
    names = (n for n in av.format.formats_available if not READS_OTHER_FILES.fullmatch(n))
    return ",".join(sorted(names))


def _why(location: Location, error: Any) -> str:
    """Say what is wrong with a file that FFmpeg refused, and what to do."""
    head = location.head() if location.exists() else None
    said = getattr(error, "strerror", None) or str(error)
    if head is None:
        problem = "there is no such file"
    elif not head:
        problem = "the file is empty: record or copy it again"
    elif head.lstrip()[:1] == b"<":
        problem = "this is HTML or XML, not a media file: was a download link or login page saved?"
    elif head[4:8] == b"ftyp":
        problem = f"the MP4 index (moov) is missing or damaged: was the recording cut off? ({said})"
    elif isinstance(error, av.error.ArgumentError):
        problem = f"what stands for other files (playlist, script) is not followed ({said})"
    else:
        problem = f"not a media file that FFmpeg can read ({said})"
    return f"cannot open {location.uri}: {problem}"
