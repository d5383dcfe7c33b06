"""The index: what opening a recording found out is kept, so that it need not be found out again.

An entry is one file in a cache folder (`_entries`). It holds the streams with their timelines, and
what a format needs to hand out units without reading its files anew, together with the state of
every file that was looked at (`_witness`): if one of them has changed, the entry is made anew. It
says as well which code made it, so that another version of Genlock, or of what reads the files,
makes its own.

`python -m genlock.index PATH…` makes entries ahead. GENLOCK_CACHE: the cache folder (default the
user's). GENLOCK_INDEX=0: no index. GENLOCK_INDEX_BYTES: what it may take (`_room`). A folder that
cannot be written is no error: nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from genlock import sources
from genlock._extents import Extent
from genlock._witness import Witness
from genlock.clock import ClockMap
from genlock.errors import OpenError
from genlock.index._entries import load, load_head, save
from genlock.index._stored import pack
from genlock.interfaces import OpenChild, OpenOptions, Source, Units
from genlock.location import Location
from genlock.stream import Stream

SETTINGS = ("GENLOCK_INDEX", "GENLOCK_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME")
"""What of the environment says where the index is."""


class Index:
    """Opens sources, and keeps what that found out. Thread-safe, and safe between processes.

    folder: where the entries are; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    @classmethod
    def of_user(cls) -> Index:
        """The index that the environment states; see the module."""
        return cls(_folder_of(tuple(map(os.environ.get, SETTINGS))))

    def open(self, location: Location, options: OpenOptions) -> Source:
        """Open a recording as `sources.open_source` does, if need be.

        Raises what that raises; failures are not kept.
        """
        if not options.index:
            return sources.open_source(location, options)
        if not options.streams:  # then nothing is to be placed, and a file is as well a recording
            return self.read(location, options)
        placed = partial(sources.open_source, open_child=self.read)
        return self._kept("placed", location, options, placed)

    def read(self, location: Location, options: OpenOptions) -> Source:
        """Open one file or folder of a recording as `sources.read_source` does, if need be."""
        return self._kept(
            "read", location, options, partial(sources.read_source, open_child=self.read)
        )

    def extents(self, location: Location, options: OpenOptions) -> Mapping[str, Extent]:
        """When the streams of a recording are, without opening it; nothing if that is not known.

        Streams are those of `open`, on the recording's clock where the recording relates theirs.
        """
        purpose = "placed" if options.streams else "read"
        file = self._file(purpose, location, options) if options.index else None
        head = load_head(file) if file else None
        extents = (head and head["extents"]) or {}
        return {name: Extent(*extent) for name, extent in extents.items()}

    def _kept(
        self, purpose: str, location: Location, options: OpenOptions, make: Opening
    ) -> Source:
        file = self._file(purpose, location, options)
        if file is None:
            return make(location, options)
        entry = load(file)
        if entry is not None:
            location.vouch(entry["seen"])
            with suppress(TypeError, LookupError, AttributeError):
                return _restored(entry, location, options, make)
        witness = Witness()
        try:
            source = make(location.watched(witness), options)
        finally:  # a recording may list what cannot be opened, and depends on it all the same
            location.vouch(witness.seen)
            witness.seal()
        save(file, source, witness)
        return source

    def _file(self, purpose: str, location: Location, options: OpenOptions) -> str | None:
        """Where the entry of an opening is; None if there can be none."""
        if self.folder is None or location.data is not None:
            return None
        limit = options.max_pixels or os.environ.get("GENLOCK_MAX_PIXELS", "")
        key = repr((purpose, location.absolute, options.unit, str(limit))).encode()
        try:
            declared = pack(options.streams) if options.streams else b""
        except TypeError:
            return None
        name = hashlib.blake2b(key + declared, digest_size=20).hexdigest()
        return f"{self.folder}/{name[:2]}/{name[2:]}.index"


Opening = OpenChild
"""Opens a location with options."""


class IndexedSource:
    """A source whose streams the index knows; its files are opened when units are wanted.

    Thread-safe. Raises OpenError if the files no longer hold these streams.
    """

    def __init__(
        self,
        location: Location,
        clock: str,
        clocks: Mapping[str, ClockMap],
        streams: Mapping[str, Stream],
        make: partial[Source],
    ) -> None:
        self.location = location
        self.clock = clock
        self.clocks = clocks
        self.streams = streams
        self._make = make
        self._made: Source | None = None
        self._lock = threading.Lock()

    def units(self, stream: str) -> Units:
        """A cursor over a stream's units."""
        return self._source().units(stream)

    def _source(self) -> Source:
        with self._lock:
            if self._made is None:
                self._made = self._verified(self._make())
            return self._made

    def _verified(self, made: Source) -> Source:
        rows = {name: len(stream.timeline) for name, stream in self.streams.items()}
        if rows != {name: len(stream.timeline) for name, stream in made.streams.items()}:
            made.close()
            uri = self.location.uri
            raise OpenError(f"{uri} has changed since it was opened: open it again", recording=uri)
        return made

    def close(self) -> None:
        with self._lock:
            if self._made is not None:
                self._made.close()
            self._made = None


def _restored(
    entry: Mapping[str, Any], location: Location, options: OpenOptions, make: Opening
) -> Source:
    streams = entry["streams"]
    if entry["state"] is not None:
        restore = vars(sources.module(entry["module"]))["restore"]
        restored: Source = restore(location, options, streams, entry["state"])
        return restored
    later = partial(make, location, options)
    return IndexedSource(location, entry["clock"], entry["clocks"], streams, later)


@lru_cache(maxsize=8)
def _folder_of(settings: tuple[str | None, ...]) -> Path | None:
    """Where the index is in an environment that says this of `SETTINGS`; None if nowhere."""
    folder = None if settings[0] in ("0", "no", "off", "false") else cache_folder()
    return folder and folder / "index"


def cache_folder() -> Path | None:
    """GENLOCK_CACHE, else the user's cache folder as the system has it; None if there is none."""
    stated = os.environ.get("GENLOCK_CACHE")
    if stated:
        return Path(stated)
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "genlock"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "genlock"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "genlock"
    except RuntimeError:  # nobody's home
        return None
