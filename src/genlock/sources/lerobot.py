"""LeRobot data sets, versions 2.0, 2.1 and 3.0: one episode is one recording.

`dataset/#episode=3` names an episode; a data set of a single one needs no number. Every numeric
column is a stream of its own, every video key too, and the tasks are labels. Row k of an episode
is at frame_index / fps, as the data set declares; its stored timestamps are checked against that.
Format: LeRobot's documentation of LeRobotDataset v2.1 and v3.0. docs/formats/lerobot.md says what
becomes which stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from genlock._nanoseconds import SECOND_NS, Nanoseconds, ticks_to_ns, to_ns
from genlock.errors import GenlockError, OpenError
from genlock.interfaces import OpenChild, OpenOptions, Source
from genlock.location import Location
from genlock.sources._arrays import Arrays
from genlock.sources._assembled import Assembly, segment
from genlock.sources._lerobot_meta import (
    INFO,
    DataSet,
    Episode,
    VideoSpan,
    read_rows,
    row_numbers,
)
from genlock.sources._lerobot_pictures import CellPictures
from genlock.tables.arrays import dtype_name, is_list, to_array
from genlock.tables.times import stamps_ns

CLOCK = "lerobot"
TIME, FRAME, EPISODE, TASK = "timestamp", "frame_index", "episode_index", "task_index"
TOLERANCE_NS = 100_000
"""How far a stored time may be from the grid of frames, as LeRobot's own check allows."""
FLOAT32 = 2e-6
"""What the same allows more for, relative to the time: stamps are summed up in 32 bits."""


def claims(location: Location, head: bytes) -> bool:
    """A folder with a meta/info.json that states a version of LeRobot's code."""
    if not location.is_folder():
        return False
    info = location.child(INFO)
    return info.exists() and b'"codebase_version"' in info.read()


def open_source(location: Location, options: OpenOptions, open_child: OpenChild) -> Source:
    """Open one episode; its table is read, its videos' packets are listed, nothing is decoded.

    Raises OpenError for a data set of several episodes without the number of one, an episode that
    is not there, and metadata that contradict themselves.
    """
    try:
        data = DataSet.read(location)
        episode = data.episode(_number(data))
        with Assembly(location, CLOCK, options, open_child) as assembly:
            _add_rows(assembly, data, episode)
            for key, span in episode.videos.items():
                _add_video(assembly, data, key, span)
            return assembly.source()
    except GenlockError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        message = f"{location.uri}: its metadata are incomplete or damaged ({reason})"
        raise OpenError(message, recording=location.uri) from error


def episodes(location: Location) -> list[str]:
    """The uris of all episodes at a location, each of which `open_source` opens."""
    if location.fragment is not None:
        return [location.uri]
    return [_uri(location, index) for index in DataSet.read(location).episodes()]


def _uri(location: Location, index: int) -> str:
    return f"{location.uri.rstrip('/')}/#episode={index}"


def _number(data: DataSet) -> int:
    location = data.location
    if location.fragment is None:
        found = data.episodes()
        if len(found) == 1:
            return found[0]
        example = _uri(location, found[0] if found else 0)
        raise OpenError(
            f"{location.uri} holds {len(found)} episodes, each a recording of its own: open one, "
            f"such as {example!r}",
            recording=location.uri,
        )
    key, value = location.fragment
    if key != "episode" or not value.isdecimal():
        raise OpenError(f"{location.uri}: a part of a LeRobot data set is named #episode=NUMBER")
    return int(value)


def _add_rows(assembly: Assembly, data: DataSet, episode: Episode) -> None:
    file = data.location.child(episode.data)
    rows = read_rows(file, episode.index)
    ns, notes = _times(rows, data)
    rate = float(data.fps)
    for name in rows.column_names:
        if name in (TIME, EPISODE) or not _is_numeric(rows[name].type):
            continue
        with assembly.reading(name, "sensor", file):
            columns = _columns(name, rows[name], data.features.get(name, {}).get("names"))
            part = assembly.table(name, "sensor", ns, columns, codec="parquet", rate=rate)
            assembly.add(part, notes=notes)
    for key in data.keys("image"):
        with assembly.reading(key, "video", file):
            cells = CellPictures(file, key, row_numbers(file, episode.index), ns)
            assembly.add(assembly.own(key, cells), notes=notes, rate=rate)
    starts, durations, texts = _task_runs(rows, ns, data, episode)
    if len(texts):
        values = {"value": np.array(texts, object)}
        assembly.add(assembly.table("task", "labels", starts, values, durations))


def _times(rows: pa.Table, data: DataSet) -> tuple[Nanoseconds, tuple[str, ...]]:
    """Times of the rows, and what is to be noted of them.

    On the grid of frames if the stored ones are, whatever they start at; else the stored ones.
    """
    count = rows.num_rows
    frames = np.arange(count)
    if FRAME in rows.column_names:
        frames = to_array(rows[FRAME]).reshape(count)
    grid = ticks_to_ns(frames, SECOND_NS / data.fps)
    if TIME not in rows.column_names:
        return grid, (f"times are row / fps: there is no column {TIME!r}",)
    column = rows[TIME]
    stored = stamps_ns(pc.list_flatten(column) if is_list(column.type) else column, "s")
    late = stored - grid
    offset = int(np.median(late))
    if (np.abs(late - offset) > TOLERANCE_NS + FLOAT32 * grid).any():
        return stored, (f"times are the column {TIME!r}, which is not {FRAME} / fps",)
    if abs(offset) <= TOLERANCE_NS:
        return grid, ()
    frames_late = offset * data.fps / SECOND_NS
    return grid, (
        f"the column {TIME!r} is {offset / 1e9:+.6f} s off, {float(frames_late):+.2f} frames, from "
        f"{FRAME} / fps, which is used, so that row k goes with picture k",
    )


def _is_numeric(kind: pa.DataType) -> bool:
    while is_list(kind):
        kind = kind.value_type
    return dtype_name(kind) not in ("", "str")


def _columns(name: str, column: pa.ChunkedArray, names: Any) -> Arrays:
    """One array for each of the names that the data set gives to the dimensions, if it does."""
    rows = len(column)
    while is_list(column.type) and is_list(column.type.value_type):
        column = pc.list_flatten(column)
    values = to_array(column).reshape(rows, -1)
    named = _flat(names)
    if len(named) != values.shape[1] or len(set(named)) != len(named) or len(named) < 2:
        return {name: values[:, 0] if values.shape[1] == 1 else values}
    return dict(zip(named, values.T, strict=True))


def _flat(names: Any) -> list[str]:
    """The names of dimensions: a list, or a table of lists by what they have in common."""
    if isinstance(names, dict):
        return [name for group in names.values() for name in _flat(group)]
    return [str(name) for name in names] if isinstance(names, list) else []


def _task_runs(
    rows: pa.Table, ns: Nanoseconds, data: DataSet, episode: Episode
) -> tuple[Nanoseconds, NDArray[np.int64], list[str]]:
    """Starts, durations and texts of the tasks: each as long as consecutive rows have it."""
    end = ns.max(keepdims=True) + to_ns(1 / data.fps)
    if TASK not in rows.column_names:
        count = len(episode.tasks)
        return np.repeat(ns.min(), count), np.repeat(end - ns.min(), count), list(episode.tasks)
    order = np.argsort(ns, kind="stable")
    tasks = to_array(rows[TASK]).reshape(len(ns))[order]
    first = np.flatnonzero(np.diff(tasks, prepend=tasks[0] - 1))
    starts = ns[order][first]
    durations = np.diff(np.concatenate([starts, end]))
    return starts, durations, [data.tasks.get(t, str(t)) for t in tasks[first].tolist()]


def _add_video(assembly: Assembly, data: DataSet, key: str, span: VideoSpan) -> None:
    location = data.location.child(span.path)
    part = assembly.track(key, "video", location, "video")
    if span.end_ns is not None and part.source is not None:
        part = segment(part, span.start_ns, span.end_ns, slack_ns=to_ns(1 / data.fps) // 2)
    assembly.add(part, notes=tuple(_video_notes(data.features[key])))


def _video_notes(feature: Any) -> Iterator[str]:
    info = {**(feature.get("video_info") or {}), **(feature.get("info") or {})}
    if info.get("is_depth_map") or info.get("video.is_depth_map"):
        yield "declared to be depth, without saying how it is coded: declare depth = { scale = … }"
