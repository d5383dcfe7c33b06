"""Small logs, written by the packages that define the formats (mcap, rosbags)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mcap.writer import CompressionType, IndexType, Writer
from rosbags import rosbag1, rosbag2
from rosbags.typesys.store import Typestore

from genlock._messages import Schema
from ros_types import ROS1, ROS2, encode, schema

Recorded = Mapping[str, Sequence[tuple[int, Any]]]
"""By topic, (log time in ns, message): a message of ROS 2, or (schema, bytes)."""


def mcap_bytes(
    topics: Recorded,
    compression: CompressionType = CompressionType.ZSTD,
    chunked: bool = True,
    summary: bool = True,
    chunk_size: int = 1 << 20,
    finish: bool = True,
) -> bytes:
    """An MCAP file; its messages are in order of log time. finish: whether it has an end."""
    file = io.BytesIO()
    writer = Writer(
        file,
        compression=compression,
        use_chunking=chunked,
        chunk_size=chunk_size,
        index_types=IndexType.ALL if summary else IndexType.NONE,
        repeat_channels=summary,
        repeat_schemas=summary,
        use_statistics=summary,
        use_summary_offsets=summary,
    )
    writer.start()
    channels: dict[tuple[str, Schema], int] = {}
    for log_ns, topic, what, data in in_order(topics):
        if (topic, what) not in channels:
            number = writer.register_schema(what.name, what.language, what.definition)
            channels[topic, what] = writer.register_channel(topic, what.encoding, number)
        writer.add_message(channels[topic, what], log_ns, data, log_ns)
    if finish:
        writer.finish()
    return file.getvalue()


def in_order(topics: Recorded) -> list[tuple[int, str, Schema, bytes]]:
    """(log time, topic, schema, bytes) of all messages in order of log time."""
    found = []
    for topic, messages in topics.items():
        for log_ns, message in messages:
            pair = message if isinstance(message, tuple) else coded(message)
            found.append((log_ns, topic, *pair))
    return sorted(found, key=lambda one: one[0])


def coded(message: Any, store: Typestore = ROS2) -> tuple[Schema, bytes]:
    return schema(message.__msgtype__, store), encode(message, store)


def write_bag1(
    path: Path, topics: Recorded, compression: Any = None, chunk_bytes: int | None = None
) -> Path:
    """A ROS 1 bag; messages are of the ROS 1 store. A topic may be given on two connections, by
    a name that ends with "#2".
    """
    writer = rosbag1.Writer(path)
    if compression is not None:
        writer.set_compression(compression)
    if chunk_bytes is not None:
        writer.chunk_threshold = chunk_bytes
    with writer:
        connections: dict[str, Any] = {}
        merged = [(t, topic, m) for topic, found in topics.items() for t, m in found]
        for log_ns, topic, message in sorted(merged, key=lambda one: one[0]):
            if topic not in connections:
                name, type = topic.partition("#")[0], message.__msgtype__
                options = {"callerid": f"/{topic}"}
                connections[topic] = writer.add_connection(name, type, typestore=ROS1, **options)
            writer.write(connections[topic], log_ns, encode(message, ROS1))
    return path


def write_bag2(path: Path, topics: Recorded, storage: str = "sqlite3") -> Path:
    """A ROS 2 bag: a folder with its metadata.yaml."""
    plugin = {"sqlite3": rosbag2.StoragePlugin.SQLITE3, "mcap": rosbag2.StoragePlugin.MCAP}
    with rosbag2.Writer(path, version=9, storage_plugin=plugin[storage]) as writer:
        connections: dict[str, Any] = {}
        merged = [(t, topic, m) for topic, found in topics.items() for t, m in found]
        for log_ns, topic, message in sorted(merged, key=lambda one: one[0]):
            if topic not in connections:
                type = message.__msgtype__
                connections[topic] = writer.add_connection(topic, type, typestore=ROS2)
            writer.write(connections[topic], log_ns, encode(message))
    return path
