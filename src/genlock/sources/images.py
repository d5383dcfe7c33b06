"""Pictures in files: a folder of them as one stream, or a lone one as a stream of one row.

Every stream has encoding "image": its units are the files' bytes, of any format that
`genlock._pictures` knows, or .npy arrays. Which file is when comes from a declaration (see
`picture_times`), else from names that are decimal seconds; a folder without either is listed,
with a problem that says what to declare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from genlock._containers import is_container
from genlock._pictures import SUFFIXES, PictureHeader, is_picture, npy, read_header
from genlock.clock import ClockMap
from genlock.errors import DecodeError, LayoutError, OpenError, error_context
from genlock.interfaces import CodecSpec, OpenChild, OpenOptions
from genlock.location import Location
from genlock.sources._picture_info import is_called_depth, picture_info
from genlock.sources._picture_times import PictureTimes, natural, picture_times
from genlock.stream import Stream
from genlock.timeline import Report, Timeline, settle

CLOCK = "file"
MOTION_JPEG = (".mjpeg", ".mjpg")
DECLARED = ("kind", "path", "files", "time", "zero_ns", "depth", "clock")
"""What a declaration of a stream of pictures may hold."""

_HEADERS_TRIED = 8


def claims(location: Location, head: bytes) -> bool:
    """A picture, by content or suffix; a .npy that is named depth; a folder mostly of pictures.

    Not a file of JPEGs one after another, which only its suffix tells from a single one.
    """
    if location.is_folder():
        names = location.names()
        return 2 * len(_Files(location).pictures()) > len(names)
    if location.suffix == ".npy" or npy.claims(head):
        return is_called_depth(*_Files(location).called)
    if location.suffix in MOTION_JPEG:
        return False
    return is_picture(head) or (location.suffix in SUFFIXES and not is_container(head))


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> ImageSource:
    """Open a picture, or a folder of them; only the first file's header is read.

    options.streams: one stream for each; keys as in `DECLARED`. `files` are names relative to the
    folder, by default all its pictures; those that are absent give invalid rows. Without any: one
    stream, named after the folder or file. Raises OpenError for a lone file that is no picture,
    LayoutError for a declaration that cannot be.
    """
    files = _Files(location)
    declared = options.streams or {files.stream_name: {}}
    opened = {
        name: _open_stream(files, name, declaration, options.unit)
        for name, declaration in declared.items()
    }
    return ImageSource(location, opened, files)


def restore(
    location: Location,
    options: OpenOptions,
    streams: Mapping[str, Stream],
    state: Mapping[str, Any],
) -> ImageSource:
    """The source that had this state; the folder is not listed again."""
    opened = {name: (stream, state[name]) for name, stream in streams.items()}
    return ImageSource(location, opened, _Files(location))


class _Files:
    """The files below a folder by relative name; a lone file is a folder of itself."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.is_folder = location.is_folder()

    @property
    def stream_name(self) -> str:
        nameless = self.location.data is not None and not self.location.suffix
        return "image" if nameless else self.location.stem.removeprefix("memory:")

    @property
    def called(self) -> list[str]:
        """The names that may tell what the pictures are: the folder's and a lone file's."""
        return self.location.uri.rstrip("/").split("/")[-1 if self.is_folder else -2 :]

    def at(self, name: str) -> Location:
        return self.location.child(name, listed=True) if self.is_folder else self.location

    def uri(self, name: str) -> str:
        root = self.location.uri
        return f"{root.rstrip('/')}/{name}" if self.is_folder else root

    def pictures(self) -> list[str]:
        """All picture files directly in the folder, numbers in order of their value."""
        if not self.is_folder:
            return [self.location.name]
        suffixes = SUFFIXES | ({".npy"} if is_called_depth(self.location.name) else set())
        names = self.location.names()
        found = [n for n in names if PurePosixPath(n).suffix.lower() in suffixes]
        return sorted(found, key=natural)

    def present(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """bool [len(names)]: which exist; each folder is listed once."""
        if not self.is_folder:
            return np.ones(len(names), np.bool_)
        parents = {name.rpartition("/")[0] for name in names}
        listed = {parent: self._listed(parent) for parent in parents}
        split = (name.rpartition("/") for name in names)
        return np.array([base in listed[parent] for parent, _, base in split], np.bool_)

    def _listed(self, parent: str) -> set[str]:
        try:
            return set((self.location.child(parent) if parent else self.location).names())
        except OSError:
            return set()


class ImageSource:
    """Streams of pictures in files. Thread-safe, and holds nothing open."""

    clock = CLOCK

    def __init__(
        self,
        location: Location,
        opened: Mapping[str, tuple[Stream, tuple[str, ...]]],
        files: _Files,
    ) -> None:
        self.location = location
        self.clocks: Mapping[str, ClockMap] = {}
        self.streams: Mapping[str, Stream] = {name: s for name, (s, _) in opened.items()}
        self._names = {name: names for name, (_, names) in opened.items()}
        self._files = files

    def state(self) -> Mapping[str, Any]:
        """Of each stream, the names of its files."""
        return self._names

    def units(self, stream: str) -> ImageUnits:
        """The files of a stream, row by row."""
        return ImageUnits(self._files, self._names[stream], self.streams[stream].info.codec)

    def close(self) -> None:
        """Nothing is open."""


class ImageUnits:
    """The bytes of each file, in order of the rows.

    The spec's option "name" is a function from a row to the path or URL of its file.
    """

    def __init__(self, files: _Files, names: Sequence[str], codec: str) -> None:
        self._files = files
        self._names = names
        self.spec = CodecSpec("image", codec, options={"name": self._uri})

    def _uri(self, index: int) -> str:
        return self._files.uri(self._names[index])

    def unit(self, index: int) -> bytes:
        """One file's bytes. Raises OpenError naming it."""
        return self._files.at(self._names[index]).read()

    def units(self, first: int) -> Iterator[tuple[int, bytes]]:
        """(row, bytes) from row `first` on."""
        return ((index, self.unit(index)) for index in range(first, len(self._names)))

    def close(self) -> None:
        """Nothing is open."""


def _open_stream(
    files: _Files, name: str, declaration: Mapping[str, Any], unit: str | None
) -> tuple[Stream, tuple[str, ...]]:
    """A stream, and the name of the file of each of its rows."""
    with error_context(files.location.uri, name):
        if unknown := set(declaration).difference(DECLARED):
            raise LayoutError(f"{sorted(unknown)} are not among {', '.join(DECLARED)}")
        names = declaration.get("files") or files.pictures()
        if not names:
            raise LayoutError(f"no picture files for stream {name!r} in {files.location.uri}")
        times = picture_times(name, files.location, names, declaration.get("time"), unit)
        names, timeline, report = _rows(files, times, int(declaration.get("zero_ns", 0)))
        header = _first_header(files, names, timeline.valid)
        info, notes = picture_info((name, *files.called), declaration, header)
        info = replace(info, clock=str(declaration.get("clock", CLOCK)))
        info = replace(info, rate=times.rate, report=report.noting(*notes))
    return Stream(name, info, timeline, problem=times.problem), names


def _rows(
    files: _Files, times: PictureTimes, zero_ns: int
) -> tuple[tuple[str, ...], Timeline, Report]:
    """The files in order of time; where that is unknown, in the given order and all at 0."""
    if times.raw_ns is None:
        kept, report = np.arange(len(times.names)), Report()
        ns = np.zeros(len(kept), np.int64)
    else:
        raw_ns = times.raw_ns + zero_ns
        kept, report = settle(raw_ns)
        ns = raw_ns[kept]
    names = tuple(times.names[i] for i in kept.tolist())
    present = files.present(names)
    missing = int((~present).sum())
    timeline = Timeline(ns, valid=present if missing else None)
    return names, timeline, replace(report, missing=missing).noting(*times.notes)


def _first_header(
    files: _Files, names: Sequence[str], valid: NDArray[np.bool_] | None
) -> PictureHeader | None:
    """The header of the first file that has one; a lone file must."""
    present = names if valid is None else list(compress(names, valid))
    for place in map(files.at, present[:_HEADERS_TRIED]):
        try:
            with place.open() as file:
                return read_header(file)
        except DecodeError as error:
            if not files.is_folder:
                raise OpenError(f"cannot open {place.uri}: {error.message}") from error
    return None
