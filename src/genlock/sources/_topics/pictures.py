"""Topics of pictures that stand alone: raw and compressed images, depth among them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from numpy.typing import NDArray

from genlock._depth_encoding import DepthEncoding
from genlock._messages.pictures import look_at, to_unit
from genlock.interfaces import CodecSpec
from genlock.sources._topics.messages import Messages, first_of, frame_of
from genlock.sources._topics.topic import StreamTopic, Track, When
from genlock.stream import Modality, Stream, StreamInfo
from genlock.timeline import Timeline

Picture = bytes | NDArray[Any]


class PictureTopic(StreamTopic):
    """Pictures, one in each message."""

    def describe(self, messages: Messages, when: When) -> Track:
        name = self.spec.name
        look, frame = first_of(messages, lambda first: (look_at(first, name), frame_of(first)))
        declared = self.spec.declaration(name)
        kind = declared.get("kind")
        modality: Modality = kind or ("depth" if look.depth else "video")
        depth = look.depth if modality == "depth" else None
        if "depth" in declared:
            modality, depth = "depth", str(DepthEncoding.declared(declared["depth"]))
        notes = []
        if modality == "depth" and kind is None:
            notes.append(
                f"taken for depth ({depth}), since it is {look.codec}: declare kind or depth"
            )
        info = StreamInfo(
            modality,
            encoding="image",
            codec=look.codec,
            shape=look.shape,
            dtype=look.dtype,
            rate=when.rate,
            clock=self.spec.clock,
            depth=depth,
            bits=look.bits,
            report=when.report.noting(*notes),
        )
        stream = Stream(name, info, Timeline(when.ns))
        return Track(stream, partial(PictureUnits, messages, look.codec), frame)


class PictureUnits:
    """Pictures by row: encoded bytes or arrays. One thread at a time; close it explicitly."""

    def __init__(self, messages: Messages, codec: str) -> None:
        self._messages = messages
        self._cursor = messages.open()
        uri = messages.log.location.uri
        self.spec = CodecSpec("image", codec, options={"uri": uri, "name": lambda row: uri})

    def unit(self, index: int) -> Picture:
        """Raises DecodeError naming log, stream and time."""
        return self._cursor.read(index, to_unit)

    def units(self, first: int) -> Iterator[tuple[int, Picture]]:
        return ((index, self.unit(index)) for index in range(first, len(self._messages)))

    def close(self) -> None:
        self._cursor.close()
