"""What is read off the names of columns."""

from __future__ import annotations

import pytest

from genlock.tables.names import (
    POSE,
    find,
    interval_columns,
    pose_columns,
    read_columns,
    time_column,
)


@pytest.mark.parametrize(
    ("header", "name", "unit"),
    [
        ("timestamp [ns]", "timestamp", "ns"),
        ("timestamp[ns]", "timestamp", "ns"),
        ("w_RS_S_x [rad s^-1]", "w_RS_S_x", "rad s^-1"),
        ("q_RS_w []", "q_RS_w", ""),
        ("speed (m/s)", "speed", "m/s"),
        ("norm(acc)", "norm(acc)", ""),
        ("time(ms)", "time", "ms"),
        (" depth_m ", "depth_m", ""),
        ("", "column0", ""),
    ],
)
def test_names_and_units_are_told_apart(header: str, name: str, unit: str) -> None:
    (column,) = read_columns([header])
    assert (column.name, column.unit, column.header) == (name, unit, header)


def test_names_stay_apart() -> None:
    names = [column.name for column in read_columns(["a [m]", "a [ft]", "b", "b", "c"])]
    assert names == ["a [m]", "a [ft]", "b#2", "b#3", "c"]


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("t_ns", "ns"),
        ("timestamp_us", "us"),
        ("time_ms", "ms"),
        ("t_s", "s"),
        ("timestampNs", "ns"),
        ("tracking_timestamp_us", "us"),
        ("timestamp [ns]", "ns"),
        ("Timestamp [µs]", "us"),
        ("time (ms)", "ms"),
        ("time (seconds)", "s"),
        ("t[sec]", "s"),
        ("device_time_NS", "ns"),
        ("ts", None),  # no "t" in seconds
        ("timestamps", None),
        ("time", None),
        ("header.stamp", None),
        ("time [Hz]", None),
    ],
)
def test_times_and_their_units(header: str, unit: str | None) -> None:
    columns = read_columns(["x", header, "y"])
    assert time_column(columns) is columns[1]
    assert columns[1].time_unit == unit


@pytest.mark.parametrize(
    "header", ["exposure_time_us", "ms", "counts", "t0", "start_ns", "lifetime", "tx", "runtime"]
)
def test_other_columns_are_not_taken_for_times(header: str) -> None:
    assert time_column(read_columns([header])) is None


def test_a_plain_name_wins_over_a_long_one() -> None:
    columns = read_columns(["utc_timestamp_ns", "t_us"])
    assert time_column(columns) is columns[1]


def test_intervals() -> None:
    columns = read_columns(["text", "startTime_ns", "endTime_ns"])
    assert interval_columns(columns) == (columns[1], columns[2])
    assert interval_columns(read_columns(["start_ns", "text"])) is None


@pytest.mark.parametrize(
    ("headers", "order", "frames"),
    [
        ("tx ty tz qx qy qz qw", "xyzw", None),
        ("x y z qw qx qy qz", "wxyz", None),
        ("p_RS_R_x p_RS_R_y p_RS_R_z q_RS_w q_RS_x q_RS_y q_RS_z", "wxyz", ("R", "S")),
        ("t_wo_x t_wo_y t_wo_z q_wo_w q_wo_x q_wo_y q_wo_z", "wxyz", ("w", "o")),
        (
            "tx_world_device ty_world_device tz_world_device "
            "qx_world_device qy_world_device qz_world_device qw_world_device",
            "xyzw",
            ("world", "device"),
        ),
        (
            "position.x position.y position.z "
            "orientation.x orientation.y orientation.z orientation.w",
            "xyzw",
            None,
        ),
    ],
)
def test_poses(headers: str, order: str, frames: tuple[str, str] | None) -> None:
    columns = read_columns(["t", *headers.split(), "quality"])
    pose = pose_columns(columns)
    assert pose is not None
    assert pose.stored_order == order
    assert pose.frames == frames
    assert [column.name[-1] if frames is None else column.name for column in pose.position] == (
        ["x", "y", "z"] if frames is None else headers.split()[:3]
    )
    axes = dict(zip(order, pose_names(headers), strict=True))
    assert [column.name for column in pose.quaternion] == [axes[axis] for axis in "xyzw"]


def pose_names(headers: str) -> list[str]:
    return headers.split()[3:]


def test_the_first_pose_is_taken_and_the_others_named() -> None:
    first = [f"{part}_world_device" for part in POSE]
    second = [f"{part}_ecef_device" for part in POSE]
    pose = pose_columns(read_columns([*first, *second]))
    assert pose is not None
    assert pose.frames == ("world", "device")
    assert pose.others == ("qx_ecef_device",)


@pytest.mark.parametrize(
    "headers", ["q0 q1 q2 q3", "qx qy qz", "tx_left ty_left tz_left", "gx gy gz ax ay az"]
)
def test_an_order_is_never_guessed(headers: str) -> None:
    assert pose_columns(read_columns(headers.split())) is None


def test_columns_are_found_by_name_or_header() -> None:
    columns = read_columns(["timestamp [ns]", "gx [rad/s]"])
    assert find(columns, "gx") is find(columns, "gx [rad/s]") is columns[1]
    with pytest.raises(LookupError, match="no column 'GX'; did you mean 'gx'"):
        find(columns, "GX")
    with pytest.raises(LookupError, match="there is 'timestamp', 'gx'"):
        find(columns, "voltage")
