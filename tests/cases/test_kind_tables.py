"""Tables through the façade: exact times, units by statement, rows that hold nothing masked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import genlock as gl

EPOCH_NS = 1_700_000_000_123_456_789


def written(folder: Path, text: str, name: str = "imu.csv", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def values_at(path: Path, times_ns: list[int], field: Any = None, **options: Any) -> gl.Sample:
    with gl.open(path, **options) as recording:
        (name,) = recording.streams
        start_ns = times_ns[0]
        offsets = [f"{t - start_ns}e-9" for t in times_ns]
        field = field or (lambda n, **o: gl.Sensor(n, dtype="float64", **o))
        return recording.read({"x": field(name, offsets=offsets)}, start_ns, 1)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_int64_ns_in_every_table_format(suffix: str, tmp_path: Path) -> None:
    ns = EPOCH_NS + 1_000_003 * np.arange(50)
    path = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        path.write_text("t_ns,v\n" + "".join(f"{t},{i}\n" for i, t in enumerate(ns)))
    elif suffix == "parquet":
        pq.write_table(pa.table({"t_ns": ns, "v": np.arange(50.0)}), path)
    else:
        rows = np.zeros(50, [("t_ns", "i8"), ("v", "f8")])
        rows["t_ns"], rows["v"] = ns, np.arange(50)
        np.save(path, rows)
    sample = values_at(path, ns[[49, 0, 7]].tolist(), tolerance_of(gl.Sensor, "nearest"))
    assert sample["x"][:, 0].tolist() == [49, 0, 7]
    assert sample.source_times["x"].tolist() == ns[[49, 0, 7]].tolist()


def tolerance_of(kind: type, method: str) -> Any:
    """A field that takes only rows that are hit exactly."""
    return lambda name, **options: kind(name, method=method, tolerance=0, **options)


def test_counters_that_wrap_by_declaration(tmp_path: Path) -> None:
    ticks = (2**32 - 5_000 + 1_000 * np.arange(12)) % 2**32
    path = written(tmp_path, "t_us,v\n" + "".join(f"{t},{i}\n" for i, t in enumerate(ticks)))
    wrapped = {"imu": {"time": {"column": "t_us", "unit": "us", "wrap": 32}}}
    with gl.open(path, streams=wrapped) as recording:
        ns = recording.streams["imu"].timeline.ns
        assert np.diff(ns).tolist() == [1_000_000] * 11
        sample = recording.read({"x": gl.Sensor("imu")}, int(ns[0]), 1)
        assert sample["x"][:, 0].tolist() == list(range(12))
    with gl.open(path) as recording:  # not guessed: the rows are sorted, and that is told
        assert recording.streams["imu"].info.report.reordered > 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2023-11-14T22:13:20.5Z", "2023-11-14T22:13:21.5Z"),
        ("2023-11-14T23:13:20.5+01:00", "2023-11-14T23:13:21.5+01:00"),
        ("2023-11-14 17:13:20.500000-05:00", "2023-11-14 17:13:21.500000-05:00"),
        ("2023-11-15T03:43:20.500000000+05:30", "2023-11-15T03:43:21.5+05:30"),
    ],
)
def test_datetimes_with_an_offset(first: str, second: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"time,v\n{first},1\n{second},3\n")
    sample = values_at(path, [1_700_000_001_000_000_000])
    assert sample["x"].tolist() == [[2.0]]


def test_local_datetimes_are_asked_about(tmp_path: Path) -> None:
    path = written(tmp_path, "time,v\n2023-11-14 22:13:20,1\n2023-11-14 22:13:21,3\n")
    with gl.open(path) as recording, pytest.raises(gl.TimeUnitError, match="zone"):
        recording.read({"x": gl.Sensor("imu")}, 0, 1)
    zoned = {"imu": {"time": {"column": "time", "zone": "Europe/Zurich"}}}
    with gl.open(path, streams=zoned) as recording:
        assert recording.streams["imu"].timeline.ns[0] == (1_700_000_000 - 3_600) * 10**9


DIALECTS = {
    "semicolons and decimal commas": ("t_ns;x;y\r\n0;1,5;2\r\n10;2,5;4\r\n", "utf-8-sig"),
    "tabs": ("t_ns\tx\ty\n0\t1.5\t2\n10\t2.5\t4\n", "utf-8"),
    "blanks": ("t_ns x y\n0 1.5 2\n10 2.5 4", "utf-8"),
    "old line ends": ("t_ns,x,y\r0,1.5,2\r10,2.5,4\r", "utf-8"),
    "quotes and blank lines": ('"t_ns","x","y"\n\n0,"1.5",2\n\n10,2.5,"4"\n\n', "utf-8"),
    "comments above": ("# made by hand\n# t_ns x y\n0 1.5 2\n10 2.5 4\n", "utf-8"),
    "two bytes a character": ("t_ns,x,y\n0,1.5,2\n10,2.5,4\n", "utf-16"),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(dialect: str, tmp_path: Path) -> None:
    text, encoding = DIALECTS[dialect]
    sample = values_at(written(tmp_path, text, encoding=encoding), [0, 5, 10])
    assert sample["x"].tolist() == [[1.5, 2], [2.0, 3], [2.5, 4]]


@pytest.mark.parametrize("text", ["t_ns,x\n", "t_ns,x", "t_ns,x\r\n\r\n"])
def test_a_header_alone_is_a_stream_without_rows(text: str, tmp_path: Path) -> None:
    with gl.open(written(tmp_path, text)) as recording:
        assert len(recording.streams["imu"].timeline) == 0
        sample = recording.read({"x": gl.Sensor("imu", rate=10)}, 0, 1)
        assert sample["x"].shape[0] == 10 and not sample.mask["x"].any()
        assert recording.read({"x": gl.Sensor("imu")}, 0, 1)["x"].shape[0] == 0


def test_one_row_serves_its_own_time(tmp_path: Path) -> None:
    sample = values_at(written(tmp_path, "t_ns,x\n50,7\n"), [50, 49, 51])
    assert sample.mask["x"].tolist() == [True, False, False]
    assert sample["x"][0].tolist() == [7]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0\0\0\0", b"<html></html>"])
def test_files_without_a_table(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "imu.csv"
    path.write_bytes(content)
    with pytest.raises(gl.GenlockError, match=r"imu\.csv"), gl.open(path) as recording:
        recording.read({"x": gl.Sensor("imu")}, 0, 1)


@pytest.mark.parametrize("row", ["20,1", "20,1,2,3", "20"])
def test_ragged_rows_are_named_by_their_line(row: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"t_ns,x,y\n0,1,2\n10,1,2\n{row}\n30,1,2\n")
    with pytest.raises(gl.OpenError, match="line 4") as raised:
        gl.open(path)
    assert path.name in str(raised.value)


@pytest.mark.parametrize("hole", ["nan", "", "inf", "-inf", "NULL"])
def test_rows_with_a_hole_are_masked_where_it_matters(hole: str, tmp_path: Path) -> None:
    lines = "".join(f"{10 * i},{hole if i in (3, 4) else i},{2 * i}\n" for i in range(8))
    path = written(tmp_path, "t_ns,x,y\n" + lines)
    with gl.open(path) as recording:
        both = recording.read({"x": gl.Sensor("imu")}, 0, 1)
        assert np.flatnonzero(~both.mask["x"]).tolist() == [3, 4]
        assert not both["x"][[3, 4]].any() and np.isfinite(both["x"]).all()
        whole = recording.read({"x": gl.Sensor("imu", columns="y")}, 0, 1)
        assert whole.mask["x"].all() and whole["x"][:, 0].tolist() == list(range(0, 16, 2))
        near = gl.Sensor("imu", columns="x", offsets=["35e-9"], max_gap="20e-9")
        assert not recording.read({"x": near}, 0, 1).mask["x"].any()
        far = gl.Sensor("imu", columns="x", offsets=["35e-9"], max_gap="30e-9")
        assert recording.read({"x": far}, 0, 1)["x"].tolist() == [[3.5]]


def test_gaps_are_not_bridged(tmp_path: Path) -> None:
    times = [0, 10, 20, 30, 200, 210, 220]
    path = written(tmp_path, "t_ms,x\n" + "".join(f"{t},{t}\n" for t in times))
    sample = values_at(path, [t * 10**6 for t in (-1, 15, 100, 205, 221)])
    assert sample.mask["x"].tolist() == [False, True, False, True, False]
    assert sample["x"][:, 0].tolist() == [0, 15, 0, 205, 0]


QUATERNIONS = {"xyzw": ("qx", "qy", "qz", "qw"), "wxyz": ("qw", "qx", "qy", "qz")}


@pytest.mark.parametrize("order", QUATERNIONS)
@pytest.mark.parametrize("scale", [1, -1, 3.5])
def test_quaternions_of_any_order_sign_and_length(order: str, scale: float, tmp_path: Path) -> None:
    """A turn about z at 90 degrees a second; signs flip from row to row, lengths are arbitrary."""
    lines = []
    for i in range(11):
        half = np.deg2rad(9 * i) / 2
        value = dict(zip("xyzw", (0, 0, np.sin(half), np.cos(half)), strict=True))
        factor = scale * (-1) ** i
        numbers = ",".join(f"{factor * value[axis]:.12f}" for axis in order)
        lines.append(f"{i * 100},{i},0,0,{numbers}\n")
    header = ",".join(("t_ms", "tx", "ty", "tz", *QUATERNIONS[order]))
    path = written(tmp_path, header + "\n" + "".join(lines), "pose.csv")
    field = lambda name, **options: gl.Pose(name, dtype="float64", **options)  # noqa: E731
    poses = values_at(path, [0, 250_000_000, 950_000_000, 1_000_000_000], field)["x"]
    for pose, degrees in zip(poses, (0, 22.5, 85.5, 90), strict=True):
        half = np.deg2rad(degrees) / 2
        assert pose[0] == pytest.approx(degrees / 9)
        assert np.abs(pose[3:]) == pytest.approx([0, 0, np.sin(half), np.cos(half)], abs=1e-9)
        assert np.linalg.norm(pose[3:]) == pytest.approx(1)
    assert (poses[:, 6] * poses[0, 6] >= 0).all()


def test_half_turns_between_antipodal_quaternions(tmp_path: Path) -> None:
    """q and -q are one rotation; a half turn goes one way or the other, never through 0."""
    rows = "0,0,0,0,0,0,0,1\n100,0,0,0,0,0,0,-1\n200,0,0,0,1,0,0,0\n"
    path = written(tmp_path, "t_ms,tx,ty,tz,qx,qy,qz,qw\n" + rows, "pose.csv")
    field = lambda name, **options: gl.Pose(name, dtype="float64", **options)  # noqa: E731
    still, turning = values_at(path, [50_000_000, 150_000_000], field)["x"]
    assert np.abs(still[3:]) == pytest.approx([0, 0, 0, 1])
    assert np.abs(turning[3:]) == pytest.approx([0.5**0.5, 0, 0, 0.5**0.5])


def test_a_quaternion_of_no_length_is_no_pose(tmp_path: Path) -> None:
    rows = "".join(f"{100 * i},0,0,0,0,0,0,{int(i != 2)}\n" for i in range(5))
    path = written(tmp_path, "t_ms,tx,ty,tz,qx,qy,qz,qw\n" + rows, "pose.csv")
    with gl.open(path) as recording:
        sample = recording.read({"x": gl.Pose("pose")}, 0, 1)
        assert sample.mask["x"].tolist() == [True, True, False, True, True]
        assert not sample["x"][2].any()


def test_order_that_nothing_says_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "t_ms,tx,ty,tz,q0,q1,q2,q3\n0,0,0,0,1,0,0,0\n", "pose.csv")
    with gl.open(path) as recording:
        assert recording.streams["pose"].info.modality != "pose"
    declared = {
        "pose": {
            "kind": "pose",
            "position": ["tx", "ty", "tz"],
            "quaternion": ["q1", "q2", "q3", "q0"],
        }
    }
    with gl.open(path, streams=declared) as recording:
        sample = recording.read({"x": gl.Pose("pose")}, 0, 1)
        assert sample["x"].tolist() == [[0, 0, 0, 0, 0, 0, 1]]


def test_integers_and_ids_keep_every_digit(tmp_path: Path) -> None:
    big = 2**62 + 1
    path = written(tmp_path, f"t_ns,id\n0,{big}\n10,{big + 2}\n")
    with gl.open(path) as recording:
        field = gl.Sensor("imu", method="nearest", dtype="int64")
        assert recording.read({"x": field}, 0, 1)["x"].tolist() == [[big], [big + 2]]
        with pytest.raises(gl.FieldError, match="nearest"):
            gl.Sensor("imu", dtype="int64")


def test_float32_timestamps_of_a_dataset(tmp_path: Path) -> None:
    """0.05 as float32 is 0.0500000007…: read as the decimal it stands for."""
    seconds = (np.arange(20) / 20).astype(np.float32)
    path = tmp_path / "episode.parquet"
    pq.write_table(pa.table({"timestamp": seconds, "state": np.arange(20.0)}), path)
    with gl.open(path, unit="s") as recording:
        ns = recording.streams["episode"].timeline.ns
        assert ns.tolist() == [50_000_000 * i for i in range(20)]
