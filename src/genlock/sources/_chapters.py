"""Recordings that a GoPro camera has cut into files: their names, order, and one clock.

    GX010123.MP4 GX020123.MP4 …   since HERO6: two letters, the chapter, the recording's number
    GOPR0123.MP4 GP010123.MP4 …   before
    GXAA0001.MP4 GXAA0002.MP4 …   looping: the letters are the recording, the number is the chapter

Names: "GoPro Camera File Naming Convention" of GoPro's support pages. A chapter begins where the
pictures of the one before end; what containers claim to last is not asked. Sound that misses this
by no more than a packet goes on where it ended: packets of sound are not as long as pictures.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from genlock.errors import OpenError
from genlock.interfaces import CodecSpec, UnitTable
from genlock.location import Location
from genlock.sources._packet_log import Joint, moved
from genlock.sources._packets import PacketUnits

FRAGMENT = "chapter"
SUFFIXES = ("MP4", "360", "LRV")
_FIRST = re.compile(r"GOPR(?P<recording>\d{4})")
_NUMBERED = re.compile(r"(?P<kind>G[A-Z])(?P<chapter>\d\d)(?P<recording>\d{4})")
_LOOPING = re.compile(r"(?P<recording>G[A-Z]{3})(?P<chapter>\d{4})")


class Name(NamedTuple):
    """A chapter by its file's name. recording: what the names of all its chapters share."""

    recording: tuple[str, ...]
    chapter: int

    @classmethod
    def of(cls, file: str) -> Name | None:
        """None for a name of another form."""
        stem, _, suffix = file.upper().rpartition(".")
        if suffix not in SUFFIXES:
            return None
        if first := _FIRST.fullmatch(stem):
            return cls(("GP", first["recording"], suffix), 0)
        if numbered := _NUMBERED.fullmatch(stem):
            return cls((numbered["kind"], numbered["recording"], suffix), int(numbered["chapter"]))
        if looping := _LOOPING.fullmatch(stem):
            return cls((looping["recording"], suffix), int(looping["chapter"]))
        return None


def without_later_chapters(files: Iterable[str]) -> list[str]:
    """Names of files, of the chapters of each recording only the first."""
    kept: dict[Any, str] = {}
    for file in files:
        name = Name.of(file)
        key = file if name is None else name.recording
        known = None if name is None or key not in kept else Name.of(kept[key])
        if known is None or (name is not None and name < known):
            kept[key] = file
    return list(kept.values())


def files_of(location: Location) -> tuple[Location, ...]:
    """The files of a recording in order, by its first one; of any other file, that alone.

    A fragment #chapter=2 asks for one chapter alone. Raises OpenError for a later chapter, and
    where one in between is not there.
    """
    own = None if location.data is not None else Name.of(location.name)
    asked = location.fragment
    if own is None:
        if asked is not None:
            _refuse(location, "is no chapter of a GoPro recording: leave #chapter= out")
        return (location,)
    chapters = {own.chapter: location.name}
    for file in _beside(location):
        name = Name.of(file)
        if name is not None and name.recording == own.recording:
            chapters.setdefault(name.chapter, file)
    if asked is not None:
        if asked[0] != FRAGMENT or not asked[1].isdecimal() or int(asked[1]) not in chapters:
            there = ", ".join(map(str, sorted(chapters)))
            _refuse(location, f"the chapters that are there are {there}, each #chapter=NUMBER")
        return (location.parent.child(chapters[int(asked[1])], listed=True),)
    first, last = min(chapters), max(chapters)
    alone = f"{location.uri}#{FRAGMENT}={own.chapter} is this chapter alone"
    if own.chapter != first:
        _refuse(location, f"is a later chapter of a recording: open {chapters[first]}; {alone}")
    for chapter in range(first, last):
        if chapter not in chapters:
            missing = f"chapter {chapter} of {first} to {last} is not there"
            _refuse(location, f"{missing}, and nothing says how long it was; {alone}")
    if len(chapters) == 1:
        return (location,)
    return tuple(location.parent.child(chapters[c], listed=True) for c in sorted(chapters))


def _beside(location: Location) -> list[str]:
    try:
        return location.parent.names()
    except (OpenError, NotImplementedError):  # what cannot be listed, as over HTTP
        return []


def _refuse(location: Location, why: str) -> None:
    raise OpenError(f"{location.uri} {why}", recording=location.uri)


class ChapterUnits:
    """A cursor over a track that goes on from file to file; see `PacketUnits`.

    open_file: opens the cursor over one file's packets. Two files are open at most: the first,
    whose context decodes all, and the one that is read.
    """

    def __init__(
        self, table: UnitTable, joints: Sequence[Joint], open_file: Callable[[int], PacketUnits]
    ) -> None:
        self._starts = [joint.unit for joint in joints]
        self._open_file = open_file
        self._first = open_file(0)
        self._number, self._current = 0, self._first
        self.spec: CodecSpec = replace(self._first.spec, table=table)

    def unit(self, index: int) -> Any:
        return next(iter(self.units(index)))[1]

    def units(self, first: int) -> Iterator[tuple[int, Any]]:
        begin = bisect_right(self._starts, first) - 1
        for number in range(begin, len(self._starts)):
            start = self._starts[number]
            for index, packet in self._file(number).units(max(first - start, 0)):
                yield start + index, packet

    def _file(self, number: int) -> PacketUnits:
        if number != self._number:
            self._close_current()
            self._number, self._current = 0, self._first
            if number:
                self._number, self._current = number, self._open_file(number)
        return self._current

    def _close_current(self) -> None:
        if self._current is not self._first:
            self._current.close()

    def close(self) -> None:
        self._close_current()
        self._first.close()


def table_of(table: UnitTable, joints: Sequence[Joint], number: int) -> UnitTable:
    """The units of one file, at its own times; they say nothing of rows and samples."""
    start, shift = joints[number]
    stop = joints[number + 1].unit if number + 1 < len(joints) else len(table.pts)
    cut = slice(start, stop)
    return UnitTable(
        moved(table.pts[cut], -shift),
        moved(table.dts[cut], -shift),
        table.key[cut],
        table.disposable[cut],
        np.zeros(0, np.int64),
        table.time_base,
        None if table.size is None else table.size[cut],
        position=None if table.position is None else table.position[cut],
    )


def joined_notes(files: Sequence[Location], starts: Sequence[Fraction]) -> tuple[str, ...]:
    """What the reports of all streams say of where the files meet."""
    return tuple(
        f"{file.name} goes on at {float(start):.6f} s"
        for file, start in zip(files[1:], starts[1:], strict=True)
    )
