"""A folder of loose files without a recording.toml: what its streams are is guessed.

Each media file, each table with a column of times and each sub-folder of pictures is a stream,
named after the file. What was guessed is noted in the stream's report. Separate files share no
clock, since nothing says so: each is on one of its own, and to align them takes a recording.toml.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from genlock._checked import Place, meant, toml_key, toml_text
from genlock.declaration import CALLER, FILE_NAME, StreamDeclaration
from genlock.errors import LayoutError, OpenError
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources import PICTURES, format_of
from genlock.sources._chapters import without_later_chapters
from genlock.sources._composed import ComposedSource, Part, place
from genlock.stream import Stream


def claims(location: Location, head: bytes) -> bool:
    """Any folder: of the formats of folders, this is asked last."""
    return location.is_folder()


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> ComposedSource:
    """Open every file of the folder that is a stream.

    options.streams: declarations by the streams' names. Raises OpenError for a folder without a
    stream, and naming the file for one that cannot be read; LayoutError for a declaration of a
    stream that is not there.
    """
    if options.unit is not None:
        raise Place(location.uri).error("unit= is for a lone file: give streams={NAME: {...}}")
    with ExitStack() as opened:
        guess = _Guess(location, options, open_child, opened)
        for name in without_later_chapters(location.names()):
            guess.add(name)
        if not guess.parts:
            raise OpenError(
                f"{location.uri} holds no stream. If it holds recordings, gl.recordings lists "
                "them, and gl.Windows takes them all; if its files are in a format of their own, "
                f"say what is what in a {FILE_NAME}",
                recording=location.uri,
            )
        for name in options.streams:
            if name not in guess.parts:
                hint = meant(name, guess.parts)
                raise Place(CALLER, ("streams", name)).error(f"there is no such stream{hint}")
        parts = list(guess.parts.values())
        clocks = {part.stream.info.clock for part in parts}
        clock = clocks.pop() if len(clocks) == 1 else "recording"
        return ComposedSource(location, clock, {}, parts, opened.pop_all())


class _Guess:
    """The streams found so far in one folder."""

    def __init__(
        self, base: Location, options: OpenOptions, open_child: OpenChild, opened: ExitStack
    ) -> None:
        self.parts: dict[str, Part] = {}
        self._base = base
        self._options = options
        self._open_child = open_child
        self._opened = opened

    def add(self, file: str) -> None:
        """Add the streams of one file or sub-folder, if it has any."""
        location = self._base.child(file, listed=True)
        known = format_of(location)
        if known is None or (location.is_folder() and known != PICTURES):
            return
        stem = location.stem if location.stem not in self.parts else file
        source = self._open(location, stem)
        if source is None:
            return
        for inner, stream in source.streams.items():
            if isinstance(stream.problem, LayoutError):  # a table without times is no stream
                continue
            name = stem if len(source.streams) == 1 else f"{stem}-{inner}"
            declared = StreamDeclaration.of(name, self._options.streams.get(name, {}))
            part = place(source, inner, name, declared, self._base, clock=stem)
            self.parts[name] = replace(part, stream=_noted(part.stream, file))

    def _open(self, location: Location, stem: str) -> Source | None:
        declared = self._options.streams.get(stem)
        streams = {} if declared is None else {stem: StreamDeclaration.of(stem, declared).reading}
        options = OpenOptions(None, streams, self._options.max_pixels)
        try:
            source = self._open_child(location, options)
        except LayoutError:
            if declared is not None:
                raise
            return None  # it takes a declaration to read it: a table that names no columns
        self._opened.callback(source.close)
        return source


def _noted(stream: Stream, file: str) -> Stream:
    info = stream.info
    table = f"[streams.{toml_key(stream.name)}]"
    line = f'{table} kind = "{info.modality}" path = {toml_text(file)}'
    note = f"guessed from the folder's files; {FILE_NAME} can state it: {line}"
    return replace(stream, info=info.with_report(info.report.noting(note)))
