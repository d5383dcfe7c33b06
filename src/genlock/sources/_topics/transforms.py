"""Topics of transforms (TF): one stream of poses for each pair of frames, static ones apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from genlock._messages import Codec
from genlock._messages.codec import NO_STAMP, TIME_DTYPE, Group, parse_sound
from genlock.sources._topics.messages import Entries, Entry, Messages
from genlock.sources._topics.tables import (
    POSE_UNITS,
    pose_columns,
    table_info,
    table_track,
    with_frames,
)
from genlock.sources._topics.topic import Topic, TopicSpec, Track, When
from genlock.stream import Extrinsics, Stream
from genlock.timeline import Timeline

WAITING = 1024


class TransformPaths(NamedTuple):
    """Where a message holds a transform. many: whether it holds a list of them."""

    stamp: str = "header.stamp"
    parent: str = "header.frame_id"
    child: str = "child_frame_id"
    position: str = "transform.translation"
    orientation: str = "transform.rotation"
    many: bool = True

    def within(self, item: str) -> TransformPaths:
        """The same in the element of a list."""
        if not self.many:
            return self
        stamp, parent, child, position, orientation = (
            f"transforms[{item}].{path}" for path in self[:5]
        )
        return TransformPaths(stamp, parent, child, position, orientation)


class TransformTopic(Topic):
    """Transforms between frames, of which a message may hold several.

    fixed: those of a static topic, by child frame; these are calibration rather than streams.
    """

    head = None

    def __init__(self, spec: TopicSpec, paths: TransformPaths) -> None:
        super().__init__(spec)
        self._paths = paths
        self._is_static = spec.name.split("/")[-1] == "tf_static"
        self._waiting: list[tuple[Entry, Codec, bytes]] = []
        self._pairs: dict[tuple[str, str], Entries] = {}
        self.fixed: dict[str, Extrinsics] = {}

    def add(self, entry: Entry, codec: Codec, data: bytes) -> None:
        self._waiting.append((entry, codec, data))
        if len(self._waiting) >= WAITING:
            self._sort_out()

    def _sort_out(self) -> None:
        """Find the pairs of frames of the messages that wait, many at a time."""
        waiting, self._waiting = self._waiting, []
        for codec in {id(codec): codec for _, codec, _ in waiting}.values():
            entries = [entry for entry, reader, _ in waiting if reader is codec]
            found = [data for _, reader, data in waiting if reader is codec]
            read = 0
            for group in parse_sound(codec, found):
                read += len(group.rows)
                for item in range(1) if not self._paths.many else count():
                    paths = self._paths.within(str(item))
                    if not {paths.parent, paths.child} <= group.columns.keys():
                        break
                    self._take(group, item, paths, [entries[row] for row in group.rows])
            if read < len(found):
                self.leave_out(len(found) - read, "they do not fit their definition")

    def _take(
        self, group: Group, item: int, paths: TransformPaths, entries: Sequence[Entry]
    ) -> None:
        """One transform of each message of a group."""
        columns = group.columns
        names = zip(columns[paths.parent].tolist(), columns[paths.child].tolist(), strict=True)
        stamps = _stamps(columns, paths.stamp, len(entries))
        for row, (parent, child) in enumerate(names):
            pair = (str(parent).lstrip("/"), str(child).lstrip("/"))
            if self._is_static:
                self.fixed[pair[1]] = _extrinsics(pair[0], columns, paths, row)
            else:
                entry = entries[row]._replace(stamp_ns=stamps[row], item=item)
                self._pairs.setdefault(pair, Entries()).add(entry)

    def state(self) -> Mapping[str, Any]:
        return {"pairs": [(*pair, entries.state()) for pair, entries in self._pairs.items()]}

    def resume(self, state: Mapping[str, Any]) -> None:
        self._pairs = {(a, b): Entries.restored(kept) for a, b, kept in state["pairs"]}

    def tracks(self) -> Sequence[Track]:
        self._sort_out()
        if not self._pairs and not self.fixed:
            self.require_sound()
        tracks = []
        for pair, entries in sorted(self._pairs.items()):
            name = "/".join((self.spec.name, *pair))
            messages, when = self.rows(name, entries)
            tracks.append(self._track(name, pair, messages, when))
        return tracks

    def _track(self, name: str, pair: tuple[str, str], messages: Messages, when: When) -> Track:
        paths = self._paths.within("#")
        columns = pose_columns(paths.position, paths.orientation)
        info = with_frames(table_info(self.spec, "pose", columns, when, POSE_UNITS), pair)
        return table_track(Stream(name, info, Timeline(when.ns)), messages, columns)


def _stamps(columns: Mapping[str, NDArray[Any]], path: str, count: int) -> list[int]:
    """The times at a path in ns; NO_STAMP where there are none, or numbers of unknown unit."""
    stamps = columns[path] if path in columns else np.zeros(count)
    return stamps.astype(np.int64).tolist() if stamps.dtype == TIME_DTYPE else [NO_STAMP] * count


def _extrinsics(
    parent: str, columns: Mapping[str, NDArray[Any]], paths: TransformPaths, row: int
) -> Extrinsics:
    position = [float(columns[f"{paths.position}.{axis}"][row]) for axis in "xyz"]
    quaternion = [float(columns[f"{paths.orientation}.{axis}"][row]) for axis in "xyzw"]
    return Extrinsics(parent, tuple(position), tuple(quaternion))  # type: ignore[arg-type]
