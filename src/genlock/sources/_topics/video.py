"""Topics of video: inter-coded pictures, one in each message.

Sources: Foxglove's CompressedVideo (Annex B access units, no B-frames, parameter sets with every
key picture); FFMPEGPacket of ffmpeg_image_transport.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._messages import Codec, Message
from genlock._messages.codec import octets
from genlock.errors import DecodeError
from genlock.interfaces import CodecSpec, UnitTable
from genlock.sources._bitstream import inspector
from genlock.sources._coded_pictures import PictureFacts, first_picture, is_key
from genlock.sources._topics.messages import Entry, Messages, first_of, frame_of
from genlock.sources._topics.topic import StreamTopic, TopicSpec, Track, When
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

CODECS: Mapping[str, str] = MappingProxyType(
    {
        "h264": "h264",
        "libx264": "h264",
        "h265": "hevc",
        "hevc": "hevc",
        "libx265": "hevc",
        "vp8": "vp8",
        "vp9": "vp9",
        "av1": "av1",
    }
)
"""FFmpeg's names of the codecs that messages name."""


class VideoTopic(StreamTopic):
    """Video, a coded picture in each message. format: the path of the codec's name."""

    head = None

    def __init__(self, spec: TopicSpec, format: str = "format") -> None:
        super().__init__(spec)
        self._format = format
        self._codec = ""
        self._heads = array("b")

    def add(self, entry: Entry, codec: Codec, data: bytes) -> None:
        message = Message.read(codec, data)
        coded = coded_picture(message)
        self._codec = self._codec or codec_name(str(message[self._format]))
        disposable = inspector(self._codec, None)(memoryview(coded)).disposable
        self._heads.append(is_key(self._codec, coded) | disposable << 1)
        super().add(entry, codec, data)

    def state(self) -> Mapping[str, Any]:
        return {**super().state(), "codec": self._codec, "heads": np.array(self._heads, np.int8)}

    def resume(self, state: Mapping[str, Any]) -> None:
        super().resume(state)
        self._codec, self._heads = state["codec"], array("b", state["heads"].tobytes())

    def describe(self, messages: Messages, when: When) -> Track:
        """Units are all messages in the order of the log, rows those with a time, in order."""
        table = self.entries.table()
        units = replace(messages, table=table, ns=table["stamp_ns"])
        key, disposable = self._flags()
        look = self._look_at_first(units, key)
        notes = [] if look else ["no picture could be decoded to look at"]
        shape, bits = look or ((), 8)
        info = StreamInfo(
            "video",
            encoding="packets",
            codec=self._codec,
            shape=shape,
            dtype="uint8" if bits <= 8 else "uint16",
            rate=when.rate,
            clock=self.spec.clock,
            bits=bits,
            report=when.report.noting(*notes),
        )
        unit_table = _unit_table(len(units), when, key, disposable)
        stream = Stream(self.spec.name, info, Timeline(when.ns))
        opened = partial(VideoUnits, units, self._codec, unit_table)
        return Track(stream, opened, first_of(messages, frame_of))

    def _flags(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which units are key pictures, and which no other refers to."""
        heads = np.array(self._heads, np.int8)
        key = (heads & 1) > 0
        key[:1] |= not key.any()
        return key, (heads & 2) > 0

    def _look_at_first(self, units: Messages, key: NDArray[np.bool_]) -> PictureFacts | None:
        start = int(np.flatnonzero(key)[0])
        with closing(VideoUnits(units, self._codec, None)) as opened:
            return first_picture(self._codec, (data for _, data in opened.units(start)))


def _unit_table(
    count: int, when: When, key: NDArray[np.bool_], disposable: NDArray[np.bool_]
) -> UnitTable:
    """Presentation times are ranks, so that no two are equal; those without a row come first."""
    pts = np.full(count, -1, np.int64)
    pts[when.kept] = np.arange(len(when.kept))
    units = np.arange(count, dtype=np.int64)
    return UnitTable(pts, units, key, disposable, when.kept.astype(np.int64), Fraction(1))


class VideoUnits:
    """Coded pictures in the order of decoding. One thread at a time; close it explicitly."""

    def __init__(self, messages: Messages, codec: str, table: UnitTable | None) -> None:
        self._messages = messages
        self._cursor = messages.open()
        uri = messages.log.location.uri
        self.spec = CodecSpec("packets", codec, table=table, options={"uri": uri})

    def unit(self, index: int) -> bytes:
        return self._cursor.read(index, coded_picture)

    def units(self, first: int) -> Iterator[tuple[int, bytes]]:
        return ((index, self.unit(index)) for index in range(first, len(self._messages)))

    def close(self) -> None:
        self._cursor.close()


def coded_picture(message: Message) -> bytes:
    """The bytes of a message's picture. Raises DecodeError."""
    return octets(message["data"]).tobytes()


def codec_name(format: str) -> str:
    """FFmpeg's name of the codec that a message names ("h264", "hevc;yuv420p;bgr8;bgr8").

    Raises DecodeError.
    """
    name = re.split(r"[;/ _]", format.lower())[0]
    if name not in CODECS:
        known = ", ".join(CODECS)
        raise DecodeError(f"video of the format {format!r} is not known ({known} are)")
    return CODECS[name]
