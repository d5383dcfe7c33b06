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
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from fsspec.core import url_to_fs

Aspect = Literal["kind", "content"]
Seen = Mapping[str, Mapping[Aspect, str]]
"""By place, an absolute path or URL, the states of the aspects that were looked at."""

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
        self._seen: dict[str, dict[Aspect, str]] = {}
        self._sealed = False

    def note(self, uri: str, local: bool, aspect: Aspect) -> None:
        """Look at a place, before it is read."""
        if self._sealed:
            return
        place = os.path.abspath(uri) if local else uri  # noqa: PTH100
        states = self._seen.setdefault(place, {})
        if aspect not in states:
            state = states_of(place, [aspect])[aspect]
            self.sound = self.sound and state is not None
            states[aspect] = state or ""

    def take_over(self, seen: Seen) -> None:
        """Note what another witness has seen."""
        for place, states in seen.items():
            self.sound = self.sound and "" not in states.values()
            self._seen[place] = {**states, **self._seen.get(place, {})}

    @property
    def seen(self) -> Seen:
        """What was looked at so far."""
        return self._seen

    def seal(self) -> None:
        """Look no further: what is read from now on is no part of opening."""
        self._sealed = True


def still(seen: Seen) -> bool:
    """Whether every place is as it was seen."""
    return all(states_of(place, states) == states for place, states in seen.items())


def states_of(place: str, aspects: Iterable[Aspect]) -> dict[Aspect, str | None]:
    """The states of a path or URL, by one look; None if they cannot be told, or not yet."""
    look = _url_states if "://" in place else _path_states
    try:
        return look(place, aspects)
    except (FileNotFoundError, NotADirectoryError):
        return dict.fromkeys(aspects, "absent")
    except (OSError, ValueError, ImportError):
        return dict.fromkeys(aspects)


def _path_states(path: str, aspects: Iterable[Aspect]) -> dict[Aspect, str | None]:
    found = os.stat(path)  # noqa: PTH116
    is_folder = stat.S_ISDIR(found.st_mode)
    content = f"{'' if is_folder else found.st_size}@{found.st_mtime_ns}"
    young = time.time_ns() - found.st_mtime_ns < YOUNG_NS
    kind = "folder" if is_folder else "file"
    return {a: kind if a == "kind" else None if young else content for a in aspects}


def _url_states(url: str, aspects: Iterable[Aspect]) -> dict[Aspect, str | None]:
    file_system, path = url_to_fs(url)
    info: dict[str, Any] = file_system.info(path)
    is_folder = info["type"] == "directory"
    states: dict[Aspect, str | None] = {}
    for aspect in aspects:
        if aspect == "kind":
            states[aspect] = "folder" if is_folder else "file"
        elif is_folder:
            names = sorted(str(name) for name in file_system.ls(path, detail=False))
            digest = hashlib.blake2b("\0".join(names).encode(), digest_size=16)
            states[aspect] = digest.hexdigest()
        else:
            version = next((str(info[key]) for key in URL_VERSIONS if info.get(key)), None)
            states[aspect] = None if version is None else f"{info.get('size')}@{version}"
    return states
