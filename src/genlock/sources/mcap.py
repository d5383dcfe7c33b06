"""MCAP files: ROS 2 (CDR), ROS 1, protobuf (Foxglove's schemas and others) and JSON messages.

Streams are named after topics, without the leading slash; which type of message becomes what is
one table, `_topics.kinds.KINDS`. docs/formats/ros.md says what is read and what is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genlock._logs.mcap import MAGIC, McapLog
from genlock.interfaces import OpenChild, OpenOptions
from genlock.location import Location
from genlock.sources._log_source import LogSource
from genlock.stream import Stream

CLOCK = "mcap"


class McapSource(LogSource):
    """An MCAP file as a source; see `LogSource`."""


def claims(location: Location, head: bytes) -> bool:
    """Whether this is an MCAP file: by its first bytes, then by its suffix."""
    return head.startswith(MAGIC) or (location.suffix == ".mcap" and not location.is_folder())


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> McapSource:
    """Open an MCAP file; it is read once from start to end.

    options.streams: `time = { from = "log" }` takes a stream's times from the log, `kind` and
    `depth` say what pictures are. Raises OpenError naming the location, MissingExtraError.
    """
    return McapSource(McapLog(location), CLOCK, options)


def restore(
    location: Location,
    options: OpenOptions,
    streams: Mapping[str, Stream],
    state: Mapping[str, Any],
) -> McapSource:
    """The source that had this state; nothing is read before its units are wanted."""
    return McapSource(McapLog(location), CLOCK, options, (streams, state))
