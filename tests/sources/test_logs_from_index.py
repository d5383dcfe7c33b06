"""Logs that were opened before: the same streams and units, and the log is not read again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl
from genlock._logs import mcap as mcap_log
from genlock._logs import ros1, sqlite
from genlock._messages import Schema
from genlock.errors import LayoutError
from genlock.index import Index
from genlock.interfaces import OpenOptions, Source
from genlock.location import Location
from genlock.sources._log_source import LogSource
from log_topics import MS, T0, write

LOGS = (mcap_log.McapLog, ros1.Bag1Log, sqlite.SqliteLog)


def _unread() -> dict[str, Any]:
    return {"/odd": [(T0, (Schema("a/B", "cdr", "ros2msg", b"c/D x"), b"\0\1\0\0"))]}


def plain(value: Any) -> Any:
    """A unit as values that compare by ==."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    return value.tolist() if isinstance(value, np.ndarray) else value


def contents(source: Source) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, stream in source.streams.items():
        about = [stream.info, stream.intrinsics, stream.extrinsics, str(stream.problem)]
        about += [plain(stream.timeline.ns), plain(stream.counts)]
        if stream.problem is None:
            with closing(source.units(name)) as units:
                about.append([(index, plain(unit)) for index, unit in units.units(0)])
        found[name] = about
    return found


@pytest.fixture
def forbid_scans(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def scan(self: Any, connect: Any) -> Any:
        pytest.fail("the log is read again")

    return lambda: [monkeypatch.setattr(log, "scan", scan) for log in LOGS] and None


@pytest.mark.parametrize("form", ["mcap", "ros1", "sqlite3-bag", "mcap-bag"])
def test_the_log_is_read_once(form: str, tmp_path: Path, forbid_scans: Callable[[], None]) -> None:
    path = write(form, tmp_path, _unread())
    index = Index(tmp_path / "cache")
    options = OpenOptions(streams={"imu": {"time": {"from": "log"}}})
    with closing(index.read(Location(path), options)) as source:
        expected = contents(source)
    forbid_scans()
    with closing(index.read(Location(path), options)) as source:
        assert isinstance(source, LogSource)
        assert contents(source) == expected
    assert {"cam/image_raw", "lidar", "text"} <= expected.keys()
    assert form == "ros1" or {"tf/cam/base", "tf/cam/hand"} <= expected.keys()
    assert expected["cam/image_raw"][1].focal == (5.0, 5.0)


def test_several_streams_of_one_log_share_one_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("mcap", tmp_path)
    names = {"gyro": ("sensor", "imu"), "walk": ("pose", "odom"), "top": ("points", "lidar")}
    names |= {"said": ("labels", "text"), "cam": ("video", "cam/image_raw")}
    lines = ['[recording]\nclock = "robot"\n']
    for name, (kind, track) in names.items():
        lines.append(f'[streams.{name}]\nkind = "{kind}"\npath = "a.mcap"\ntrack = "{track}"\n')
    lines.append('[streams.late]\nkind = "sensor"\npath = "a.mcap"\ntrack = "imu"\n')
    lines.append('time = { from = "log" }\n')
    (tmp_path / "recording.toml").write_text("\n".join(lines))
    scans = []
    scan = mcap_log.McapLog.scan

    def counting(self: mcap_log.McapLog, connect: Any) -> Any:
        scans.append(self.location.uri)
        return scan(self, connect)

    monkeypatch.setattr(mcap_log.McapLog, "scan", counting)
    with gl.open(tmp_path, index=False) as recording:
        assert len(scans) == 2  # `late` reads what others read, but with other times
        stamps = recording.streams["gyro"].timeline.ns
        np.testing.assert_array_equal(stamps, T0 + np.arange(20) * 10 * MS)
        logged = np.random.default_rng(5).integers(0, 30 * MS, 40)[:20]
        late = np.sort(T0 + np.arange(20) * 10 * MS + logged)
        np.testing.assert_array_equal(recording.streams["late"].timeline.ns, late)
        fields = {
            "walk": gl.Pose("walk", rate=100, dtype="float64"),
            "gyro": gl.Sensor("gyro", at="walk", columns=["angular_velocity.x"]),
            "top": gl.Points("top", at="walk"),
            "cam": gl.Video("cam", at="walk", color="gray"),
        }
        sample = recording.read(fields, start_ns=T0, duration=0.2)
    assert len(scans) == 2
    assert sample["walk"][:, 0].tolist() == list(range(20))
    assert sample["gyro"][:, 0].tolist() == [k / 8 for k in range(20)]
    assert sample["cam"][:, 0, 0, 0].tolist() == list(range(20))
    assert sample.counts["top"].tolist() == [k % 5 for k in range(20)]


def test_a_rule_of_times_names_the_stream_that_it_is_for(tmp_path: Path) -> None:
    write("mcap", tmp_path)
    stream = '[streams.gyro]\nkind = "sensor"\npath = "a.mcap"\ntime = { from = "log" }\n'
    (tmp_path / "recording.toml").write_text('[recording]\nclock = "robot"\n' + stream)
    with pytest.raises(LayoutError, match="add track = 'imu'"):
        gl.open(tmp_path, index=False)


@pytest.mark.parametrize("name", ["mcap-euroc-img-imu", "rosbag1-foxglove"])
def test_real_logs_from_the_index(
    name: str, real: Path, tmp_path: Path, forbid_scans: Callable[[], None]
) -> None:
    path = next(file for file in (real / name).iterdir() if file.suffix in (".mcap", ".bag"))
    index = Index(tmp_path / "cache")
    with closing(index.read(Location(path), OpenOptions())) as source:
        expected = contents(source)
    forbid_scans()
    with closing(index.read(Location(path), OpenOptions())) as source:
        assert contents(source) == expected
