"""A message log as a source: topics to streams, whatever storage and encodings they have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from genlock._logs import Channel, MessageLog, Place, Sink
from genlock._messages import Codec, Schema, codec_for
from genlock.errors import ClosedError, DecodeError, OpenError, StreamError, error_context
from genlock.interfaces import OpenOptions, Units
from genlock.sources._topics.calibration import CameraTopic, calibrated, namespaces
from genlock.sources._topics.kinds import make_topic
from genlock.sources._topics.topic import Topic, TopicSpec, Track
from genlock.sources._topics.transforms import TransformTopic
from genlock.stream import Intrinsics, Stream, StreamInfo
from genlock.timeline import ClockMap, Timeline


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
            notes = log.scan(scan.connect)
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
        if track.stream.problem is not None:
            raise track.stream.problem
        return track.units()

    def close(self) -> None:
        """Let go of the tables that were read."""
        self._closed = True
        self._tracks = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return LogSource, self._arguments  # by its location: the other process reads the file


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
        self._unread: dict[str, _Unread] = {}

    def connect(self, channel: Channel) -> Sink:
        """What takes the messages of a channel; several of one topic and type go together."""
        key = (channel.topic.strip("/"), channel.schema.type)
        try:
            codec = self._codec(channel.schema)
        except DecodeError as problem:
            return self._unread.setdefault(self._name(*key), _Unread(problem))
        if key not in self._topics:
            name = self._name(*key)
            declared = self._options.streams.get(name, {})
            self._topics[key] = make_topic(
                TopicSpec(self._log, name, key[1], self._clock, declared)
            )
        return self._topics[key].connect(codec)

    def _codec(self, schema: Schema) -> Codec:
        if schema not in self._codecs:
            self._codecs[schema] = codec_for(schema)
        return self._codecs[schema]

    def _name(self, topic: str, type: str) -> str:
        """The topic; with the type if messages of another type came on it before."""
        shared = any(other == topic and kind != type for other, kind in self._topics)
        return f"{topic} ({type})" if shared else topic or type

    def tracks(self) -> list[Track]:
        cameras = {t.spec.name: t for t in self._topics.values() if isinstance(t, CameraTopic)}
        others = [t for t in self._topics.values() if not isinstance(t, CameraTopic)]
        tracks = [track for topic in others for track in self._described(topic)]
        pictures = {space for track in tracks for space in namespaces(track.stream.name)}
        known: dict[str, Intrinsics] = {}
        for name, topic in cameras.items():
            space = name.rpartition("/")[0]
            found = _intrinsics(topic) if space in pictures else None
            if found is None:
                tracks += self._described(topic)
            else:
                known[space] = found
        fixed = {
            child: place
            for topic in others
            if isinstance(topic, TransformTopic)
            for child, place in topic.fixed.items()
        }
        unread = [
            self._problem(name, found.problem)
            for name, found in self._unread.items()
            if found.count
        ]
        return calibrated(tracks, known, fixed) + unread

    def _described(self, topic: Topic) -> Iterable[Track]:
        try:
            return topic.tracks()
        except DecodeError as problem:
            return [self._problem(topic.spec.name, problem)]

    def _problem(self, name: str, problem: DecodeError) -> Track:
        """A topic that cannot be read: listed, and any use of it raises the reason."""
        uri = self.location_uri
        problem.recording, problem.stream = problem.recording or uri, problem.stream or name
        info = StreamInfo("labels", clock=self._clock)
        return Track(Stream(name, info, Timeline([]), problem=problem), _raising(problem))

    @property
    def location_uri(self) -> str:
        return self._log.location.uri


class _Unread:
    """Counts the messages of a channel whose schema cannot be read."""

    head: int | None = 0

    def __init__(self, problem: DecodeError) -> None:
        self.problem = problem
        self.count = 0

    def add(self, log_ns: int, place: Place, data: bytes) -> None:
        self.count += 1


def _raising(problem: DecodeError) -> Any:
    def units() -> Units:
        raise problem

    return units


def _intrinsics(topic: CameraTopic) -> Intrinsics | None:
    try:
        return topic.intrinsics()
    except DecodeError:
        return None
