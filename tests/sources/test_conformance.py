"""What every format keeps, whatever it holds: one suite over one real recording of each.

Timelines are sorted int64 ns; rows read in any order, and on several threads, equal a sequential
read; files are closed; a recording pickles by its uri; errors name the file.
"""

from __future__ import annotations

import gc
import os
import pickle
import shutil
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import genlock as gl
from genlock.interfaces import FrameFormat, OpenOptions
from genlock.location import Location
from genlock.opened import Opened
from genlock.stream import Stream
from genlock.timeline import SampledTimeline

LEROBOT = "lerobot-v20-gr00t#episode=3"
RECORDINGS = {
    "mp4": "video-codecs/nasa_13013.mp4",
    "mov": "video-rotated/video_90.mov",
    "mkv": "video-codecs/flipping_a_pancake.mkv",
    "webm": "video-codecs/bbb_642x642_768kbps_30fps_vp9.webm",
    "ts": "video-timing/sample_h265.ts",
    "gopro": "gopro-gpmf/karma.mp4",
    "wav": "audio/sample_rf64.wav",
    "adpcm": "audio/sample_ima_adpcm.wav",
    "ogg": "audio/bear_vorbis_gap.ogg",
    "mp3": "video-codecs/nasa_13013.mp4.audio.mp3",
    "png": "rgbd-redwood/depth/00000.png",
    "csv": "euroc-micro/mav0/imu0/data.csv",
    "parquet": "lerobot-v20-gr00t/data/chunk-000/episode_000003.parquet",
    "euroc": "euroc-micro",
    "redwood": "rgbd-redwood",
    "lerobot": LEROBOT,
    "neon": "neon",
    "hot3d": "hot3d-quest3",
    "mcap": "mcap-euroc-img-imu/euroc_micro_img_imu.mcap",
    "rosbag": "rosbag1-foxglove/example-lz4.bag",
    "aria": "aria-vrs/recording.vrs",
    "aria-2": "aria-vrs/aria_gen2_unit_test_sequence_with_bluetooth.vrs",
    "mps": "aria-mps",
    "vrs": "vrs-oss/chunks.vrs",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "parquet": {"unit": "s"},
    "png": {"streams": {"00000": {"depth": {"scale": 0.001}}}},
    "redwood": {"streams": {"color": {"time": {"rate": 30.0}}}},
}
"""What some of them cannot say about themselves."""
PACKAGES: dict[str, str] = {"mcap": "mcap", "rosbag": "rosbags"}
"""Formats whose reader is an extra, by the module to look for."""

SMALL = FrameFormat(size=(32, 32), color="gray")
ROWS = 12


def where(real: Path, name: str) -> str:
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    return str(real / RECORDINGS[name])


def open_it(real: Path, name: str) -> Opened:
    return Opened(Location.of(where(real, name)), OpenOptions(**OPTIONS.get(name, {})))


def usable(opened: Opened) -> list[Stream]:
    return [s for s in opened.streams.values() if s.problem is None and len(s.timeline)]


def read(opened: Opened, stream: Stream, rows: NDArray[np.int64]) -> Any:
    """Values by row: pictures as small grey ones, sound as samples, tables as columns."""
    info = stream.info
    depth = info.modality == "depth" and info.encoding == "image"
    with closing(opened.decoder(stream.name, depth)) as decoder:
        if info.encoding == "samples":
            assert isinstance(stream.timeline, SampledTimeline)
            out = np.empty((info.shape[0], 1), np.float32)
            found = []
            for row in rows:
                decoder.read(int(row), stream.timeline.rate, out)
                found.append(out.copy())
            return np.array(found)
        if info.encoding == "columns":
            return {name: values[rows] for name, values in decoder.columns().items()}
        shape = (32, 32) if depth else (1, 32, 32)
        pictures = np.empty((len(rows), *shape), np.float32 if depth else np.uint8)
        valid = decoder.read(rows, SMALL, pictures)
        return np.concatenate([pictures.reshape(len(rows), -1), valid[:, None]], axis=1)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if a.dtype == object:
        return bool((a == b).all())
    return bool(np.array_equal(a, b, equal_nan=np.issubdtype(a.dtype, np.floating)))


def some_rows(stream: Stream) -> NDArray[np.int64]:
    """Some rows, spread over the stream, that exist."""
    rows = np.unique(np.linspace(0, len(stream.timeline) - 1, ROWS).astype(np.int64))
    valid = stream.timeline.valid if stream.info.encoding == "image" else None
    return rows if valid is None else rows[valid[rows]]


@pytest.mark.parametrize("name", RECORDINGS)
class TestEveryFormat:
    def test_timelines_are_sorted_int64_and_agree_with_the_info(
        self, real: Path, name: str
    ) -> None:
        with closing(open_it(real, name)) as opened:
            streams = usable(opened)
            assert streams
            for stream in streams:
                ns = stream.timeline.ns
                assert ns.dtype == np.int64 and ns.ndim == 1 and (np.diff(ns) >= 0).all()
                assert len(ns) == len(stream.timeline)
                assert stream.timeline.start_ns == ns[0] and stream.timeline.end_ns > ns[-1]
                assert stream.name in repr(stream)
                if stream.info.encoding == "columns":
                    held = opened.columns(stream.name)
                    assert all(len(column) == len(ns) for column in held.values())
                    assert stream.info.modality == "labels" or set(stream.info.columns) <= set(held)

    def test_rows_in_any_order_equal_a_sequential_read(self, real: Path, name: str) -> None:
        generator = np.random.default_rng(0)
        with closing(open_it(real, name)) as opened:
            for stream in usable(opened):
                rows = some_rows(stream)
                whole = read(opened, stream, rows)
                for i in generator.permutation(len(rows))[:4]:
                    one = read(opened, stream, rows[i : i + 1])
                    if isinstance(whole, dict):
                        part = {k: v[i : i + 1] for k, v in whole.items()}
                    else:
                        part = whole[i : i + 1]
                    assert same(one, part), (stream.name, int(rows[i]))

    def test_threads_read_the_same(self, real: Path, name: str) -> None:
        with closing(open_it(real, name)) as opened:
            streams = usable(opened)
            alone = [read(opened, stream, some_rows(stream)) for stream in streams]
            results: list[list[Any]] = [[] for _ in range(3)]

            def work(results: list[Any]) -> None:
                for stream in streams:
                    results.append(read(opened, stream, some_rows(stream)))  # noqa: PERF401

            threads = [threading.Thread(target=work, args=(part,)) for part in results]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for part in results:
                assert len(part) == len(alone)
                assert all(same(a, b) for a, b in zip(part, alone, strict=True))

    def test_closes_its_files(self, real: Path, name: str) -> None:
        def use() -> None:
            with closing(open_it(real, name)) as opened:
                for stream in usable(opened):
                    read(opened, stream, some_rows(stream)[:2])

        use()
        gc.collect()
        before = sorted(os.listdir("/proc/self/fd"))
        use()
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= len(before)

    def test_pickles_by_its_uri(self, real: Path, name: str) -> None:
        with gl.open(where(real, name), **OPTIONS.get(name, {})) as recording:
            data = pickle.dumps(recording)
            assert len(data) < 2000
            with pickle.loads(data) as again:
                assert again.uri == recording.uri
                assert list(again.streams) == list(recording.streams)
                for stream, other in zip(
                    recording.streams.values(), again.streams.values(), strict=True
                ):
                    assert np.array_equal(stream.timeline.ns, other.timeline.ns)

    def test_errors_name_the_file(self, real: Path, name: str, tmp_path: Path) -> None:
        path = where(real, name)
        with pytest.raises(gl.OpenError, match="absent"):
            gl.open(str(tmp_path / f"absent{Path(path).suffix}"))
        if not Path(path).is_file():
            return
        empty = tmp_path / f"empty{Path(path).suffix}"
        empty.write_bytes(b"")
        with pytest.raises(gl.GenlockError, match="empty"):
            recording = gl.open(empty)
            for stream in recording.streams.values():
                stream.require_times()
            raise (
                gl.OpenError("empty: a table without rows") if recording.streams else AssertionError
            )


def test_every_file_of_a_folder_may_be_missing(real: Path, tmp_path: Path) -> None:
    """A layout with one file less opens, or says which file it wants."""
    for name in ("euroc", "neon", "hot3d"):
        source = real / RECORDINGS[name]
        for victim in sorted(p for p in source.rglob("*") if p.is_file() and p.suffix != ".png"):
            copy = tmp_path / name / victim.name
            shutil.copytree(source, copy)
            (copy / victim.relative_to(source)).unlink()
            try:
                gl.open(copy).close()
            except gl.GenlockError as error:
                assert str(copy) in str(error)
            shutil.rmtree(copy)
