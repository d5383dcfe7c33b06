"""`Location`: where bytes are (a path, a URL, memory, a file object), and how to reach them."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
from fsspec.core import url_to_fs

from genlock._witness import Aspect, Seen, Witness
from genlock.errors import OpenError

_FRAGMENT = re.compile(r"#(\w+)=([^/#]+)$")


class Location:
    """One place to read from: local path, fsspec URL, or bytes in memory.

    `uri` names it in messages and identifies it in caches; a location in memory has a uri that
    starts with "memory:" and cannot be reopened in another process. A uri may end in a fragment
    such as "#episode=3", which names one of the recordings at a place; `fragment` is then
    ("episode", "3"), unless a local file has that name. Immutable and thread-safe.

    witness: notes what is looked at here, and at places reached from here.
    """

    def __init__(
        self,
        uri: str | os.PathLike[str],
        data: bytes | None = None,
        witness: Witness | None = None,
    ) -> None:
        self.uri = os.fspath(uri)
        self.data = data
        self.fragment: tuple[str, str] | None = None
        self._place = self.uri
        found = None if data is not None else _FRAGMENT.search(self.uri)
        if found is not None and not Path(self.uri.removeprefix("file://")).exists():
            self.fragment = (found[1], found[2])
            self._place = self.uri[: found.start()]
        self._witness = witness
        is_url = "://" in self._place and not self._place.startswith("file://")
        self._local = None if is_url or data is not None else self._place.removeprefix("file://")

    @cached_property
    def _path(self) -> Path | None:
        return None if self._local is None else Path(self._local)

    @classmethod
    def of(cls, target: Any) -> Location:
        """Accept a path, a URL, bytes, a binary file object (rewound, then read), a Location.

        A file object is read into memory, since several threads need a cursor of their own each.
        Raises OpenError for a text file object and for anything else.
        """
        if isinstance(target, Location):
            return target
        if isinstance(target, str | os.PathLike):
            uri = os.fsdecode(target)
            if not uri:
                raise OpenError("cannot open a path of no letters: '.' is the current folder")
            return cls(uri)
        if isinstance(target, bytes | bytearray | memoryview):
            return cls._of_bytes(bytes(target))
        if hasattr(target, "read"):
            return cls._of_file(target)
        raise OpenError(
            f"cannot open a {type(target).__name__}: give a path, a URL, bytes or a file object"
        )

    @classmethod
    def _of_file(cls, file: Any) -> Location:
        name = getattr(file, "name", None)
        try:
            if file.seekable():
                file.seek(0)
            data = file.read()
        except (OSError, ValueError, AttributeError) as error:
            raise OpenError(f"cannot read the file object {name or file!r}: {error}") from error
        if not isinstance(data, bytes):
            raise OpenError(f"the file object {name or file!r} gives text: open it in mode 'rb'")
        return cls._of_bytes(data, name)

    @classmethod
    def _of_bytes(cls, data: bytes, name: Any = None) -> Location:
        """In memory, named by its content where it has no name: addresses are used again."""
        return cls(f"memory:{name or sha256(data).hexdigest()[:16]}", data)

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self._place.removeprefix("memory:").rstrip("/").rpartition("/")[2]

    @property
    def stem(self) -> str:
        """Name without its suffix."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """Suffix in lower case, with its dot; "" if there is none."""
        return Path(self.name).suffix.lower()

    def watched(self, witness: Witness) -> Location:
        """The same place, with a witness of what is looked at."""
        return Location(self.uri, self.data, witness)

    def vouch(self, seen: Seen) -> None:
        """Let this location's witness know what was looked at to open what is here."""
        if self._witness is not None:
            self._witness.take_over(seen)

    @property
    def absolute(self) -> str:
        """The path or URL by which any process finds the same."""
        if self._local is None:
            return self.uri
        fragment = "" if self.fragment is None else "#{}={}".format(*self.fragment)
        return os.path.abspath(self._local) + fragment  # noqa: PTH100

    def _note(self, aspect: Aspect) -> None:
        if self._witness is not None and self.data is None:
            self._witness.note(self._local or self._place, self._local is not None, aspect)

    @property
    def path(self) -> Path | None:
        """The local path, for whatever reads it by itself; None for a URL or memory."""
        self._note("content")
        return self._path

    @property
    def parent(self) -> Location:
        """The folder that this lies in. Raises OpenError in memory, where there is none."""
        if self.data is not None:
            raise OpenError(f"{self.uri} lies in no folder", recording=self.uri)
        above = self._path.parent if self._path else self._place.rstrip("/").rpartition("/")[0]
        return Location(above, witness=self._witness)

    def is_folder(self) -> bool:
        self._note("kind")
        if self.data is not None:
            return False
        with self._reaching():
            if self._path is not None:
                return self._path.is_dir()
            file_system, path = url_to_fs(self._place)
            return bool(file_system.isdir(path))

    def exists(self) -> bool:
        self._note("kind")
        if self.data is not None:
            return True
        with self._reaching():
            if self._path is not None:
                return self._path.exists()
            file_system, path = url_to_fs(self._place)
            return bool(file_system.exists(path))

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Turn what a file system says against a name into an OpenError with the place."""
        try:
            yield
        except (OSError, ValueError, ImportError) as error:
            raise OpenError(f"cannot open {self.uri}: {error}", recording=self.uri) from error

    def open(self) -> BinaryIO:
        """A new binary cursor at the start. Raises OpenError naming the place."""
        self._note("content")
        if self.data is not None:
            return io.BytesIO(self.data)
        with self._reaching():
            if self._local is not None:
                return open(self._local, "rb")  # noqa: PTH123  no Path for each picture
            file: BinaryIO = fsspec.open(self._place, "rb").open()
            return file

    def read(self) -> bytes:
        """All bytes."""
        if self.data is not None:
            return self.data
        with self.open() as file:
            return file.read()

    def head(self, count: int = 4096) -> bytes:
        """The first bytes; fewer if there are no more."""
        if self.data is not None:
            return self.data[:count]
        with self.open() as file:
            return file.read(count)

    def child(self, relative: str, listed: bool = False) -> Location:
        """A place below this folder. Raises OpenError if it would lie outside.

        relative: a name that a file states, which may not lead outside by a link either; or one
        that the folder's listing gave (`listed`), which may be a link to any file, as whoever
        made the folder has put it there: data sets are often folders of links to a store.
        """
        parts = relative.replace("\\", "/").split("/")
        if ".." in parts or os.path.isabs(relative) or "://" in relative:  # noqa: PTH117
            raise OpenError(f"{relative!r} lies outside of {self.uri}", recording=self.uri)
        if self._local is not None and self._leads_outside(self._local, parts, listed):
            raise OpenError(f"{relative!r} leads outside of {self.uri}", recording=self.uri)
        return Location(f"{self._place.rstrip('/')}/{relative}", witness=self._witness)

    def _leads_outside(self, base: str, parts: Sequence[str], listed: bool) -> bool:
        """Whether a link among the parts ends where it may not."""
        *folders, at = (f"{base}/{'/'.join(parts[:depth])}" for depth in range(1, len(parts) + 1))
        is_link = os.path.islink  # twice as quick as Path's, and asked for each picture
        follows = any(map(is_link, folders))
        if not follows and (not is_link(at) or (listed and Path(at).is_file())):
            return False
        return not Path(at).resolve().is_relative_to(self._root)

    @cached_property
    def _root(self) -> Path:
        """What links in this folder may point into: the folder, or the store that it is a view of.

        The cache of the Hugging Face hub keeps `snapshots/REVISION` as links into `blobs` beside.
        """
        root = Path(self._place.removeprefix("file://")).resolve()
        for above in root.parents:
            if above.name == "snapshots" and (above.parent / "blobs").is_dir():
                return above.parent
        return root

    def names(self) -> list[str]:
        """Sorted names of what lies directly in this folder; hidden ones left out."""
        self._note("content")
        with self._reaching():
            if self._path is not None:
                found: Sequence[str] = os.listdir(self._path)
            else:
                file_system, path = url_to_fs(self._place)
                listed = file_system.ls(path, detail=False)
                found = [str(entry).rstrip("/").rpartition("/")[2] for entry in listed]
        return sorted(name for name in found if not name.startswith("."))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and (self.uri, self.data) == (other.uri, other.data)

    def __hash__(self) -> int:
        return hash(self.uri)

    def __repr__(self) -> str:
        return f"Location({self.uri!r})"
