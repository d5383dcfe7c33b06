"""Point clouds in batches: values, counts and masks against the clouds that were written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl
from cloud_messages import ROS_TYPES, cloud, numbered
from genlock.errors import FieldError, StreamError
from log_writers import mcap_bytes, write_bag1, write_bag2
from protobuf_types import POINT_CLOUD, timestamp
from ros_types import ROS1, ROS2

T0 = 1_700_000_000_000_000_003
STEP_NS = 100_000_000
LENGTHS = [3, 0, 7, 5, 1, 9, 4, 2, 6, 8]


def recorded(store: Any = ROS2) -> dict[str, Any]:
    """A second of clouds of different lengths, stored in rows, packed and byte-swapped in turn."""
    clouds = []
    for row, length in enumerate(LENGTHS):
        how = {"padding": row % 3, "big_endian": row % 2 == 1, "height": 3 if length == 9 else 1}
        ns = T0 + row * STEP_NS
        clouds.append((ns + 7, cloud(ns, numbered(row, length), store, **how)))
    return {"/lidar": clouds}


WRITERS: dict[str, Callable[[Path], Path]] = {
    "mcap": lambda path: _file(path / "a.mcap", mcap_bytes(recorded(), chunk_size=300)),
    "mcap-plain": lambda path: _file(path / "b.mcap", mcap_bytes(recorded(), chunked=False)),
    "ros1": lambda path: write_bag1(path / "c.bag", recorded(ROS1), chunk_bytes=300),
    "ros2-sqlite": lambda path: write_bag2(path / "d", recorded()),
    "ros2-mcap": lambda path: write_bag2(path / "e", recorded(), "mcap"),
}


def _file(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: write(tmp_path_factory.mktemp(name)) for name, write in WRITERS.items()}


@pytest.fixture
def path(logs: dict[str, Path]) -> Path:
    return logs["mcap"]


def lidar(target: Any, fields: Any, start_ns: int = T0, duration: float = 1.0) -> gl.Sample:
    with gl.open(target) as recording:
        return recording.read({"lidar": fields}, start_ns=start_ns, duration=duration)


def assert_rows(values: Any, counts: Any, rows: list[int]) -> None:
    """Rows of xyz, then zeros."""
    assert counts.tolist() == [LENGTHS[row] for row in rows]
    for t, row in enumerate(rows):
        truth = numbered(row, LENGTHS[row])
        for i, name in enumerate("xyz"):
            np.testing.assert_array_equal(values[t, : len(truth), i], truth[name])
        assert not values[t, len(truth) :].any()


@pytest.mark.parametrize("form", WRITERS)
def test_every_native_row_with_its_points(logs: dict[str, Path], form: str) -> None:
    sample = lidar(logs[form], gl.Points("lidar"))
    assert sample["lidar"].dtype == np.float32 and sample["lidar"].shape == (10, 9, 3)
    assert_rows(sample["lidar"], sample.counts["lidar"], list(range(10)))
    assert sample.mask["lidar"].all() and sample.lengths["lidar"] == 10
    np.testing.assert_array_equal(sample.times["lidar"], T0 + np.arange(10) * STEP_NS)


@pytest.mark.parametrize("form", WRITERS)
def test_points_are_counted_when_the_log_is_opened(logs: dict[str, Path], form: str) -> None:
    for _ in range(2):  # the second time from the index
        with gl.open(logs[form]) as recording:
            stream = recording.streams["lidar"]
        assert stream.counts is not None and stream.counts.tolist() == LENGTHS
        assert stream.info.modality == "points" and stream.info.shape == (9, 7)
        assert stream.info.columns[:4] == ("x", "y", "z", "ring")
        assert stream.info.columns[4:] == ("normal.0", "normal.1", "normal.2")


def test_columns_are_picked_and_ordered(path: Path) -> None:
    sample = lidar(path, gl.Points("lidar", columns=["normal.2", "ring"], dtype="float64"))
    assert sample["lidar"].dtype == np.float64
    points = numbered(5, 9)
    np.testing.assert_array_equal(sample["lidar"][5, :, 0], points["normal"][:, 2])
    np.testing.assert_array_equal(sample["lidar"][5, :, 1], points["ring"])


@pytest.mark.parametrize("seed", range(8))
def test_alignment_is_that_of_a_search_through_all_rows(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.sort(rng.integers(-200, 1200, 6)) / 1000
    tolerance = float(rng.choice([0.01, 0.03, 0.075]))
    field = gl.Points("lidar", offsets=offsets.tolist(), tolerance=tolerance)
    sample = lidar(path, field)
    stamps = T0 + np.arange(10) * STEP_NS
    for t, offset in enumerate(offsets):
        apart = np.abs(stamps - (T0 + round(float(offset) * 1e9)))
        row = int(apart.argmin())
        near = apart[row] <= round(tolerance * 1e9)
        assert sample.mask["lidar"][t] == near
        assert sample.counts["lidar"][t] == (LENGTHS[row] if near else 0)
        points = sample["lidar"][t, : sample.counts["lidar"][t]]
        assert (points[:, 0] == row).all()
        assert not sample["lidar"][t, len(points) :].any()
        expected = stamps[row] if near else sample.times["lidar"][t]
        assert sample.source_times["lidar"][t] == expected


def test_a_row_that_is_wanted_often_and_out_of_order(path: Path) -> None:
    sample = lidar(path, gl.Points("lidar", offsets=[0.5, 0.2, 0.51, 0.0, 0.2]))
    assert_rows(sample["lidar"], sample.counts["lidar"], [5, 2, 5, 0, 2])


def test_a_limit_keeps_points_evenly(path: Path) -> None:
    sample = lidar(path, gl.Points("lidar", max_points=4))
    assert sample["lidar"].shape == (10, 4, 3)
    assert sample.counts["lidar"].tolist() == [min(length, 4) for length in LENGTHS]
    assert sample["lidar"][5, :, 1].tolist() == [0, 2, 4, 6]  # of 9
    assert sample["lidar"][6, :, 1].tolist() == [0, 1, 2, 3]  # of 4
    assert sample["lidar"][0, :, 1].tolist() == [0, 1, 2, 0]  # of 3, and padding


def test_a_limit_is_the_shape_whatever_the_rows(path: Path) -> None:
    sample = lidar(path, gl.Points("lidar", max_points=50), duration=0.15)
    assert sample["lidar"].shape == (2, 50, 3)
    assert_rows(sample["lidar"], sample.counts["lidar"], [0, 1])


def test_points_that_are_not_finite_are_left_out_and_not_counted() -> None:
    points = numbered(0, 6)
    points["x"][1], points["z"][4], points["ring"][2] = np.nan, np.inf, 9
    points["normal"][5, 1] = np.nan  # not asked for
    data = mcap_bytes({"/lidar": [(T0, cloud(T0, points))]})
    sample = lidar(data, gl.Points("lidar"))
    assert sample["lidar"].shape == (1, 6, 3) and np.isfinite(sample["lidar"]).all()
    assert sample["lidar"][0, :, 1].tolist() == [0, 2, 3, 5, 0, 0]
    assert sample.counts["lidar"].tolist() == [4] and sample.mask["lidar"].all()
    limited = lidar(data, gl.Points("lidar", max_points=2))
    assert limited["lidar"][0, :, 1].tolist() == [0, 3]  # of those that are finite
    beyond = numbered(0, 2)
    beyond["normal"][1] = 1e300  # not finite as float32
    data = mcap_bytes({"/lidar": [(T0, cloud(T0, beyond))]})
    assert lidar(data, gl.Points("lidar", columns="normal.0")).counts["lidar"].tolist() == [1]


@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("kind", ROS_TYPES)
def test_every_type_of_number(kind: str, big_endian: bool) -> None:
    dtype = np.dtype([("a", "u1"), ("value", kind), ("pair", kind, 2)])
    rng = np.random.default_rng(3)
    points = np.zeros(12, dtype)
    info = np.finfo(kind) if kind[0] == "f" else np.iinfo(kind)
    for name in ("value", "pair"):
        scale = rng.uniform(-1 if info.min < 0 else 0, 1, points[name].shape)
        points[name] = (scale * float(min(info.max, 2**52))).astype(kind)
    data = mcap_bytes(
        {"/lidar": [(T0, cloud(T0, points, padding=5, big_endian=big_endian, height=4))]}
    )
    field = gl.Points("lidar", columns=["value", "pair.1"], dtype="float64")
    sample = lidar(data, field)
    np.testing.assert_array_equal(sample["lidar"][0, :, 0], points["value"].astype(np.float64))
    np.testing.assert_array_equal(sample["lidar"][0, :, 1], points["pair"][:, 1].astype(float))


def test_clouds_of_foxglove() -> None:
    rows = []
    for row, length in enumerate(LENGTHS):
        data = np.zeros(length, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("level", "<u2")])
        for name in "xyz":
            data[name] = numbered(row, length)[name]
        ns = T0 + row * STEP_NS
        message = POINT_CLOUD.make(
            timestamp=timestamp(ns),
            point_stride=14,
            fields=[
                {"name": name, "offset": 4 * i, "type": 3 if i == 3 else 7}
                for i, name in enumerate(("x", "y", "z", "level"))
            ],
            data=data.tobytes(),
        )
        rows.append((ns, (POINT_CLOUD.schema, message.SerializeToString())))
    sample = lidar(mcap_bytes({"/lidar": rows}), gl.Points("lidar"))
    assert_rows(sample["lidar"], sample.counts["lidar"], list(range(10)))


def test_a_cloud_that_claims_more_than_it_holds_is_masked_and_takes_no_memory() -> None:
    lying = cloud(T0 + STEP_NS, numbered(1, 2))
    lying.height, lying.width, lying.row_step = 2**16, 2**15, 0
    other = cloud(T0 + 2 * STEP_NS, np.zeros(4, [("range", "f4")]))
    sound = [(T0 + k * STEP_NS, cloud(T0 + k * STEP_NS, numbered(k, 3))) for k in (0, 3)]
    messages = [sound[0], (T0 + STEP_NS, lying), (T0 + 2 * STEP_NS, other), sound[1]]
    sample = lidar(mcap_bytes({"/lidar": messages}), gl.Points("lidar"))
    assert sample["lidar"].shape == (4, 4, 3)
    assert sample.mask["lidar"].tolist() == [True, False, False, True]
    assert sample.counts["lidar"].tolist() == [3, 0, 0, 3]
    assert not sample["lidar"][1:3].any()
    assert sample["lidar"][3, :3, 0].tolist() == [3, 3, 3]


def test_wrong_wishes(path: Path) -> None:
    with pytest.raises(StreamError, match=r"have x, y, z, ring.*not 'intensity'"):
        lidar(path, gl.Points("lidar", columns=["x", "intensity"]))
    with pytest.raises(StreamError, match="Sensor cannot read 'lidar': it is a points stream"):
        lidar(path, gl.Sensor("lidar"))
    for wrong in (
        {"columns": []},
        {"columns": [1]},
        {"max_points": 0},
        {"max_points": 1.5},
        {"dtype": "int32"},
        {"method": "linear"},
    ):
        with pytest.raises(FieldError):
            gl.Points("lidar", **wrong)  # type: ignore[arg-type]


def batches(path: Path, **options: Any) -> list[gl.Batch]:
    """What a loader gives of windows of two rows each, in order."""
    windows = gl.Windows([path], duration=0.2, over=["lidar"])
    field = gl.Points("lidar", max_points=options.pop("max_points", None))
    with gl.Loader(windows, {"lidar": field}, batch_size=2, **options) as loader:
        first = list(loader)
        second = list(loader)
    for one, other in zip(first, second, strict=True):
        for part in ("data", "counts", "mask"):
            assert (getattr(one, part)["lidar"] == getattr(other, part)["lidar"]).all()
    return first


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize(
    "options", [{}, {"process": True}, {"cache": "ram"}, {"threads": 1}, {"max_points": 9}]
)
def test_batches_have_room_for_their_largest_row(
    logs: dict[str, Path], form: str, options: dict[str, Any]
) -> None:
    found = batches(logs[form], **dict(options))
    assert [batch["lidar"].shape for batch in found] == [
        (2, 2, options.get("max_points", room), 3) for room in (7, 9)
    ]
    for number, batch in enumerate(found):
        assert batch.counts["lidar"].shape == (2, 2) and str(batch.counts["lidar"].dtype)[6:] == (
            "int64"
        )
        for i in range(2):
            rows = [4 * number + 2 * i, 4 * number + 2 * i + 1]
            assert_rows(batch["lidar"][i].numpy(), batch.counts["lidar"][i], rows)
            sample = batch.sample(i)
            assert_rows(sample["lidar"], sample.counts["lidar"], rows)
        assert list(batch.tensors())  # all of them are lent and recorded together
        assert any(tensor is batch.counts["lidar"] for tensor in batch.tensors())


def test_a_transform_sees_counts_and_may_change_them(path: Path) -> None:
    def nearest(sample: gl.Sample, rng: np.random.Generator) -> gl.Sample:
        assert_rows(
            sample["lidar"], sample.counts["lidar"], sample["lidar"][:, 0, 0].astype(int).tolist()
        )
        sample["lidar"] = sample["lidar"][:, :1].copy()
        sample.counts["lidar"] = np.minimum(sample.counts["lidar"], 1)
        return sample

    windows = gl.Windows.at([(str(path), T0 + k * STEP_NS, 0.2, None) for k in (2, 4)])
    fields = {"lidar": gl.Points("lidar", max_points=9)}
    with gl.Loader(windows, fields, batch_size=2, transform=nearest) as loader:
        (batch,) = list(loader)
    assert batch["lidar"][..., 0, 0].tolist() == [[2, 3], [4, 5]]
    assert batch.counts["lidar"].tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("on_error", ["skip", "mask"])
def test_a_window_that_fails_is_left_out_or_masked(path: Path, on_error: Any) -> None:
    starts = [(str(path), T0, 0.2, None), (str(path) + ".none", T0, 0.2, None)]
    windows = gl.Windows.at(starts)
    fields = {"lidar": gl.Points("lidar")}
    with gl.Loader(windows, fields, batch_size=2, on_error=on_error) as loader:
        (batch,) = list(loader)
    assert_rows(batch["lidar"][0].numpy(), batch.counts["lidar"][0], [0, 1])
    assert len(batch["lidar"]) == (1 if on_error == "skip" else 2)
    for values in (batch["lidar"], batch.counts["lidar"], batch.mask["lidar"]):
        assert not values[1:].any()


def test_what_follows_a_saved_state_is_what_would_have_followed(path: Path) -> None:
    windows = gl.Windows([path], duration=0.1, shuffle=True, seed=3)
    fields = {"lidar": gl.Points("lidar")}
    with gl.Loader(windows, fields, batch_size=2) as loader:
        whole = [batch.counts["lidar"].tolist() for batch in loader]
    with gl.Loader(windows, fields, batch_size=2) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with gl.Loader(windows, fields, batch_size=2) as loader:
        loader.load_state_dict(state)
        assert [batch.counts["lidar"].tolist() for batch in loader] == whole[1:]


def test_clouds_beside_other_streams_keep_their_rows_when_times_move(
    path: Path, tmp_path: Path
) -> None:
    (tmp_path / "log.mcap").write_bytes(path.read_bytes())
    times = [T0 + k * STEP_NS for k in (1, 0, *range(2, 9))] + [-1]  # two swapped, one dropped
    (tmp_path / "times.csv").write_text("t_ns\n" + "\n".join(map(str, times)) + "\n")
    (tmp_path / "recording.toml").write_text(
        '[recording]\nclock = "robot"\n'
        '[streams.top]\nkind = "points"\npath = "log.mcap"\ntrack = "lidar"\n'
        'times = { path = "times.csv", column = "t_ns", unit = "ns" }\n'
    )
    with gl.open(tmp_path) as recording:
        stream = recording.streams["top"]
        assert stream.counts is not None
        assert stream.counts.tolist() == [LENGTHS[row] for row in (1, 0, *range(2, 9))]
        sample = recording.read({"lidar": gl.Points("top")}, start_ns=T0, duration=1.0)
    assert_rows(sample["lidar"], sample.counts["lidar"], [1, 0, *range(2, 9)])


def test_what_batches_and_samples_show_of_themselves(path: Path) -> None:
    sample = lidar(path, gl.Points("lidar"))
    assert "lidar: float32[10, 9, 3]" in repr(sample)
    assert "lidar: float32[2, 2, 7, 3]" in repr(batches(path)[0])
