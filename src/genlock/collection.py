"""Folders of many recordings: which of what lies below is a recording of its own.

`gl.open` opens one recording; `recordings` says what to open, and `Windows` takes them all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from genlock import sources
from genlock.errors import OpenError
from genlock.location import Location
from genlock.sources import PICTURES, format_of
from genlock.sources._chapters import without_later_chapters

LOOSE, TABLE = "loose", "table"


def recordings(folder: str | os.PathLike[str]) -> list[str]:
    """Paths or URLs of all recordings in a folder and the folders below it, in order of names.

    A folder that is in a known layout or has a recording.toml is one recording, a data set of
    episodes or a folder of VRS files is as many as it has, a folder of pictures is one. Of any
    other folder each media file is one; but a single one beside tables or pictures is a recording
    together with them. Tables count where there is nothing else. With a progress bar if it takes
    over a second. Raises OpenError for a folder that is not there.
    """
    found = _below(Location.of(folder))
    return list(tqdm(found, "recordings", unit="", delay=1, disable=None, leave=False))


def expanded(target: Any) -> list[str] | None:
    """The recordings that a path or URL stands for; None if it is none, or nothing but itself."""
    if not isinstance(target, str | os.PathLike) or os.path.isfile(target):  # noqa: PTH113
        return None  # without looking further, since data sets name many files
    location = Location.of(target)
    if not location.is_folder() or not _holds_several(location, format_of(location)):
        return None
    return recordings(target) or None


def _holds_several(location: Location, name: str | None) -> bool:
    """Whether a folder in this format may be something other than one recording."""
    if name is None or location.fragment is not None:
        return False
    return name == LOOSE or hasattr(sources.module(name), "episodes")


def _below(location: Location, above: frozenset[Path] = frozenset()) -> Iterator[str]:
    """above: the folders that led here, as no link may lead back to one."""
    name = format_of(location)
    if name is None:
        return
    if not location.is_folder() or not _holds_several(location, name):
        yield location.uri
    elif name == LOOSE:
        here = frozenset() if location.path is None else {location.path.resolve()}
        if not here & above:
            yield from _of_loose(location, above | here)
    else:
        yield from vars(sources.module(name))["episodes"](location)


def _of_loose(location: Location, above: frozenset[Path]) -> Iterator[str]:
    files: list[Location] = []
    tables: list[Location] = []
    folders: list[Location] = []
    pictures: list[Location] = []
    for child in _children(location):
        name = format_of(child)
        if child.is_folder():
            (pictures if name == PICTURES else folders).append(child)
        elif name == TABLE:
            tables.append(child)
        elif name not in (None, PICTURES):
            files.append(child)
    if len(files) == 1 and (tables or pictures):
        yield location.uri
    elif files:
        yield from (file.uri for file in files)
    else:
        folders = sorted((*folders, *pictures), key=lambda folder: folder.name)
    inner = (uri for folder in folders for uri in _below(folder, above))
    first = next(inner, None)
    if first is not None:
        yield first
        yield from inner
    elif not files:
        yield from (table.uri for table in tables)


def _children(location: Location) -> Iterator[Location]:
    """What lies in a folder, without links that lead nowhere, or to folders elsewhere, and of the
    chapters of a recording the first."""
    for name in without_later_chapters(location.names()):
        with suppress(OpenError):
            child = location.child(name, listed=True)
            if child.exists():
                yield child
