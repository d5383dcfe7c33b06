"""`Location`: where bytes are (a path, a URL, memory, a file object), and how to reach them."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
from fsspec.core import url_to_fs

from genlock.errors import OpenError

_FRAGMENT = re.compile(r"#(\w+)=([^/#]+)$")


class Location:
    """One place to read from: local path, fsspec URL, or bytes in memory.

    `uri` names it in messages and identifies it in caches; a location in memory has a uri that
    starts with "memory:" and cannot be reopened in another process. A uri may end in a fragment
    such as "#episode=3", which names one of the recordings at a place; `fragment` is then
    ("episode", "3"), unless a local file has that name. Immutable and thread-safe.
    """

    def __init__(self, uri: str | os.PathLike[str], data: bytes | None = None) -> None:
        self.uri = os.fspath(uri)
        self.data = data
        self.fragment: tuple[str, str] | None = None
        self._place = self.uri
        found = None if data is not None else _FRAGMENT.search(self.uri)
        if found is not None and not Path(self.uri.removeprefix("file://")).exists():
            self.fragment = (found[1], found[2])
            self._place = self.uri[: found.start()]
        is_url = "://" in self._place and not self._place.startswith("file://")
        local = None if is_url or data is not None else Path(self._place.removeprefix("file://"))
        self.path: Path | None = local

    @classmethod
    def of(cls, target: Any) -> Location:
        """Accept a path, a URL, bytes, a binary file object (rewound, then read), a Location.

        A file object is read into memory, since several threads need a cursor of their own each.
        Raises OpenError for a text file object and for anything else.
        """
        if isinstance(target, Location):
            return target
        if isinstance(target, str | os.PathLike):
            return cls(os.fspath(target))
        if isinstance(target, bytes | bytearray | memoryview):
            return cls(f"memory:{id(target):x}", bytes(target))
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
        return cls(f"memory:{name or hex(id(file))}", data)

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

    @property
    def parent(self) -> Location:
        """The folder that this lies in. Raises OpenError in memory, where there is none."""
        if self.data is not None:
            raise OpenError(f"{self.uri} lies in no folder", recording=self.uri)
        if self.path is not None:
            return Location(self.path.parent)
        return Location(self._place.rstrip("/").rpartition("/")[0])

    def is_folder(self) -> bool:
        if self.data is not None:
            return False
        if self.path is not None:
            return self.path.is_dir()
        file_system, path = url_to_fs(self._place)
        return bool(file_system.isdir(path))

    def exists(self) -> bool:
        if self.data is not None:
            return True
        if self.path is not None:
            return self.path.exists()
        file_system, path = url_to_fs(self._place)
        return bool(file_system.exists(path))

    def open(self) -> BinaryIO:
        """A new binary cursor at the start. Raises OpenError naming the place."""
        if self.data is not None:
            return io.BytesIO(self.data)
        try:
            if self.path is not None:
                return self.path.open("rb")
            file: BinaryIO = fsspec.open(self._place, "rb").open()
            return file
        except (OSError, ValueError, ImportError) as error:
            raise OpenError(f"cannot open {self.uri}: {error}", recording=self.uri) from error

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

    def child(self, relative: str) -> Location:
        """A place below this folder. Raises OpenError if it would lie outside."""
        parts = relative.replace("\\", "/").split("/")
        if ".." in parts or Path(relative).is_absolute() or "://" in relative:
            raise OpenError(f"{relative!r} lies outside of {self.uri}", recording=self.uri)
        inside = Location(f"{self._place.rstrip('/')}/{relative}")
        if self.path is not None and inside.path is not None:
            root, real = self.path.resolve(), inside.path.resolve()
            if not real.is_relative_to(root):
                raise OpenError(f"{relative!r} leads outside of {self.uri}", recording=self.uri)
        return inside

    def names(self) -> list[str]:
        """Sorted names of what lies directly in this folder; hidden ones left out."""
        if self.path is not None:
            found: Sequence[str] = os.listdir(self.path)
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
