"""A message log as a source: topics to streams, whatever storage and encodings they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from genlock._logs import Channel, MessageLog, Sink
from genlock._messages import Codec, Schema, UnreadableCodec, codec_for
from genlock.clock import ClockMap
from genlock.errors import ClosedError, DecodeError, OpenError, StreamError, error_context
from genlock.interfaces import OpenOptions, Units
from genlock.sources._topics.calibration import calibrated
from genlock.sources._topics.kinds import make_topic
from genlock.sources._topics.topic import Topic, TopicSpec, Track
from genlock.stream import Stream, StreamInfo
from genlock.timeline import Timeline

MAX_NOTES = 10


class LogSource:
    """The streams of a message log. Thread-safe: each cursor has file handles of its own.

    Opening reads the log once, for the time of each message. Every stream is on one clock.
    """

    def __init__(self, log: MessageLog, clock: str, options: OpenOptions) -> None:
        self.location = log.location
        self.clock = clock
        self._arguments = (log, clock, options)
        self.clocks: Mapping[str, ClockMap] = {clock: ClockMap()}
        with error_context(log.location.uri):
            scan = _Scan(log, clock, options)
            notes = _few(log.scan(scan.connect))
            tracks = scan.tracks()
        if not tracks:
            why = f": {'; '.join(notes)}" if notes else ""
            uri = self.location.uri
            raise OpenError(f"{uri} holds no messages{why}", recording=uri)
        self._tracks = {track.stream.name: _noting(track, notes) for track in tracks}
        self.streams: Mapping[str, Stream] = MappingProxyType(
            {name: track.stream for name, track in self._tracks.items()}
        )
        self._closed = False

    def units(self, stream: str) -> Units:
        """A cursor over a stream's units. Raises StreamError, the stream's problem, ClosedError."""
        uri = self.location.uri
        if self._closed:
            raise ClosedError(f"{uri} is closed", recording=uri)
        track = self._tracks.get(stream)
        if track is None:
            raise StreamError(f"{uri} has no stream {stream!r}", recording=uri, stream=stream)
        track.stream.require_times()
        assert track.units is not None, "what has no problem has units"
        return track.units()

    def close(self) -> None:
        """Let go of the tables that were read."""
        self._closed = True
        self._tracks = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return LogSource, self._arguments  # by its location: the other process reads the file


def _few(notes: tuple[str, ...]) -> tuple[str, ...]:
    """The first notes, since a damaged log has one for each of its chunks."""
    more = len(notes) - MAX_NOTES
    return notes if more <= 0 else (*notes[:MAX_NOTES], f"and {more} more of this kind")


def _noting(track: Track, notes: Iterable[str]) -> Track:
    info = track.stream.info
    return replace(
        track, stream=replace(track.stream, info=info.with_report(info.report.noting(*notes)))
    )


class _Scan:
    """Collects the topics of a log while it is scanned, then describes them."""

    def __init__(self, log: MessageLog, clock: str, options: OpenOptions) -> None:
        self._log = log
        self._clock = clock
        self._options = options
        self._codecs: dict[Schema, Codec] = {}
        self._topics: dict[tuple[str, str], Topic] = {}

    def connect(self, channel: Channel) -> Sink:
        """What takes the messages of a channel; several of one topic and type go together."""
        key = (channel.topic.strip("/"), channel.schema.type)
        if key not in self._topics:
            name = self._name(*key)
            spec = TopicSpec(self._log, name, key[1], self._clock, self._options.streams)
            self._topics[key] = make_topic(spec)
        return self._topics[key].connect(self._codec(channel.schema))

    def _codec(self, schema: Schema) -> Codec:
        if schema not in self._codecs:
            try:
                self._codecs[schema] = codec_for(schema)
            except DecodeError as problem:
                self._codecs[schema] = UnreadableCodec(problem)
        return self._codecs[schema]

    def _name(self, topic: str, type: str) -> str:
        """The topic; with the type if messages of another type came on it before."""
        shared = any(other == topic for other, _ in self._topics)
        return f"{topic} ({type})" if shared else topic or type

    def tracks(self) -> list[Track]:
        """The streams of all topics, with what others say of them."""
        found = {topic: self._described(topic) for topic in self._topics.values()}
        return calibrated(found)

    def _described(self, topic: Topic) -> Sequence[Track]:
        try:
            return topic.tracks()
        except DecodeError as problem:
            return [self._unread(topic.spec.name, problem)]

    def _unread(self, name: str, problem: DecodeError) -> Track:
        """A topic that cannot be read: listed, and any use of it raises the reason."""
        problem.recording = problem.recording or self._log.location.uri
        problem.stream = problem.stream or name
        info = StreamInfo("labels", clock=self._clock)
        return Track(Stream(name, info, Timeline([]), problem=problem))
