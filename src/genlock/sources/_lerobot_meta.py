"""What the `meta` folder of a LeRobot data set says: its episodes, and where each one's files are.

Versions 2.0 and 2.1 keep episodes and tasks as JSON lines, and a file for each episode; 3.0 keeps
them as Parquet, and many episodes in a file, each a span of rows and of seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from genlock._nanoseconds import exact, to_ns
from genlock.errors import OpenError
from genlock.location import Location
from genlock.tables.arrays import is_text

INFO, EPISODES, TASKS = "meta/info.json", "meta/episodes", "meta/tasks"
EPISODE = "episode_index"
OLD_DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
OLD_VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"

_FIELD = re.compile(r"\{(\w+)(?::0?(\d\d?)d)?\}")


@dataclass(frozen=True)
class VideoSpan:
    """Where an episode's pictures of one key are: the whole file, or [start_ns, end_ns) of it."""

    path: str
    start_ns: int = 0
    end_ns: int | None = None


@dataclass(frozen=True)
class Episode:
    """One episode. data: the Parquet file that holds its rows. tasks: its texts, if stated."""

    index: int
    data: str
    videos: Mapping[str, VideoSpan]
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataSet:
    """A data set's description. Raises OpenError naming the file that cannot be read."""

    location: Location
    info: Mapping[str, Any] = field(repr=False)

    @classmethod
    def read(cls, location: Location) -> DataSet:
        """Read meta/info.json."""
        file = location.child(INFO)
        found = _parsed(file, file.read())
        for key in ("fps", "features"):
            if not isinstance(found, dict) or key not in found:
                raise OpenError(f"{file.uri} states no {key!r}", recording=location.uri)
        return cls(location, found)

    @property
    def features(self) -> Mapping[str, Mapping[str, Any]]:
        """What the data set declares of each column and video."""
        features: Mapping[str, Mapping[str, Any]] = self.info["features"]
        return features

    @cached_property
    def fps(self) -> Fraction:
        """Rows and pictures per second."""
        stated = self.info["fps"]
        fps = exact(stated) if isinstance(stated, int | float) else Fraction(0)
        if fps <= 0:
            raise OpenError(f"{self.location.child(INFO).uri}: fps is {stated!r}")
        return fps

    def keys(self, dtype: str) -> list[str]:
        """The features of a dtype, such as "video"."""
        return [key for key, one in self.features.items() if one.get("dtype") == dtype]

    @cached_property
    def tasks(self) -> Mapping[int, str]:
        """The texts of tasks by their index."""
        lines = self.location.child(f"{TASKS}.jsonl")
        if lines.exists():
            return {row["task_index"]: row["task"] for row in _json_lines(lines)}
        file = self.location.child(f"{TASKS}.parquet")
        if not file.exists():
            return {}
        table = _read_parquet(file)
        # pandas writes the texts as its index, under a name of its own
        texts = [table[name] for name in table.column_names if is_text(table[name].type)]
        return dict(zip(table["task_index"].to_pylist(), texts[0].to_pylist(), strict=True))

    def episodes(self) -> list[int]:
        """The numbers of all episodes that are declared."""
        if self._old is not None:
            return sorted(self._old)
        files = self._episode_files()
        return sorted(n for f in files for n in _read_parquet(f, [EPISODE])[0].to_pylist())

    def episode(self, index: int) -> Episode:
        """Where an episode is. Raises OpenError if it is not declared."""
        if self._old is not None:
            if index in self._old:
                return self._old_episode(index, self._old[index])
        else:
            for file in self._episode_files():
                found = _read_parquet(file, None, (EPISODE, index)).to_pylist()
                if found:
                    return self._new_episode(index, found[0])
        raise OpenError(f"{self.location.uri} has no episode {index}", recording=self.location.uri)

    @cached_property
    def _old(self) -> Mapping[int, Mapping[str, Any]] | None:
        """The episodes of versions 2.0 and 2.1 as declared, None for later ones."""
        file = self.location.child(f"{EPISODES}.jsonl")
        if not file.exists():
            return None
        return {row[EPISODE]: row for row in _json_lines(file)}

    def _episode_files(self) -> Iterator[Location]:
        folder = self.location.child(EPISODES)
        if not folder.is_folder():
            version = self.info.get("codebase_version")
            raise OpenError(
                f"{self.location.uri} is a LeRobot data set of version {version} without "
                f"{EPISODES}: versions 2.0, 2.1 and 3.0 are known",
                recording=self.location.uri,
            )
        for chunk in filter(re.compile(r"chunk-\d+").fullmatch, folder.names()):
            names = folder.child(chunk).names()
            yield from (folder.child(f"{chunk}/{n}") for n in names if n.endswith(".parquet"))

    def _old_episode(self, index: int, row: Mapping[str, Any]) -> Episode:
        numbers = {
            EPISODE: index,
            "episode_chunk": index // int(self.info.get("chunks_size") or 1000),
        }
        data = self._existing(self.info.get("data_path"), OLD_DATA, numbers)
        videos = {}
        for key in self.keys("video"):
            known = {**numbers, "video_key": key}
            videos[key] = VideoSpan(self._existing(self.info.get("video_path"), OLD_VIDEO, known))
        return Episode(index, data, videos, tuple(row.get("tasks") or ()))

    def _existing(self, stated: str | None, usual: str, known: Mapping[str, Any]) -> str:
        """The path that info.json states; the usual one where nothing is there."""
        path = _filled(stated or usual, known)
        return path if self.location.child(path).exists() else _filled(usual, known)

    def _new_episode(self, index: int, row: Mapping[str, Any]) -> Episode:
        def place(prefix: str) -> dict[str, Any]:
            return {key: row[f"{prefix}/{key}"] for key in ("chunk_index", "file_index")}

        videos = {}
        for key in self.keys("video"):
            prefix = f"videos/{key}"
            path = _filled(self.info["video_path"], {**place(prefix), "video_key": key})
            start, end = (to_ns(row[f"{prefix}/{at}_timestamp"]) for at in ("from", "to"))
            videos[key] = VideoSpan(path, start, end)
        data = _filled(self.info["data_path"], place("data"))
        return Episode(index, data, videos, tuple(row.get("tasks") or ()))


def read_rows(location: Location, episode: int) -> pa.Table:
    """The rows of one episode, from a file that may hold more. Raises OpenError naming it."""
    table = _read_parquet(location, None, (EPISODE, episode))
    if not table.num_rows:
        raise OpenError(f"{location.uri} holds no row of episode {episode}")
    return table


def row_numbers(location: Location, episode: int) -> NDArray[np.int64]:
    """Which rows of the file these are: int64 [N]."""
    episodes = _read_parquet(location, [EPISODE])[EPISODE].to_numpy()
    return np.flatnonzero(episodes == episode)


def _read_parquet(
    location: Location, columns: list[str] | None = None, where: tuple[str, int] | None = None
) -> pa.Table:
    """A table without its statistics and pictures."""
    try:
        with location.open() as file:
            schema = pq.read_schema(file)
            keep = [
                column.name
                for column in schema
                if not column.name.startswith("stats/") and not pa.types.is_struct(column.type)
            ]
            file.seek(0)
            filters = None
            if where is not None and where[0] in schema.names:
                filters = pc.field(where[0]) == where[1]
            return pq.read_table(file, columns=columns or keep, filters=filters, use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise OpenError(f"cannot read {location.uri}: {error}", recording=location.uri) from error


def _json_lines(location: Location) -> list[dict[str, Any]]:
    return [_parsed(location, line) for line in location.read().splitlines() if line.strip()]


def _parsed(location: Location, data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise OpenError(f"cannot read {location.uri}: {error}", recording=location.uri) from error


def _filled(template: str, known: Mapping[str, Any]) -> str:
    """A path template with its fields filled in; only plain names and widths are known in it."""

    def fill(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise OpenError(f"the path template {template!r} asks for {found[1]!r}")
        return str(known[found[1]]).zfill(int(found[2] or 0))

    return _FIELD.sub(fill, template)
