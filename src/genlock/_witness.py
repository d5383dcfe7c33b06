"""Which state of which places an opening has seen, so that one can tell whether it still holds.

A state is a short text: two looks at the same place give the same text exactly if nothing that
matters has changed in between. There are two aspects: "kind" is whether something is there and
what, "content" is what it holds: of a file its size and time of change, of a folder its listing.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from fsspec.core import url_to_fs

Aspect = Literal["kind", "content"]
Seen = tuple[str, Aspect, str]
"""A place, by absolute path or URL, the aspect that was looked at, and its state."""

YOUNG_NS = 20_000_000
"""A file that changed this recently may change again within one tick of its file system's clock,
which is a few milliseconds long, and keep its time."""
URL_VERSIONS = (
    *("ETag", "etag", "md5Hash", "Content-MD5"),
    *("mtime", "LastModified", "Last-Modified", "last_modified", "updated"),
)
"""What the file systems of fsspec call that which changes with a file's content."""


class Witness:
    """Collects what is looked at, each place as it was when first seen. Thread-safe.

    sound: whether every state is known; nothing that depends on an unsound witness may be kept.
    """

    def __init__(self) -> None:
        self.sound = True
        self._seen: dict[tuple[str, Aspect], str] = {}
        self._sealed = False

    def note(self, uri: str, local: bool, aspect: Aspect) -> None:
        """Look at a place, before it is read."""
        if self._sealed:
            return
        place = os.path.abspath(uri) if local else uri  # noqa: PTH100
        if (place, aspect) not in self._seen:
            state = state_of(place, aspect)
            self.sound = self.sound and state is not None
            self._seen[place, aspect] = state or ""

    def take_over(self, seen: Iterable[Seen]) -> None:
        """Note what another witness has seen."""
        for place, aspect, state in seen:
            self.sound = self.sound and state != ""
            self._seen.setdefault((place, aspect), state)

    def seal(self) -> None:
        """Look no further: what is read from now on is no part of opening."""
        self._sealed = True

    def __iter__(self) -> Iterator[Seen]:
        return ((place, aspect, state) for (place, aspect), state in self._seen.items())


def still(seen: Iterable[Seen]) -> bool:
    """Whether every place is as it was seen."""
    return all(state_of(place, aspect) == state for place, aspect, state in seen)


def state_of(place: str, aspect: Aspect) -> str | None:
    """The state of a path or URL; None if that cannot be told, or not yet."""
    try:
        return _of_url(place, aspect) if "://" in place else _of_path(place, aspect)
    except (FileNotFoundError, NotADirectoryError):
        return "absent"
    except (OSError, ValueError, ImportError):
        return None


def _of_path(path: str, aspect: Aspect) -> str | None:
    found = os.stat(path)  # noqa: PTH116
    is_folder = stat.S_ISDIR(found.st_mode)
    if aspect == "kind":
        return "folder" if is_folder else "file"
    if time.time_ns() - found.st_mtime_ns < YOUNG_NS:
        return None
    return f"{'' if is_folder else found.st_size}@{found.st_mtime_ns}"


def _of_url(url: str, aspect: Aspect) -> str | None:
    file_system, path = url_to_fs(url)
    info: dict[str, Any] = file_system.info(path)
    is_folder = info["type"] == "directory"
    if aspect == "kind":
        return "folder" if is_folder else "file"
    if is_folder:
        names = sorted(str(name) for name in file_system.ls(path, detail=False))
        return hashlib.blake2b("\0".join(names).encode(), digest_size=16).hexdigest()
    version = next((str(info[key]) for key in URL_VERSIONS if info.get(key)), None)
    return None if version is None else f"{info.get('size')}@{version}"
