"""ROS bags: ROS 1 (.bag), and ROS 2 (.db3, or a folder with its metadata.yaml).

Streams are named after topics, without the leading slash. docs/formats/ros.md says what is read
and what is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from genlock._logs import MessageLog, ros1, sqlite
from genlock._logs.mcap import McapLog
from genlock._logs.several import SplitLog
from genlock.errors import OpenError
from genlock.interfaces import OpenChild, OpenOptions
from genlock.location import Location
from genlock.sources._log_source import LogSource
from genlock.stream import Stream

CLOCK = "ros"
METADATA = "metadata.yaml"
TITLE = "rosbag2_bagfile_information"
"""The key that a ROS 2 bag's metadata stands under."""


class BagSource(LogSource):
    """A bag as a source; see `LogSource`."""


def claims(location: Location, head: bytes) -> bool:
    """Whether this is a bag: a ROS 1 or .db3 file, or a folder with a ROS 2 bag's metadata."""
    if location.is_folder():
        metadata = location.child(METADATA)
        return metadata.exists() and TITLE.encode() in metadata.head()
    if head.startswith(ros1.MAGIC) or location.suffix in (".bag", ".db3"):
        return True
    return location.data is not None and head.startswith(sqlite.MAGIC)


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> BagSource:
    """Open a bag; it is read once from start to end.

    options.streams: as for MCAP. Raises OpenError naming the location, MissingExtraError.
    """
    return BagSource(_log(location), CLOCK, options)


def restore(
    location: Location,
    options: OpenOptions,
    streams: Mapping[str, Stream],
    state: Mapping[str, Any],
) -> BagSource:
    """The source that had this state; nothing is read before its units are wanted."""
    return BagSource(_log(location), CLOCK, options, (streams, state))


def _log(location: Location) -> MessageLog:
    if location.is_folder():
        return _folder(location)
    if location.suffix == ".db3" or location.head(len(sqlite.MAGIC)) == sqlite.MAGIC:
        return sqlite.SqliteLog(location)
    return ros1.Bag1Log(location)


def _folder(location: Location) -> MessageLog:
    """The files of a ROS 2 bag, in order."""
    metadata = _metadata(location)
    paths = [str(path).rpartition("/")[2] for path in metadata.get("relative_file_paths", ())]
    logs = [_part(location, location.child(path)) for path in paths]
    if not logs:
        raise _error(location, "its metadata.yaml lists no files")
    return logs[0] if len(logs) == 1 else SplitLog(location, logs)


def _part(location: Location, file: Location) -> MessageLog:
    if not file.exists():
        raise _error(location, f"{file.name} is missing, which its metadata.yaml lists")
    if file.suffix == ".mcap":
        return McapLog(file)
    if file.suffix == ".db3":
        return sqlite.SqliteLog(file)
    if re.search(r"\.zstd?$", file.name):
        raise _error(location, f"{file.name} is compressed: decompress it with zstd -d")
    raise _error(location, f"storage of the kind {file.suffix} is not known (.mcap, .db3 are)")


def _metadata(location: Location) -> dict[str, Any]:
    try:
        return dict(yaml.safe_load(location.child(METADATA).read())[TITLE])
    except (yaml.YAMLError, TypeError, KeyError, ValueError) as error:
        raise _error(location, f"its metadata.yaml cannot be read ({error})") from error


def _error(location: Location, problem: str) -> OpenError:
    return OpenError(f"cannot open {location.uri}: {problem}", recording=location.uri)
