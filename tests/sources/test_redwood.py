"""Redwood sequences: the real sample by value, and files named otherwise."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from genlock.decoders.depth import DepthDecoder
from genlock.decoders.image import ImageDecoder
from genlock.errors import LayoutError, OpenError, TimeUnitError
from genlock.interfaces import FrameFormat, OpenOptions, Source
from genlock.location import Location
from genlock.sources import open_source

AT_30 = OpenOptions(streams={"color": {"time": {"rate": 30}}})
POSE = ("tx", "ty", "tz", "qx", "qy", "qz", "qw")
THIRTIETHS = [0, 33_333_333, 66_666_667, 100_000_000, 133_333_333]


@pytest.fixture
def sample(real: Path) -> Path:
    return real / "rgbd-redwood"


@pytest.fixture
def source(sample: Path) -> Source:
    return open_source(Location(sample), AT_30)


def test_frames_have_no_time_until_a_rate_is_stated(sample):
    streams = open_source(Location(sample)).streams
    assert list(streams) == ["color", "depth", "odometry", "trajectory"]
    for stream in streams.values():
        assert isinstance(stream.problem, TimeUnitError)
        assert '{"time": {"rate": 30}}' in str(stream.problem)


def test_one_rate_is_every_streams(source):
    for stream in source.streams.values():
        assert stream.problem is None
        assert stream.timeline.ns.tolist() == THIRTIETHS
        assert (stream.info.rate, stream.info.clock) == (30, "redwood")


def test_two_rates_contradict(sample):
    streams = {"color": {"time": {"rate": 30}}, "depth": {"time": {"rate": 15}}}
    with pytest.raises(LayoutError, match="one rate"):
        open_source(Location(sample), OpenOptions(streams=streams))


def test_depth_is_in_millimetres(source):
    # ffmpeg -i depth/00003.png -f rawvideo -pix_fmt gray16le, bytes (240 * 640 + 320) * 2: 9308
    stream = source.streams["depth"]
    out = np.empty((1, 480, 640), np.float32)
    with closing(DepthDecoder(source.units("depth"), stream)) as decoder:
        decoder.read(np.array([3]), FrameFormat(color="gray", dtype="float32"), out)
    np.testing.assert_allclose(out[0, 240, 320:324], 0x893 / 1000)


def test_a_pixel_of_colour(source):
    # ffmpeg -i color/00003.jpg -f rawvideo -pix_fmt yuvj420p: luma from byte 400 * 640 + 200
    out = np.empty((1, 480, 640, 1), np.uint8)
    with closing(ImageDecoder(source.units("color"), source.streams["color"])) as decoder:
        decoder.read(np.array([3]), FrameFormat(color="gray", layout="HWC"), out)
    expected = [0xC6, 0xC7, 0xC9, 0xCB, 0xCA, 0xC8, 0xC6, 0xC4]
    np.testing.assert_allclose(out[0, 400, 200:208, 0], expected, atol=1)


def test_a_pose_is_the_matrix_of_the_file(source):
    # sed -n 16,20p trajectory.log
    rotation = [
        [-0.26191432336350456, 0.05754242767335147, -0.9633741517367459],
        [3.342375514333952e-18, -0.9982209169870638, -0.059623828202369],
        [-0.9650911289702323, -0.015616334619965316, 0.26144835603996386],
    ]
    position = [-0.30877928113728503, 0.6452989122577889, 2.1228673711258783]
    columns = source.units("trajectory").unit(0)
    pose = np.array([columns[name][3] for name in POSE])
    assert pose[:3].tolist() == position
    np.testing.assert_allclose(Rotation.from_quat(pose[3:]).as_matrix(), rotation, atol=1e-6)
    assert source.streams["trajectory"].info.frames == ("world", "camera")


def test_numbers_such_as_windows_wrote_them(source):
    # odometry.log, line 8: -8.84184e-005     0.999932    0.0117022      1.97704
    columns = source.units("odometry").unit(0)
    assert columns["ty"][1] == 1.97704


def write(folder: Path, color: list[int], depth: list[int], match: str | None = None) -> Path:
    for name, numbers in (("color", color), ("depth", depth)):
        (folder / name).mkdir()
        for number in numbers:
            picture = np.full((4, 4), number, np.uint16)
            cv2.imwrite(str(folder / name / f"{number:06d}.png"), picture)
    if match is not None:
        (folder / "rgbd.match").write_text(match)
    return folder


def times(source: Source, stream: str) -> list[int]:
    return (source.streams[stream].timeline.ns // 100_000_000).tolist()


AT_10 = OpenOptions(streams={"depth": {"time": {"rate": 10}}})


def test_left_out_numbers_are_left_out_times(tmp_path):
    source = open_source(Location(write(tmp_path, [1, 2, 4, 10], [2, 4])), AT_10)
    assert times(source, "color") == [0, 1, 3, 9]
    assert times(source, "depth") == [1, 3]


def test_pairs_of_unlike_numbers_are_matched(tmp_path):
    match = "depth/000007.png color/000001.png\ndepth/000009.png color/000002.png\n"
    source = open_source(Location(write(tmp_path, [1, 2], [7, 9], match)), AT_10)
    assert times(source, "color") == times(source, "depth") == [0, 1]


@pytest.mark.parametrize("first", [0, 1])
def test_poses_may_count_as_the_files_do_or_from_zero(tmp_path, first):
    write(tmp_path, [1, 2, 3], [1, 2, 3])
    identity = "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n"
    log = "".join(f"{k} {k} {k + 1}\n{identity}" for k in range(first, first + 3))
    (tmp_path / "trajectory.log").write_text(log)
    assert times(open_source(Location(tmp_path), AT_10), "trajectory") == [0, 1, 2]


def test_damage(tmp_path):
    write(tmp_path, [1, 2], [1, 2], "depth/000001.png color/000001.png\ndepth/000002.png\n")
    with pytest.raises(OpenError, match=r"rgbd\.match"):
        open_source(Location(tmp_path), AT_10)
    (tmp_path / "rgbd.match").unlink()
    (tmp_path / "trajectory.log").write_text("0 0 1\n1 0 0 0\n0 1 x 0\n")
    source = open_source(Location(tmp_path), AT_10)
    assert "trajectory" in str(source.streams["trajectory"].problem)
    assert source.streams["color"].problem is None
