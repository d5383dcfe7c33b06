"""A lone table as a recording: stamps, columns, kinds and problems, by value."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.decoders.table import TableDecoder, valid_rows
from genlock.errors import (
    ClosedError,
    DecodeError,
    LayoutError,
    OpenError,
    StreamError,
    TimeUnitError,
)
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources import open_source
from genlock.stream import Stream

Columns = dict[str, np.ndarray]


def opened(
    data: bytes | str | Path, unit: str | None = None, name: str = "imu", **declared: Any
) -> tuple[Stream, Columns]:
    """The one stream of a table, and its decoded columns."""
    if isinstance(data, str):
        data = data.encode()
    location = Location(data) if isinstance(data, Path) else Location(f"memory:{name}.csv", data)
    streams = {location.stem: declared} if declared else {}
    with_source = open_source(location, OpenOptions(unit, streams))
    (stream,) = with_source.streams.values()
    return stream, decoded(with_source, stream)


def decoded(source: Source, stream: Stream) -> Columns:
    if stream.problem is not None:
        return {}
    return dict(TableDecoder(source.units(stream.name), stream).columns())


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


# ---------------------------------------------------------------- the cases with known answers


def test_s01_ns_stay_exact(cases: Path) -> None:
    stream, columns = opened(cases / "inputs/s01_ns_int64.csv")
    ns = stream.timeline.ns
    assert (ns[0], ns[39], len(ns)) == (1700000000123456789, 1700000000318456828, 40)
    assert set(np.diff(ns)) == {5_000_001}
    np.testing.assert_allclose(columns["gx"], np.arange(40) / 100)


def test_s04_ties_and_backward_steps_are_sorted_and_counted(cases: Path) -> None:
    stream, columns = opened(cases / "inputs/s04_dup_backward.csv")
    ms = (stream.timeline.ns - 10**9) / 10**6
    assert ms.tolist() == [0, 5, 10, 10, 12, 15, 20, 25, 30, 30, 30, 35, 40]
    assert columns["v"].tolist() == [0, 1, 2, 3, 6, 4, 5, 7, 8, 9, 10, 11, 12]
    assert len(np.unique(ms)) == 10
    assert (stream.info.report.ties, stream.info.report.dropped) == (3, 0)
    assert stream.info.report.reordered == 3


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_s05_a_unit_is_stated_or_the_stream_has_a_problem(cases: Path, unit: str) -> None:
    path = cases / f"inputs/s05_unit_{unit}.csv"
    stream, columns = opened(path, unit)
    assert stream.timeline.ns[10] == 1_700_000_000_050_000_000
    assert columns["v"].tolist() == list(range(20))
    unknown, _ = opened(path)
    assert isinstance(unknown.problem, TimeUnitError)
    assert len(unknown.timeline) == 0
    line = 'time = { column = "timestamp", unit = "ns" }'
    assert f"under [streams.s05_unit_{unit}]: {line}" in str(unknown.problem)
    assert f"gl.open({str(path)!r}, unit=" in str(unknown.problem)


def test_s07_a_stream_may_start_late(cases: Path) -> None:
    stream, columns = opened(cases / "inputs/s07_starts_late.csv")
    assert (stream.timeline.start_ns, stream.timeline.ns[-1]) == (350_000_000, 1_340_000_000)
    assert columns["v"][stream.timeline.ns == 500_000_000] == 15


@pytest.mark.parametrize(
    ("file", "order"), [("s09_pose_xyzw.csv", "xyzw"), ("s09b_pose_wxyz.csv", "wxyz")]
)
def test_s09_quaternions_come_as_xyzw(cases: Path, file: str, order: str) -> None:
    stream, columns = opened(cases / "inputs" / file)
    assert stream.info.modality == "pose"
    assert stream.info.quaternion == order
    assert stream.info.columns == ("tx", "ty", "tz", "qx", "qy", "qz", "qw")
    half = np.deg2rad(np.arange(10, 29, 2)) / 2  # 10 degrees about x, 2 more every 0.1 s
    np.testing.assert_allclose(columns["qx"], np.sin(half), atol=1e-9)
    np.testing.assert_allclose(columns["qw"], np.cos(half), atol=1e-9)
    assert not columns["tx"].any()
    assert "no position: tx, ty and tz are 0" in stream.info.report.notes


def test_s10_signs_stay_as_stored(cases: Path) -> None:
    _, columns = opened(cases / "inputs/s10_pose_signflip.csv")
    assert np.sign(columns["qw"]).tolist() == [1, -1] * 5


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("s12_bom_crlf.csv", 10),
        ("s12b_semicolon_decimalcomma.csv", 10),
        ("s12c_hash_header_cr.csv", 10),
        ("s12d_no_final_newline_blank_lines.csv", 6),
    ],
)
def test_s12_dialects(cases: Path, file: str, rows: int) -> None:
    stream, columns = opened(cases / "inputs" / file, "ns")
    assert stream.timeline.ns.tolist() == [1403636579758555392 + 5_000_000 * i for i in range(rows)]
    first, second = columns.values()
    np.testing.assert_allclose(first, np.arange(rows) / 10)
    np.testing.assert_allclose(second, -np.arange(rows) / 5)
    assert "times guessed to be in column 'timestamp'" in stream.info.report.notes


def test_s12c_units_of_columns_are_kept(cases: Path) -> None:
    stream, _ = opened(cases / "inputs/s12c_hash_header_cr.csv")
    assert stream.info.units == {"w_x": "rad s^-1", "w_y": "rad s^-1"}


def test_s14_rows_without_a_number_are_invalid(cases: Path) -> None:
    stream, columns = opened(cases / "inputs/s14_gaze_nan.csv")
    valid = valid_rows(columns, ["x"])
    assert (len(valid), valid.sum()) == (100, 94)
    assert columns["x"][stream.timeline.ns == 300_000_000] == 30
    assert stream.timeline.valid is None


def test_s17_a_ragged_row_is_named(cases: Path) -> None:
    with pytest.raises(OpenError, match=r"s17_ragged\.csv: line 7 has 2 cells where 3"):
        opened(cases / "inputs/s17_ragged.csv")


# ---------------------------------------------------------------- real recordings


def test_euroc_imu(real: Path) -> None:
    stream, columns = opened(real / "euroc-micro/mav0/imu0/data.csv")
    assert len(stream.timeline) == 29120
    assert stream.timeline.ns[:2].tolist() == [1403715273262142976, 1403715273267142912]
    assert stream.info.units["a_RS_S_x"] == "m s^-2"
    assert stream.info.shape == (6,)
    assert stream.info.rate == pytest.approx(200, abs=0.01)
    first = [values[0] for values in columns.values()]
    assert first == [
        -0.0020943951023931952,
        0.017453292519943295,
        0.07749261878854824,
        9.0874956666666655,
        0.13075533333333333,
        -3.6938381666666662,
    ]


def test_euroc_listing_is_labels(real: Path) -> None:
    stream, columns = opened(real / "euroc-micro/mav0/cam0/data.csv")
    assert stream.info.modality == "labels"
    assert columns["value"][0] == f"{stream.timeline.ns[0]}.png" == "1403715273262142976.png"


def test_aria_trajectory(real: Path) -> None:
    path = real / "aria-mps/closed_loop_trajectory_geo_available.csv"
    stream, columns = opened(path)
    assert (stream.info.modality, stream.info.frames) == ("pose", ("world", "device"))
    assert stream.timeline.ns[0] == 149202610_000
    pose = np.array([columns[name][0] for name in stream.info.columns])
    np.testing.assert_allclose(pose[:3], [0.000292, -0.006405, 0.000467])
    stored = np.array([0.500638545, 0.496952726, -0.477400195, 0.523916109])
    np.testing.assert_allclose(pose[3:], stored / np.linalg.norm(stored), rtol=1e-12)
    utc, _ = opened(
        path, kind="sensor", time={"column": "utc_timestamp_ns"}, columns=["geo_available"]
    )
    assert utc.timeline.ns[0] == 1686767222002923694


def test_aria_gaze_has_no_depth(real: Path) -> None:
    stream, columns = opened(real / "aria-mps/generalized_eye_gaze.csv")
    assert stream.timeline.ns[0] == 148502622_000
    assert np.isnan(columns["depth_m"]).all()
    assert valid_rows(columns, ["yaw_rads_cpf", "pitch_rads_cpf"]).all()
    assert not valid_rows(columns, columns).any()
    assert "column 'depth_m' holds no value" in stream.info.report.notes
    assert "left out, since they hold no numbers: session_uid" in stream.info.report.notes


def test_aria_speech_is_labels(real: Path) -> None:
    stream, columns = opened(real / "aria-vrs/speech.csv")
    assert stream.info.modality == "labels"
    assert columns["value"][:2].tolist() == ["and", "what"]
    assert stream.timeline.ns[0] == 101217000000
    assert stream.timeline.durations_ns is not None
    assert stream.timeline.durations_ns[:2].tolist() == [10**9, 10**9]


def test_quest_headset(real: Path) -> None:
    stream, columns = opened(real / "hot3d-quest3/headset_trajectory.csv")
    assert (stream.info.quaternion, stream.info.units["tx"]) == ("wxyz", "m")
    assert stream.timeline.ns[:2].tolist() == [43124400000000, 43124433333333]
    assert columns["qw"][0] == pytest.approx(0.6316699154608774)


def test_quest_boxes_share_times(real: Path) -> None:
    stream, columns = opened(real / "hot3d-quest3/box2d_hands.csv")
    assert stream.info.report.ties == 45
    assert columns["x_min"].dtype == np.int64
    assert stream.info.units == {
        **dict.fromkeys(["x_min", "x_max", "y_min", "y_max"], "pixel"),
        "visibility_ratio": "%",
    }


def test_lerobot_parquet(real: Path) -> None:
    path = real / "lerobot-v20-gr00t/data/chunk-000/episode_000002.parquet"
    stream, columns = opened(path, "s")
    assert len(stream.timeline) == 470
    # 0.04999995231628418 s, as the file says
    assert stream.timeline.ns[0] == 49_999_952
    assert columns["observation.state"].shape == (470, 44)
    assert stream.info.shape == (95,)
    assert columns["next.done"].dtype == np.bool_
    assert isinstance(opened(path)[0].problem, TimeUnitError)


# ---------------------------------------------------------------- what a declaration decides


def test_the_caller_wins_over_the_header() -> None:
    table = "t_ms,x\n1,5\n"
    assert opened(table)[0].timeline.ns.tolist() == [1_000_000]
    assert opened(table, "us")[0].timeline.ns.tolist() == [1_000]
    assert opened(table, "us", time={"unit": "s"})[0].timeline.ns.tolist() == [10**9]


def test_columns_are_chosen_and_ordered() -> None:
    stream, columns = opened("t_ns,a,b,c\n1,2,3,4\n", columns=["c", "a"])
    assert stream.info.columns == tuple(columns) == ("c", "a")


def test_a_table_without_header_needs_its_columns() -> None:
    stream, columns = opened(
        "1.5,2,3\n2.5,4,5\n", columns=["t", "x", "y"], time={"column": "t", "unit": "s"}
    )
    assert stream.timeline.ns.tolist() == [1_500_000_000, 2_500_000_000]
    assert {name: values.tolist() for name, values in columns.items()} == {"x": [2, 4], "y": [3, 5]}
    with pytest.raises(LayoutError, match="3 columns without names"):
        opened("1.5,2,3\n2.5,4,5\n")


def test_tum_trajectory() -> None:
    text = (
        "# ground truth trajectory\n# timestamp tx ty tz qx qy qz qw\n"
        "1305031098.6659 1.3563 0.6305 1.6380 0.6132 0.5962 -0.3311 -0.3986\n"
    )
    source = open_source(Location("memory:groundtruth.txt", text.encode()), OpenOptions("s"))
    stream = source.streams["groundtruth"]
    assert stream.info.modality == "pose"
    assert stream.timeline.ns.tolist() == [1305031098665900000]
    assert decoded(source, stream)["tz"].tolist() == [1.6380]


def test_rows_at_a_rate() -> None:
    stream, _ = opened("x\n1\n2\n3\n4\n", time={"rate": 30})
    assert stream.timeline.ns.tolist() == [0, 33_333_333, 66_666_667, 100_000_000]


def test_a_counter_that_overflows() -> None:
    table = f"t,x\n{2**32 - 2},0\n{2**32 - 1},1\n1,2\n"
    stream, columns = opened(table, time={"unit": "us", "wrap": 32})
    assert stream.timeline.ns.tolist() == [(2**32 + k) * 1000 for k in (-2, -1, 1)]
    assert columns["x"].tolist() == [0, 1, 2]
    undeclared, columns = opened(table, "us")
    assert columns["x"].tolist() == [2, 0, 1]
    assert undeclared.info.report.reordered == 3


def test_negative_and_sentinel_stamps_are_dropped_and_counted() -> None:
    table = f"t_ns,x\n-1,0\n5,1\n{2**63 - 1},2\n,3\n{-(2**63)},4\n7,5\n"
    stream, columns = opened(table)
    assert stream.timeline.ns.tolist() == [5, 7]
    assert columns["x"].tolist() == [1, 5]
    assert stream.info.report.dropped == 4


def test_datetimes() -> None:
    stream, _ = opened("time,x\n2024-02-29T12:00:00.000000001+01:00,1\n")
    assert stream.timeline.ns.tolist() == [1709204400000000001]
    local, _ = opened("time,x\n2024-02-29T12:00:00,1\n")
    assert isinstance(local.problem, TimeUnitError)
    assert 'time = { column = "time", zone = "UTC" }' in str(local.problem)
    zoned, _ = opened("time,x\n2024-02-29T12:00:00,1\n", time={"zone": "Europe/Zurich"})
    assert zoned.timeline.ns.tolist() == [1709204400 * 10**9]


def test_stamps_that_are_no_times_are_refused_by_name() -> None:
    with pytest.raises(OpenError, match=r"imu\.csv: times in column 't_s': row 2: 'noon'"):
        opened("t_s,x\n1,2\nnoon,3\n")


def test_a_table_without_times_is_listed_with_what_to_add() -> None:
    stream, _ = opened("a,b\n1,2\n")
    assert isinstance(stream.problem, LayoutError)
    assert "under [streams.imu]: time = {" in str(stream.problem)


def test_poses_are_declared_whatever_the_names() -> None:
    stream, columns = opened(
        "t_ns,q0,q1,q2,q3,e,n,u\n0,1,0,0,0,7,8,9\n",
        kind="pose",
        position=["e", "n", "u"],
        quaternion=["q1", "q2", "q3", "q0"],
        frames={"parent": "map", "child": "car"},
    )
    assert stream.info.quaternion == "wxyz"
    assert stream.info.frames == ("map", "car")
    assert [float(columns[name][0]) for name in stream.info.columns] == [7, 8, 9, 0, 0, 0, 1]


def test_an_unnamed_order_is_not_guessed() -> None:
    table = "t_ns,q0,q1,q2,q3\n0,1,0,0,0\n"
    assert opened(table)[0].info.modality == "sensor"
    with pytest.raises(LayoutError, match="x, y, z, w order"):
        opened(table, kind="pose")


def test_an_imu_with_an_orientation_stays_a_sensor() -> None:
    stream, _ = opened("t_ns,qx,qy,qz,qw,gx\n0,0,0,0,1,5\n")
    assert stream.info.modality == "sensor"
    assert stream.info.shape == (5,)


def test_labels_with_ends_and_instants() -> None:
    table = "from_ns,to_ns,action,who\n5,9,walk,a\n7,6,err,b\n3,,open,c\n2,4,sit,d\n"
    declared = {"kind": "labels", "start": "from_ns", "end": "to_ns", "value": "action"}
    stream, columns = opened(table, **declared)
    assert stream.timeline.ns.tolist() == [2, 5]
    assert stream.timeline.durations_ns is not None
    assert stream.timeline.durations_ns.tolist() == [2, 4]
    assert columns["value"].tolist() == ["sit", "walk"]
    assert stream.info.report.dropped == 2
    assert "dropped 2 that have no end, or one before their start" in stream.info.report.notes
    instants, columns = opened("t_ns,event\n5,blink\n", kind="labels")
    assert instants.timeline.durations_ns is not None
    assert instants.timeline.durations_ns.tolist() == [0]


def test_what_labels_say_is_guessed_or_declared() -> None:
    table = "start_ns,end_ns,n,a,b\n1,2,3,x,y\n"
    stream, columns = opened(table)
    assert columns["value"].tolist() == ["x"]
    assert "labels guessed to be the first of 'a', 'b'" in stream.info.report.notes
    assert opened(table, value="n")[1]["value"].tolist() == [3]
    assert opened("start_ns,end_ns,n\n1,2,3\n")[1]["value"].tolist() == [3]
    with pytest.raises(LayoutError, match="value: no column is left"):
        opened("start_ns,end_ns\n1,2\n", kind="labels")


def test_times_alone_are_rows_without_values() -> None:
    stream, columns = opened("t_ns\n1\n2\n")
    assert (stream.timeline.ns.tolist(), stream.info.shape, columns) == ([1, 2], (0,), {})


def test_one_table_serves_several_streams() -> None:
    table = b"t_ns,tx,ty,tz,qx,qy,qz,qw,speed\n0,1,2,3,0,0,0,1,9\n"
    streams = {"pose": {"kind": "pose"}, "speed": {"kind": "sensor", "columns": ["speed"]}}
    source = open_source(Location("memory:a.csv", table), OpenOptions(streams=streams))
    assert list(source.streams) == ["pose", "speed"]
    assert decoded(source, source.streams["pose"])["tz"].tolist() == [3]
    assert decoded(source, source.streams["speed"])["speed"].tolist() == [9]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"time": {"colum": "t"}}, r"\[streams\.imu\] time\.colum: .* did you mean 'column'\?"),
        ({"time": {"column": "tt"}}, r"time\.column: there is no column 'tt'; did you mean 't'"),
        ({"time": {"unit": "minutes"}}, r"time\.unit: 'minutes' is not known"),
        ({"time": {"from": "name"}}, "rows have no file names"),
        ({"columns": ["gX"]}, r"columns: there is no column 'gX'; did you mean 'gx'"),
        ({"columns": ["note"]}, "'note' does not hold numbers"),
        ({"kind": "video"}, "a table holds no video"),
        ({"kind": "imu"}, r"kind: 'imu' is not known"),
        ({"kind": "sensor", "position": ["a", "b", "c"]}, "not for a stream of kind 'sensor'"),
        ({"kind": "pose", "quaternion": ["a", "b"]}, "must be a list of 4 texts"),
    ],
)
def test_wrong_declarations_name_the_key(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(LayoutError, match=message) as caught:
        opened("t,gx,note\n1,2,a\n", "ns", **declared)
    assert caught.value.stream == "imu"


def test_an_unknown_unit_is_refused() -> None:
    with pytest.raises(LayoutError, match="unit='m' is not one of s, ms, us, ns"):
        opened("t,x\n1,2\n", "m")


# ---------------------------------------------------------------- the source as such


@given(st.lists(st.integers(0, 2**62), min_size=1))
def test_every_row_keeps_its_values(stamps: list[int]) -> None:
    lines = [f"{stamp},{row}" for row, stamp in enumerate(stamps)]
    stream, columns = opened("\n".join(["t_ns,row", *lines]))
    assert sorted(stamps) == stream.timeline.ns.tolist()
    assert [stamps[row] for row in columns["row"]] == stream.timeline.ns.tolist()
    ties = [row for row, step in enumerate(np.diff(stream.timeline.ns)) if step == 0]
    assert all(columns["row"][row] < columns["row"][row + 1] for row in ties)


def test_header_alone_and_one_row() -> None:
    stream, columns = opened("t_ns,x\n")
    assert (len(stream.timeline), len(columns["x"]), stream.info.rate) == (0, 0, None)
    stream, columns = opened("t_ns,x\n5,1\n")
    assert (stream.timeline.ns.tolist(), columns["x"].tolist()) == ([5], [1])


def test_values_are_read_only() -> None:
    _, columns = opened("t_ns,x\n5,1\n")
    with pytest.raises(ValueError, match="read-only"):
        columns["x"][0] = 2


def test_parquet_columns_are_read_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet(t_ns=[3, 1], pair=[[1.0, 2.0], [3.0, 4.0]]))
    source = open_source(Location(path), OpenOptions())
    path.write_bytes(b"")  # the times are known, the columns not yet read
    assert source.streams["a"].timeline.ns.tolist() == [1, 3]
    with pytest.raises(DecodeError, match=r"a\.parquet"):
        source.units("a").unit(0)
    path.write_bytes(parquet(t_ns=[3, 1], pair=[[1.0, 2.0], [3.0, 4.0]]))
    assert source.units("a").unit(0)["pair"].tolist() == [[3, 4], [1, 2]]


def test_sources_say_what_is_not_there_and_when_they_are_closed() -> None:
    source = open_source(Location("memory:a.csv", b"t_ns,x\n1,2\n"), OpenOptions())
    with pytest.raises(StreamError, match="no stream 'b'"):
        source.units("b")
    units = source.units("a")
    assert [index for index, _ in units.units(0)] == [0]
    source.close()
    source.close()
    with pytest.raises(ClosedError):
        source.units("a")


def test_a_stream_with_a_problem_raises_it_when_used() -> None:
    source = open_source(Location("memory:a.csv", b"t,x\n1,2\n"), OpenOptions())
    with pytest.raises(TimeUnitError):
        source.units("a").unit(0)


def test_the_clock_is_named_after_the_file() -> None:
    source = open_source(Location("memory:imu.csv", b"t_ns,x\n1,2\n"), OpenOptions())
    assert source.clock == source.streams["imu"].info.clock == "imu"
    assert source.clocks["imu"].is_identity


def test_a_table_in_memory_is_known_by_its_content() -> None:
    for data in (b"t_ns,x\n1,2\n", parquet(t_ns=[1], x=[2])):
        source = open_source(Location.of(data), OpenOptions())
        assert decoded(source, source.streams["table"])["x"].tolist() == [2]
