"""A folder with a recording.toml: its files as the streams of one recording.

The format is written down in docs/recording-toml.md. A recording.toml that contradicts itself or
its files raises LayoutError. A file that is missing or cannot be read does not keep the others
from being read: its stream is listed with the error as its `problem`, which any use of it raises.
Only if no stream is left does opening raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from fnmatch import fnmatchcase
from typing import Any

from genlock._checked import Place, meant
from genlock.clock import ClockMap
from genlock.declaration import (
    FILE_NAME,
    ClockDeclaration,
    RecordingDeclaration,
    StreamDeclaration,
)
from genlock.errors import DecodeError, OpenError, error_context
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._composed import ComposedSource, Part, inside, place
from genlock.stream import Stream, StreamInfo
from genlock.tables.files import open_table
from genlock.tables.names import read_columns
from genlock.tables.rows import read_stamps
from genlock.timeline import Timeline


def claims(location: Location, head: bytes) -> bool:
    """Whether this is a recording.toml, or a folder that holds one."""
    if location.is_folder():
        return location.child(FILE_NAME).exists()
    return location.name == FILE_NAME


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> ComposedSource:
    """Open the recording.

    options.streams: keys that replace those of the file, or further streams. Raises LayoutError
    naming file, stream and key; the first stream's OpenError if none can be opened.
    """
    base = location if location.is_folder() else location.parent
    file = base.child(FILE_NAME)
    if options.unit is not None:
        raise Place(file.uri).error("says the unit of each stream: unit= is for a lone file")
    declared = RecordingDeclaration.read(file.read(), file.uri, options.streams)
    clocks = {
        name: _clock_map(base, clock, Place(file.uri, ("clocks", name)))
        for name, clock in declared.clocks.items()
    }
    with ExitStack() as opened:
        streams = _Streams(base, declared, options.max_pixels, open_child, opened)
        parts = [streams.open(name, stream) for name, stream in declared.streams.items()]
        problems = [part.stream.problem for part in parts if part.source is None]
        if len(problems) == len(parts) and problems[0] is not None:
            raise problems[0]
        return ComposedSource(location, declared.clock, clocks, parts, opened.pop_all())


class _Streams:
    """Opens the streams of one recording; a file that several of them name a track of only once."""

    def __init__(
        self,
        base: Location,
        declared: RecordingDeclaration,
        max_pixels: int | None,
        open_child: OpenChild,
        opened: ExitStack,
    ) -> None:
        self._base = base
        self._declared = declared
        self._clock = declared.clock
        self._max_pixels = max_pixels
        self._open_child = open_child
        self._opened = opened
        self._shared: dict[str, Source] = {}

    def open(self, name: str, declared: StreamDeclaration) -> Part:
        """One stream, in place; with a problem if its files cannot be read."""
        assert declared.kind is not None
        try:
            with error_context(self._base.uri, name):
                source = self._source(name, declared)
                inner = _inner(source, name, declared)
                return place(source, inner, name, declared, self._base, self._clock)
        except (OpenError, DecodeError) as problem:
            info = StreamInfo(declared.kind, clock=declared.clock or self._clock)
            return Part(Stream(name, info, Timeline([]), problem=problem))

    def _source(self, name: str, declared: StreamDeclaration) -> Source:
        target, reading = _target(self._base, declared)
        key = declared.track or name
        together = self._together(declared.path)
        shared = _is_track(declared) and "files" not in reading and together[key] == reading
        if shared and target.uri in self._shared:
            return self._shared[target.uri]
        options = OpenOptions(None, together if shared else {key: reading}, self._max_pixels)
        source = self._open_child(target, options)
        self._opened.callback(source.close)
        if shared:
            self._shared[target.uri] = source
        return source

    def _together(self, path: str | None) -> dict[str, dict[str, Any]]:
        """How the tracks of a file are to be read, as the first stream of each track says."""
        readings: dict[str, dict[str, Any]] = {}
        for name, declared in self._declared.streams.items():
            if declared.path == path and _is_track(declared):
                readings.setdefault(declared.track or name, _reading(declared))
        return readings


def _is_track(declared: StreamDeclaration) -> bool:
    """Whether a stream is one of several in a file, rather than made of all of it."""
    return declared.track is not None or declared.kind in ("video", "audio")


def _reading(declared: StreamDeclaration) -> dict[str, Any]:
    return {key: value for key, value in declared.reading.items() if key != "path"}


def _target(base: Location, declared: StreamDeclaration) -> tuple[Location, dict[str, Any]]:
    """Where a stream's files are, and how they are to be read: `files` lists those of a pattern."""
    path, where = declared.path, declared.place.at("path")
    assert path is not None
    if not path.strip("./"):
        raise where.error("names the folder itself: name a file in it, or a folder of pictures")
    reading = _reading(declared)
    target = inside(base, path, where)
    if target.exists():
        if target.is_folder() and declared.time.path:
            raise where.error("with a listing of files, give a pattern such as 'images/*.png'")
        return target, reading
    files = list(matching(base, path.split("/"))) if set("*?[") & set(path) else []
    if not files:
        raise OpenError(f"{where}: there is no file {path!r}")
    if len(files) == 1:
        return inside(base, files[0], where), reading
    if declared.kind not in ("video", "depth"):
        raise where.error(f"matches {len(files)} files: {declared.kind} is in a single one")
    return base, {**reading, "files": files}


def _inner(source: Source, name: str, declared: StreamDeclaration) -> str:
    """The name, in its own source, of the stream that is declared."""
    kinds = ("depth", "video") if declared.kind == "depth" else (declared.kind,)
    fitting = [key for key, one in source.streams.items() if one.info.modality in kinds]
    there = ", ".join(f"{key} ({one.info.modality})" for key, one in source.streams.items())
    wanted = declared.track or (name if name in fitting else next(iter(fitting), None))
    if declared.track and declared.track not in source.streams:
        hint = meant(declared.track, source.streams)
        raise declared.place.at("track").error(f"{declared.path} has no such track{hint}")
    if wanted not in fitting:
        raise declared.place.error(f"{declared.path} holds no {declared.kind}; it holds {there}")
    encoding = source.streams[wanted].info.encoding
    if "time" in declared.values and encoding in ("packets", "samples"):
        there = f"{declared.path} has times of its own"
        raise declared.place.at("time").error(f"{there}: shift them by zero_ns or give times = ")
    if "time" in declared.values and wanted != (declared.track or name):
        where = declared.place.at("time")
        raise where.error(f"{declared.path} has streams of its own: add track = {wanted!r}")
    return wanted


def matching(base: Location, parts: Sequence[str], above: str = "") -> Iterator[str]:
    """Relative names below a folder that match a pattern, in order; "**" is any folders or none.

    Raises OpenError where a link leads outside of the folder.
    """
    folder = base.child(above) if above else base
    part, rest = parts[0], parts[1:]
    if part == "**":
        yield from matching(base, rest, above)
    for name in folder.names():
        if part != "**" and not fnmatchcase(name, part):
            continue
        path = f"{above}{name}"
        if part != "**" and not rest:
            yield path
        elif base.child(path).is_folder():
            yield from matching(base, parts if part == "**" else rest, f"{path}/")


def _clock_map(base: Location, declared: ClockDeclaration, place: Place) -> ClockMap:
    if declared.knots is None or declared.knots.path is None:
        return ClockMap(declared.offset_ns, declared.scale)
    where = place.at("knots")
    location = inside(base, declared.knots.path, where)
    table = open_table(location, ("from", "to"))
    columns = read_columns(table.headers)
    if len(columns) != 2:
        raise where.error(f"{location.uri} has {len(columns)} columns: knots are two, from and to")
    source, target = (
        read_stamps(location.uri, table, column, declared.knots, where) for column in columns
    )
    try:
        return ClockMap(knots=tuple(zip(source.tolist(), target.tolist(), strict=True)))
    except ValueError as error:
        raise where.error(str(error)) from error
