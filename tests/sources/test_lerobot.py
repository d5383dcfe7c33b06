"""LeRobot data sets: the real GR00T sample (v2.0) by value, and v2.1 and v3.0 written here."""

from __future__ import annotations

import io
import json
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from genlock.decoders.image import ImageDecoder
from genlock.decoders.video import VideoDecoder
from genlock.errors import DecodeError, LayoutError, OpenError
from genlock.interfaces import FrameFormat, OpenOptions, Source
from genlock.location import Location
from genlock.sources import open_source
from genlock.sources.lerobot import episodes

GRAY = FrameFormat(color="gray")
LENGTHS = (4, 5, 6)
FPS = 10
KEY, IMAGE = "observation.images.top", "observation.image"


def columns(source: Source, stream: str) -> dict[str, Any]:
    return source.units(stream).unit(0)


def frames(source: Source, stream: str, rows: list[int]) -> np.ndarray:
    described = source.streams[stream]
    decoder = VideoDecoder(source.units(stream), described)
    out = np.empty((len(rows), 1, *described.info.shape), np.uint8)
    assert decoder.read(np.array(rows), GRAY, out).all()
    decoder.close()
    return out[:, 0]


# The sample of the Isaac GR00T repository: 5 episodes declared, the files of 2 and 3 there


@pytest.fixture
def sample(real: Path) -> Path:
    return real / "lerobot-v20-gr00t"


@pytest.fixture
def groot(sample: Path) -> Source:
    return open_source(Location(f"{sample}/#episode=3"))


def test_rows_are_at_the_frames_of_the_video_although_stamped_one_later(groot):
    # ffprobe: 412 packets, pts 0 to 20.55; pyarrow: timestamps 0.04999995 to 20.59998035
    for name in ("observation.state", "action", "next.done", "observation.images.ego_view"):
        timeline = groot.streams[name].timeline
        assert len(timeline) == 412
        np.testing.assert_array_equal(timeline.ns, np.arange(412) * 50_000_000)
    (note,) = groot.streams["action"].info.report.notes
    assert "+1.00 frames" in note
    assert groot.streams["observation.images.ego_view"].info.report.notes == ()


def test_values_of_a_row(groot):
    # pyarrow.parquet.read_table(...)["observation.state"][250].as_py()
    state = columns(groot, "observation.state")
    assert list(state) == [f"motor_{i}" for i in range(44)]
    assert [state[f"motor_{i}"][250] for i in range(22, 26)] == [
        -0.26214025370966415,
        -0.13075372526381904,
        0.1533307061860433,
        -1.1237846185214049,
    ]
    assert columns(groot, "index")["index"][250] == 1606
    done = columns(groot, "next.done")["next.done"]
    assert done.dtype == bool
    np.testing.assert_array_equal(np.flatnonzero(done), [411])


def test_a_pixel_of_a_picture(groot):
    # ffmpeg -vf select=eq(n\,250) -pix_fmt yuv420p: luma from byte 128 * 256 + 100
    (luma,) = frames(groot, "observation.images.ego_view", [250])
    np.testing.assert_array_equal(luma[128, 100:106], [0x68, 0x8F, 0x7B, 0x88, 0x88, 0x88])


def test_the_task_is_a_label_over_the_episode(groot):
    timeline = groot.streams["task"].timeline
    assert columns(groot, "task")["value"].tolist() == [
        "pick the salt from the counter and place it in the plate"
    ]
    assert (timeline.ns.tolist(), timeline.durations_ns.tolist()) == ([0], [20_600_000_000])


def test_a_declared_video_without_its_file_is_a_problem(groot):
    problem = groot.streams["observation.images.egoview"].problem
    assert isinstance(problem, OpenError)
    assert "egoview/episode_000003.mp4" in str(problem)


def test_several_episodes_need_a_number(sample):
    with pytest.raises(OpenError, match=r"holds 5 episodes.*#episode=0"):
        open_source(Location(sample))
    assert episodes(Location(sample)) == [f"{sample}/#episode={i}" for i in range(5)]


@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ("#episode=9", "has no episode 9"),
        ("#episode=0", r"episode_000000\.parquet"),
        ("#episode=x", "#episode=NUMBER"),
        ("#part=1", "#episode=NUMBER"),
    ],
)
def test_an_episode_that_is_not_there(sample, fragment, message):
    with pytest.raises(OpenError, match=message):
        open_source(Location(f"{sample}/{fragment}"))


def test_only_formats_of_several_recordings_take_a_fragment(real):
    with pytest.raises(OpenError, match="#episode=1"):
        open_source(Location(f"{real}/euroc-micro#episode=1"))


# Data sets written as the documentation of v2.1 and v3.0 says


def write_video(path: Path, levels: list[int]) -> None:
    """A video in which picture k is grey, of luma levels[k]."""
    path.parent.mkdir(parents=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"g": "3", "qp": "0"})
        stream.width, stream.height, stream.pix_fmt = 32, 16, "yuv420p"
        for k, level in enumerate(levels):
            picture = np.full((24, 32), 128, np.uint8)
            picture[:16] = level
            frame = av.VideoFrame.from_ndarray(picture, "yuv420p")
            frame.pts, frame.time_base = k, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def level(episode: int, row: int) -> int:
    """Luma of a picture: it names its episode and its row."""
    return 40 + 50 * episode + 5 * row


def rows_of(episode: int, first: int) -> dict[str, Any]:
    """The rows of an episode; its task changes at row 2."""
    count = LENGTHS[episode]
    seconds = np.arange(count, dtype=np.float32) / np.float32(FPS)
    return {
        "observation.state": [[float(episode), float(k), 0.5] for k in range(count)],
        "grid": [[[k, 1], [2, 3]] for k in range(count)],
        "next.reward": np.arange(count, dtype=np.float32),
        "timestamp": seconds,
        "frame_index": np.arange(count),
        "episode_index": np.full(count, episode),
        "index": first + np.arange(count),
        "task_index": np.where(np.arange(count) < 2, 0, 1),
    }


FEATURES: dict[str, Any] = {
    KEY: {"dtype": "video", "shape": [16, 32, 3], "info": {"video.is_depth_map": False}},
    "observation.state": {"dtype": "float32", "shape": [3], "names": {"motors": ["x", "y", "z"]}},
    "grid": {"dtype": "int64", "shape": [2, 2], "names": None},
    "next.reward": {"dtype": "float32", "shape": [1], "names": None},
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
}


def png(episode: int, row: int) -> bytes:
    picture = np.full((6, 8), level(episode, row), np.uint8)
    return cv2.imencode(".png", picture)[1].tobytes()


@pytest.fixture
def v3(tmp_path: Path) -> Path:
    """Three episodes: one video of all, in two files of rows, the second with pictures as cells."""
    features = {**FEATURES, IMAGE: {"dtype": "image", "shape": [6, 8, 3]}}
    write_meta(
        tmp_path,
        "v3.0",
        features,
        data_path="data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        video_path="videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    )
    video = tmp_path / "videos" / KEY / "chunk-000" / "file-000.mp4"
    write_video(video, [level(e, k) for e, count in enumerate(LENGTHS) for k in range(count)])
    tables = []
    described = []
    for episode, count in enumerate(LENGTHS):
        first = sum(LENGTHS[:episode])
        rows = rows_of(episode, first)
        rows[IMAGE] = [{"bytes": png(episode, k), "path": f"{k}.png"} for k in range(count)]
        tables.append(pa.table(rows))
        described.append(
            {
                "episode_index": episode,
                "tasks": ["reach", "grasp"],
                "length": count,
                "data/chunk_index": 0,
                "data/file_index": 0 if episode < 2 else 1,
                "dataset_from_index": first,
                "dataset_to_index": first + count,
                f"videos/{KEY}/chunk_index": 0,
                f"videos/{KEY}/file_index": 0,
                # summed up from the durations of files, so not quite exact
                f"videos/{KEY}/from_timestamp": first / FPS + 3e-7,
                f"videos/{KEY}/to_timestamp": (first + count) / FPS + 3e-7,
                "stats/next.reward/mean": [0.5],
            }
        )
    data = tmp_path / "data" / "chunk-000"
    data.mkdir(parents=True)
    pq.write_table(pa.concat_tables(tables[:2]), data / "file-000.parquet", row_group_size=3)
    pq.write_table(tables[2], data / "file-001.parquet")
    meta = tmp_path / "meta"
    (meta / "episodes" / "chunk-000").mkdir(parents=True)
    pq.write_table(
        pa.Table.from_pylist(described), meta / "episodes" / "chunk-000" / "file-000.parquet"
    )
    tasks = pa.table({"task_index": [0, 1], "__index_level_0__": ["reach", "grasp"]})
    pq.write_table(tasks, meta / "tasks.parquet")
    return tmp_path


def write_meta(folder: Path, version: str, features: dict[str, Any], **stated: Any) -> None:
    (folder / "meta").mkdir()
    info = {"codebase_version": version, "fps": FPS, "chunks_size": 1000, "features": features}
    (folder / "meta" / "info.json").write_text(json.dumps(info | stated))


@pytest.fixture
def v21(tmp_path: Path) -> Path:
    """One episode, in files of its own."""
    write_meta(
        tmp_path,
        "v2.1",
        FEATURES,
        data_path="data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        video_path="videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    )
    write_video(
        tmp_path / "videos" / "chunk-000" / KEY / "episode_000000.mp4",
        [level(0, k) for k in range(LENGTHS[0])],
    )
    data = tmp_path / "data" / "chunk-000"
    data.mkdir(parents=True)
    pq.write_table(pa.table(rows_of(0, 0)), data / "episode_000000.parquet")
    meta = tmp_path / "meta"
    line = {"episode_index": 0, "tasks": ["reach"], "length": LENGTHS[0]}
    (meta / "episodes.jsonl").write_text(json.dumps(line) + "\n")
    tasks = [{"task_index": i, "task": task} for i, task in enumerate(("reach", "grasp"))]
    (meta / "tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    return tmp_path


@pytest.mark.parametrize("episode", range(3))
def test_an_episode_of_v3_has_its_own_rows_and_pictures(v3, episode):
    source = open_source(Location(f"{v3}/#episode={episode}"))
    count = LENGTHS[episode]
    expected_ns = np.arange(count) * 100_000_000
    for name in ("observation.state", "next.reward", KEY, IMAGE):
        np.testing.assert_array_equal(source.streams[name].timeline.ns, expected_ns)
        assert source.streams[name].info.rate == FPS
    state = columns(source, "observation.state")
    np.testing.assert_array_equal(state["x"], np.full(count, episode))
    np.testing.assert_array_equal(state["y"], np.arange(count))
    found = frames(source, KEY, list(range(count)))[:, 8, 16]
    truth = [level(episode, k) for k in range(count)]
    np.testing.assert_array_equal(found, truth)
    assert frames(source, KEY, [2])[0, 8, 16] == truth[2]


def test_pictures_in_cells(v3):
    source = open_source(Location(f"{v3}/#episode=1"))
    stream = source.streams[IMAGE]
    assert (stream.info.codec, stream.info.shape) == ("png", (6, 8))
    out = np.empty((3, 1, 6, 8), np.uint8)
    with closing(source.units(IMAGE)) as units:
        assert ImageDecoder(units, stream).read(np.array([0, 2, 4]), GRAY, out).all()
    np.testing.assert_array_equal(out[:, 0, 0, 0], [level(1, k) for k in (0, 2, 4)])


@pytest.mark.parametrize("dataset", ["v21", "v3"])
def test_tasks_are_labels_as_long_as_they_last(dataset, request):
    folder = request.getfixturevalue(dataset)
    source = open_source(Location(f"{folder}/#episode=0"))
    timeline = source.streams["task"].timeline
    assert columns(source, "task")["value"].tolist() == ["reach", "grasp"]
    assert timeline.ns.tolist() == [0, 200_000_000]
    assert timeline.durations_ns.tolist() == [200_000_000, 200_000_000]


def test_nested_lists_are_flat_and_scalars_plain(v3):
    source = open_source(Location(f"{v3}/#episode=0"))
    grid = columns(source, "grid")["grid"]
    np.testing.assert_array_equal(grid, [[k, 1, 2, 3] for k in range(4)])
    reward = columns(source, "next.reward")["next.reward"]
    assert (reward.shape, reward.dtype) == ((4,), np.float32)
    assert source.streams["next.reward"].info.dtype == "float32"


def test_a_data_set_of_one_episode_needs_no_number(v21):
    source = open_source(Location(v21))
    assert source.streams["observation.state"].info.report.notes == ()
    found = frames(source, KEY, [0, 1, 2, 3])[:, 8, 16]
    np.testing.assert_array_equal(found, [level(0, k) for k in range(4)])


def rewrite(folder: Path, **replaced: Any) -> None:
    file = folder / "data" / "chunk-000" / "episode_000000.parquet"
    pq.write_table(pa.table(rows_of(0, 0) | replaced), file)


def test_times_that_are_no_grid_are_kept(v21):
    rewrite(v21, timestamp=np.array([0.0, 0.1, 0.23, 0.3], np.float32))
    stream = open_source(Location(v21)).streams["next.reward"]
    assert stream.timeline.ns.tolist() == [0, 100_000_000, 230_000_000, 300_000_000]
    assert "not frame_index / fps" in stream.info.report.notes[0]


def test_left_out_frames_stay_left_out(v21):
    frame_index = np.array([0, 1, 3, 4])
    rewrite(v21, frame_index=frame_index, timestamp=(frame_index / FPS).astype(np.float32))
    stream = open_source(Location(v21)).streams["next.reward"]
    assert stream.timeline.ns.tolist() == [0, 100_000_000, 300_000_000, 400_000_000]
    assert stream.info.report.notes == ()


def test_a_template_is_filled_and_nothing_else(v21):
    info = json.loads((v21 / "meta/info.json").read_text())
    info["data_path"] = "data/{episode_index.__class__}/{episode_index:0999999999d}.parquet"
    (v21 / "meta/info.json").write_text(json.dumps(info))
    assert open_source(Location(v21)).streams["next.reward"].problem is None


def test_damaged_metadata_name_the_file(v21):
    (v21 / "meta/episodes.jsonl").write_text('{"episode_index": 0}\n{')
    with pytest.raises(OpenError, match=r"episodes\.jsonl"):
        open_source(Location(v21))
    (v21 / "meta/episodes.jsonl").write_text('{"index": 0}\n')
    with pytest.raises(OpenError, match="episode_index"):
        open_source(Location(v21))
    (v21 / "meta/info.json").write_text('{"codebase_version": "v2.1"}')
    with pytest.raises(OpenError, match=r"info\.json states no 'fps'"):
        open_source(Location(v21))


def test_a_damaged_table_names_the_file(v21):
    file = v21 / "data" / "chunk-000" / "episode_000000.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(OpenError, match=r"episode_000000\.parquet"):
        open_source(Location(v21))


def test_an_old_version_is_named(v21):
    (v21 / "meta/episodes.jsonl").unlink()
    with pytest.raises(OpenError, match=r"version v2\.1 without meta/episodes"):
        open_source(Location(v21))


def test_the_caller_can_place_a_stream(v21):
    options = OpenOptions(streams={KEY: {"zero_ns": 5_000_000}})
    assert open_source(Location(v21), options).streams[KEY].timeline.ns[0] == 5_000_000
    with pytest.raises(LayoutError, match="the layout says"):
        open_source(Location(v21), OpenOptions(streams={"grid": {"columns": ["a"]}}))


def test_an_empty_cell_is_an_error_that_names_the_row(v3):
    file = v3 / "data" / "chunk-000" / "file-001.parquet"
    table = pq.read_table(file)
    cells = table[IMAGE].to_pylist()
    cells[3] = {"bytes": None, "path": "images/3.png"}
    column = table.schema.get_field_index(IMAGE)
    buffer = io.BytesIO()
    pq.write_table(table.set_column(column, IMAGE, pa.array(cells)), buffer)
    file.write_bytes(buffer.getvalue())
    source = open_source(Location(f"{v3}/#episode=2"))
    with closing(source.units(IMAGE)) as units:
        assert units.unit(2) == png(2, 2)
        with pytest.raises(DecodeError, match=r"row 3 is empty.*images/3\.png"):
            units.unit(3)


def test_a_ragged_column_is_a_problem_of_its_stream(v21):
    rewrite(v21, grid=[[1], [1, 2], [1], [1]])
    source = open_source(Location(v21))
    assert "length" in str(source.streams["grid"].problem)
    assert source.streams["next.reward"].problem is None


@pytest.mark.parametrize("fps", [0, -1, "ten", None])
def test_a_rate_that_cannot_be_names_the_file(v21, fps):
    info = json.loads((v21 / "meta/info.json").read_text())
    (v21 / "meta/info.json").write_text(json.dumps(info | {"fps": fps}))
    with pytest.raises(OpenError, match=r"info\.json: fps is"):
        open_source(Location(v21))


def test_an_episode_is_the_only_one_at_its_own_uri(sample):
    assert episodes(Location(f"{sample}/#episode=3")) == [f"{sample}/#episode=3"]
