"""A message log as a source: topics to streams, whatever storage and encodings they have."""

from __future__ import annotations

import threading
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

    Opening reads the log once, for the time of each message; not if `kept` holds the streams and
    the `state` of an earlier opening. Every stream is on one clock.
    """

    def __init__(
        self, log: MessageLog, clock: str, options: OpenOptions, kept: Kept | None = None
    ) -> None:
        self.location = log.location
        self.clock = clock
        self.clocks: Mapping[str, ClockMap] = {clock: ClockMap()}
        self._arguments = (log, clock, options)
        self._tracks: dict[str, Track] = {}
        self._lock = threading.Lock()
        self._closed = False
        streams, self._state = kept or self._scan()
        self.streams: Mapping[str, Stream] = MappingProxyType(dict(streams))

    def _scan(self) -> Kept:
        uri = self.location.uri
        with error_context(uri):
            scan = _Scan(*self._arguments)
            notes = _few(self._arguments[0].scan(scan.connect))
            tracks = scan.tracks()
        if not tracks:
            why = f": {'; '.join(notes)}" if notes else ""
            raise OpenError(f"{uri} holds no messages{why}", recording=uri)
        self._tracks = {track.stream.name: _noting(track, notes) for track in tracks}
        return {name: track.stream for name, track in self._tracks.items()}, scan.state()

    def state(self) -> Mapping[str, Any]:
        """What each topic found out; see `Resumable`."""
        return self._state

    def units(self, stream: str) -> Units:
        """A cursor over a stream's units. Raises StreamError, the stream's problem, ClosedError."""
        uri = self.location.uri
        if self._closed:
            raise ClosedError(f"{uri} is closed", recording=uri)
        known = self.streams.get(stream)
        if known is None:
            raise StreamError(f"{uri} has no stream {stream!r}", recording=uri, stream=stream)
        known.require_times()
        with self._lock:
            if stream not in self._tracks:
                with error_context(uri, stream):
                    facts = self._state["topics"][self._state["numbers"][stream]]
                    found = _resumed(facts, *self._arguments)
                self._tracks |= {track.stream.name: track for track in found}
            track = self._tracks[stream]
        assert track.units is not None, "what has no problem has units"
        return track.units()

    def close(self) -> None:
        """Let go of the tables that were read."""
        self._closed = True
        self._tracks = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments  # by its location: the other process reads the file


Kept = tuple[Mapping[str, Stream], Mapping[str, Any]]


def _facts(topic: Topic) -> dict[str, Any]:
    schemas = [(s.name, s.encoding, s.language, s.definition) for s in topic.schemas]
    return {
        "name": topic.spec.name,
        "type": topic.spec.type,
        "schemas": schemas,
        "told": topic.state(),
    }


def _resumed(
    facts: Mapping[str, Any], log: MessageLog, clock: str, options: OpenOptions
) -> Sequence[Track]:
    """The streams of one topic by what the log told when it was read."""
    topic = make_topic(TopicSpec(log, facts["name"], facts["type"], clock, options.streams))
    for schema in (Schema(*parts) for parts in facts["schemas"]):
        topic.connect(schema, _readable(schema))
    topic.resume(facts["told"])
    return topic.tracks()


def _readable(schema: Schema) -> Codec:
    try:
        return codec_for(schema)
    except DecodeError as problem:
        return UnreadableCodec(problem)


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
        self._found: dict[Topic, Sequence[Track]] = {}

    def connect(self, channel: Channel) -> Sink:
        """What takes the messages of a channel; several of one topic and type go together."""
        key = (channel.topic.strip("/"), channel.schema.type)
        if key not in self._topics:
            name = self._name(*key)
            spec = TopicSpec(self._log, name, key[1], self._clock, self._options.streams)
            self._topics[key] = make_topic(spec)
        schema = channel.schema
        if schema not in self._codecs:
            self._codecs[schema] = _readable(schema)
        return self._topics[key].connect(schema, self._codecs[schema])

    def _name(self, topic: str, type: str) -> str:
        """The topic; with the type if messages of another type came on it before."""
        shared = any(other == topic for other, _ in self._topics)
        return f"{topic} ({type})" if shared else topic or type

    def tracks(self) -> list[Track]:
        """The streams of all topics, with what others say of them."""
        self._found = {topic: self._described(topic) for topic in self._topics.values()}
        return calibrated(self._found)

    def state(self) -> dict[str, Any]:
        """What each topic found out, and by stream the number of its topic."""
        numbers = {
            track.stream.name: number
            for number, tracks in enumerate(self._found.values())
            for track in tracks
        }
        return {"topics": list(map(_facts, self._found)), "numbers": numbers}

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
