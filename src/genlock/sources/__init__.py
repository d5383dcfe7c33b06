"""One file per container or layout: paths in, streams and units out.

`FORMATS` is the one table of them. A format is chosen by content, then by suffix: the first whose
`claims` says yes opens the location.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from importlib import import_module
from typing import cast

from genlock._checked import meant
from genlock._ffmpeg import Media
from genlock.declaration import StreamDeclaration
from genlock.errors import OpenError
from genlock.interfaces import Format, OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._composed import ComposedSource, place

FORMATS = (
    "folder",
    "euroc",
    "lerobot",
    "tum",
    "redwood",
    "neon",
    "hot3d",
    "rosbag",
    "mcap",
    "aria",
    "images",
    "sound",
    "media",
    "vrs",
    "table",
    "loose",
)
"""Modules of this package in the order in which they are asked.

First what a recording.toml describes, then layouts of whole data sets, then logs of messages,
pictures, sound and other media, then tables, last folders of anything.
"""

SEVERAL = ("lerobot", "media")
"""Formats of which one location holds several recordings, or parts of one that open alone, each
named by a fragment."""

PICTURES = "images"
"""The format of folders of pictures, and of files that a declaration lists one by one."""
MEDIA = "media"
"""The format of files that none claims: MP3, ADTS or H.264 without a name, for example."""


def open_source(
    location: Location,
    options: OpenOptions | None = None,
    open_child: OpenChild | None = None,
) -> Source:
    """Open a recording or a file with the format that claims it.

    open_child: opens the files of a recording (default `read_source`). options.streams: keys as in
    a recording.toml, for any format: those about reading go to the format, those about place in
    time and space are applied here. Raises OpenError for what is not there, cannot be read, or is
    in no known format; LayoutError for a wrong declaration.
    """
    options = options or OpenOptions()
    open_child = open_child or read_source
    name = _format_name(location, options)
    if name in ("folder", "loose"):  # their streams lie in other files: they place them as well
        return module(name).open_source(location, options, open_child)
    declared = {key: StreamDeclaration.of(key, values) for key, values in options.streams.items()}
    reading = replace(options, streams={key: one.reading for key, one in declared.items()})
    source = open_child(location, reading)
    if not declared:
        return source
    try:
        return _placed(source, declared)
    except BaseException:
        source.close()
        raise


def format_of(location: Location) -> str | None:
    """The first format that claims a location, None if none does. Raises OpenError if absent."""
    if not location.exists():
        raise OpenError(f"{location.uri} does not exist", recording=location.uri)
    head = b"" if location.is_folder() else location.head()
    return next((name for name in FORMATS if module(name).claims(location, head)), None)


def read_source(
    location: Location, options: OpenOptions, open_child: OpenChild | None = None
) -> Source:
    """Open a file of a recording; its declarations say how to read it, and no more."""
    open_source = module(_format_name(location, options)).open_source
    return open_source(location, options, open_child or read_source)


def _format_name(location: Location, options: OpenOptions) -> str:
    if any("files" in values for values in options.streams.values()):
        return PICTURES
    name = format_of(location) or (MEDIA if _plays(location) else None)
    if name is None:
        tried = ", ".join(FORMATS)
        message = f"cannot open {location.uri}: it is in none of the formats known here ({tried})"
        raise OpenError(message, recording=location.uri)
    if location.fragment is not None and name not in SEVERAL:
        part = "#{}={}".format(*location.fragment)
        message = f"{location.uri}: {part} names one recording of several, but there is only one"
        raise OpenError(message, recording=location.uri)
    return name


def _plays(location: Location) -> bool:
    """Whether FFmpeg, which looks deeper than a few bytes, finds pictures or sound in a file."""
    try:
        media = Media(location)
    except OpenError:
        return False
    with closing(media):
        return bool(media.tracks("video") or media.tracks("audio"))


def module(name: str) -> Format:
    """The module of a format."""
    return cast(Format, import_module(f"{__name__}.{name}"))


def _placed(source: Source, declared: Mapping[str, StreamDeclaration]) -> Source:
    """A source whose streams stand where the caller says."""
    for name, declaration in declared.items():
        if name not in source.streams:
            hint = meant(name, source.streams)
            raise declaration.place.error(f"{source.location.uri} has no such stream{hint}")
    location = source.location
    base = location if location.data is not None or location.is_folder() else location.parent
    parts = [
        place(source, name, name, declared.get(name, StreamDeclaration.of(name, {})), base)
        for name in source.streams
    ]
    clocks = {part.stream.info.clock for part in parts}
    clock = clocks.pop() if len(clocks) == 1 else source.clock
    closing = ExitStack()
    closing.callback(source.close)
    return ComposedSource(location, clock, source.clocks, parts, closing)
