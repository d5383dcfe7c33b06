"""TUM RGB-D sequences, written here around real pictures of that format."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from genlock.decoders.depth import DepthDecoder
from genlock.decoders.image import ImageDecoder
from genlock.errors import LayoutError, OpenError
from genlock.interfaces import FrameFormat, OpenOptions, Source
from genlock.location import Location
from genlock.sources import open_source

RGB_TIMES = ("1305031102.175304", "1305031102.211214", "1305031102.243211")
DEPTH_TIMES = ("1305031102.160407", "1305031102.226738")
COMMENTS = "# {}\n# file: 'rgbd_dataset_freiburg1_xyz.bag'\n# {}\n"


@pytest.fixture
def sequence(tmp_path: Path, real: Path) -> Path:
    """Three pictures, the second of them absent, two of depth, poses and accelerations."""
    pictures = real / "rgbd-redwood" / "other_formats"
    for folder, picture, times in (
        ("rgb", "TUM_color.png", RGB_TIMES),
        ("depth", "TUM_depth.png", DEPTH_TIMES),
    ):
        (tmp_path / folder).mkdir()
        lines = [f"{time} {folder}/{time}.png" for time in times]
        comments = COMMENTS.format(f"{folder} maps", "timestamp filename")
        (tmp_path / f"{folder}.txt").write_text(comments + "\n".join(lines) + "\n")
        for time in times:
            shutil.copy(pictures / picture, tmp_path / folder / f"{time}.png")
    (tmp_path / "rgb" / f"{RGB_TIMES[1]}.png").unlink()
    (tmp_path / "groundtruth.txt").write_text(
        COMMENTS.format("ground truth trajectory", "timestamp tx ty tz qx qy qz qw")
        + "1305031098.6659 1.3563 0.6305 1.6380 0.6132 0.5962 -0.3311 -0.3986\n"
        + "1305031098.6758 1.3543 0.6306 1.6360 0.6129 0.5966 -0.3316 -0.3980\n"
    )
    (tmp_path / "accelerometer.txt").write_text(
        COMMENTS.format("accelerometer data", "timestamp ax ay az")
        + "1305031098.664759 -0.148464 7.986368 -5.813341\n"
    )
    return tmp_path


@pytest.fixture
def source(sequence: Path) -> Source:
    return open_source(Location(sequence))


def test_times_are_the_decimals_that_are_written(source):
    # int(1305031102.175304 * 1e9) is 1305031102175303936
    assert source.streams["rgb"].timeline.ns.tolist() == [
        1305031102175304000,
        1305031102211214000,
        1305031102243211000,
    ]
    assert source.streams["depth"].timeline.ns.tolist() == [
        1305031102160407000,
        1305031102226738000,
    ]
    assert source.streams["groundtruth"].timeline.ns.tolist() == [
        1305031098665900000,
        1305031098675800000,
    ]
    assert {stream.info.clock for stream in source.streams.values()} == {"tum"}


def test_pictures_that_are_not_there_are_invalid_rows(source):
    stream = source.streams["rgb"]
    assert stream.timeline.valid.tolist() == [True, False, True]
    assert stream.info.report.missing == 1


def test_a_pixel_of_colour(source):
    # ffmpeg -i TUM_color.png -f rawvideo -pix_fmt rgb24, bytes (400 * 640 + 200) * 3 and on
    out = np.empty((1, 480, 640, 3), np.uint8)
    with closing(ImageDecoder(source.units("rgb"), source.streams["rgb"])) as decoder:
        decoder.read(np.array([2]), FrameFormat(layout="HWC"), out)
    assert out[0, 400, 200:202].tolist() == [[0x57, 0x57, 0x59], [0x57, 0x57, 0x59]]


def test_depth_is_a_5000th_of_a_metre(source):
    # ffmpeg -i TUM_depth.png -f rawvideo -pix_fmt gray16le, bytes (240 * 640 + 320) * 2: a82a ee2a
    stream = source.streams["depth"]
    assert (stream.info.modality, stream.info.depth) == ("depth", "tum5000")
    out = np.empty((1, 480, 640), np.float32)
    with closing(DepthDecoder(source.units("depth"), stream)) as decoder:
        decoder.read(np.array([1]), FrameFormat(color="gray", dtype="float32"), out)
    np.testing.assert_allclose(out[0, 240, 320:322], [0x2AA8 / 5000, 0x2AEE / 5000])


def test_poses_have_the_quaternion_last(source):
    stream = source.streams["groundtruth"]
    assert (stream.info.modality, stream.info.quaternion) == ("pose", "xyzw")
    assert stream.info.frames == ("world", "rgb")
    columns = source.units("groundtruth").unit(0)
    values = [columns[name][1] for name in ("tx", "ty", "tz", "qx", "qy", "qz", "qw")]
    assert values == [1.3543, 0.6306, 1.6360, 0.6129, 0.5966, -0.3316, -0.3980]


def test_accelerations(source):
    stream = source.streams["accelerometer"]
    assert (stream.info.modality, stream.info.columns) == ("sensor", ("ax", "ay", "az"))
    assert stream.info.units["ax"] == "m/s^2"
    assert source.units("accelerometer").unit(0)["ay"].tolist() == [7.986368]


def test_tables_without_names(sequence):
    (sequence / "groundtruth.txt").write_text("1305031098.5 1 2 3 0 0 0 1\n")
    (sequence / "accelerometer.txt").write_text("1305031098.5 4 5 6\n")
    source = open_source(Location(sequence))
    assert source.units("groundtruth").unit(0)["tz"].tolist() == [3]
    assert source.units("accelerometer").unit(0)["az"].tolist() == [6]
    assert source.streams["groundtruth"].timeline.ns.tolist() == [1305031098500000000]


def test_what_is_absent_is_no_stream_and_what_is_damaged_a_problem(sequence):
    (sequence / "accelerometer.txt").unlink()
    (sequence / "depth.txt").write_text("# timestamp filename\n1305031102.1 depth/a.png\n1.2\n")
    source = open_source(Location(sequence))
    assert list(source.streams) == ["rgb", "depth", "groundtruth"]
    assert "depth.txt" in str(source.streams["depth"].problem)
    assert "line 3" in str(source.streams["depth"].problem)
    assert source.streams["rgb"].problem is None


def test_depth_can_be_declared(sequence):
    options = OpenOptions(streams={"depth": {"depth": {"scale": 0.001}}})
    assert open_source(Location(sequence), options).streams["depth"].info.depth == "mm"
    with pytest.raises(LayoutError, match="did you mean 'depth'"):
        open_source(Location(sequence), OpenOptions(streams={"dept": {"kind": "depth"}}))


def test_a_listed_file_outside_of_the_folder_is_refused(sequence):
    (sequence / "rgb.txt").write_text("1305031102.1 ../../secret.png\n1305031102.2 rgb/x.png\n")
    with pytest.raises(OpenError, match="outside"):
        source = open_source(Location(sequence))
        raise source.streams["rgb"].problem
