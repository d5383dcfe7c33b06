"""ROS 2 bags stored with SQLite (.db3): the tables `topics` and `messages` of rosbag2's
`rosbag2_storage_sqlite3`, and `message_definitions` where there is one (since ROS 2 Iron).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

from genlock._logs import Channel, Connect, Place, Sink
from genlock._messages.codec import Schema
from genlock.errors import DecodeError, OpenError
from genlock.location import Location

MAGIC = b"SQLite format 3\0"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class SqliteLog:
    """A .db3 file. Thread-safe. It has to be a local file, or in memory."""

    def __init__(self, location: Location) -> None:
        self.location = location

    def scan(self, connect: Connect) -> tuple[str, ...]:
        database = _connected(self.location)
        try:
            sinks = _sinks(database, connect)
            return _scan(database, sinks)
        except sqlite3.Error as error:
            uri = self.location.uri
            raise OpenError(f"{uri} is not a sound ROS 2 bag: {error}", recording=uri) from error
        finally:
            database.close()

    def cursor(self) -> SqliteCursor:
        return SqliteCursor(self.location)


class SqliteCursor:
    """Reads messages by their row."""

    def __init__(self, location: Location) -> None:
        self._database = _connected(location)

    def read(self, place: Place) -> bytes:
        try:
            row = self._database.execute(
                "SELECT data FROM messages WHERE id = ?", (place.block,)
            ).fetchone()
        except sqlite3.Error as error:
            raise DecodeError(f"message {place.block} cannot be read: {error}") from error
        if row is None:
            raise DecodeError(f"message {place.block} is gone")
        return bytes(row[0])

    def close(self) -> None:
        self._database.close()


def _connected(location: Location) -> sqlite3.Connection:
    if location.data is not None:
        database = sqlite3.connect(":memory:", check_same_thread=False)
        database.deserialize(location.data)
        return database
    if location.path is None:
        raise OpenError(
            f"{location.uri} is an SQLite database, which is read from a local disk only: copy it",
            recording=location.uri,
        )
    path = location.path.absolute()
    if not path.exists():
        raise OpenError(f"{location.uri} does not exist", recording=location.uri)
    # a database that was not closed has messages in its -wal file, which "immutable" passes over
    mode = "mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"
    uri = f"file:{quote(str(path))}?{mode}"
    try:
        return sqlite3.connect(uri, uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise OpenError(f"cannot open {location.uri}: {error}", recording=location.uri) from error


def _sinks(database: sqlite3.Connection, connect: Connect) -> dict[int, Sink]:
    definitions = _definitions(database)
    topics = database.execute("SELECT id, name, type, serialization_format FROM topics ORDER BY id")
    return {
        number: connect(
            Channel(str(topic), Schema(str(type), encoding, *definitions.get(type, ())))
        )
        for number, topic, type, encoding in topics.fetchall()
    }


def _definitions(database: sqlite3.Connection) -> dict[str, tuple[str, bytes]]:
    """Language and text of the definition of each message type, as far as they are stored."""
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    if ("message_definitions",) not in tables:
        return {}
    found = database.execute(
        "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
    )
    return {type: (language, _bytes(text)) for type, language, text in found if _bytes(text)}


def _bytes(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text or b"")


def _scan(database: sqlite3.Connection, sinks: dict[int, Sink]) -> tuple[str, ...]:
    whole = ",".join(str(number) for number, sink in sinks.items() if sink.head is None)
    head = max((sink.head or 0 for sink in sinks.values()), default=0)
    rows = database.execute(
        "SELECT id, topic_id, timestamp, length(data), "
        f"CASE WHEN topic_id IN ({whole}) THEN data ELSE substr(data, 1, {max(head, 4)}) END "
        "FROM messages WHERE typeof(data) = 'blob' ORDER BY id"
    )
    last = 0
    try:
        for row, topic, log_ns, size, data in rows:
            if data[:4] == ZSTD_MAGIC:
                raise OpenError(
                    "its messages are compressed one by one: convert it with ros2 bag convert, "
                    "with compression_mode: none"
                )
            if topic in sinks:
                sinks[topic].add(log_ns, Place(row, 0, size), data)
            last = row
    except sqlite3.DatabaseError as error:
        return (f"the database is read up to message {last}: {error}",)
    return ()
