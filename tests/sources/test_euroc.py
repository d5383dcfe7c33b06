"""EuRoC folders: the real micro recording by value, and a drawn one for what that lacks."""

from __future__ import annotations

import pickle
from pathlib import Path

import cv2
import numpy as np
import pytest

from genlock.decoders.image import ImageDecoder
from genlock.errors import LayoutError, OpenError
from genlock.interfaces import FrameFormat, OpenOptions, Source
from genlock.location import Location
from genlock.sources import open_source

GROUND_TRUTH = "state_groundtruth_estimate0"


@pytest.fixture
def micro(real: Path) -> Source:
    return open_source(Location(real / "euroc-micro"))


def columns(source: Source, stream: str) -> dict[str, np.ndarray]:
    return source.units(stream).unit(0)


@pytest.mark.parametrize(
    ("stream", "rows", "last_ns", "missing"),
    # counted with wc and tail on the files: data.csv lists 95 and 99 pictures, 10 of each are there
    [
        ("cam0", 95, 1403715277962142976, 85),
        ("cam1", 99, 1403715278162142976, 89),
        ("imu0", 29120, 1403715418857143040, 0),
    ],
)
def test_rows_and_times_are_the_files(micro, stream, rows, last_ns, missing):
    timeline = micro.streams[stream].timeline
    assert len(timeline) == rows
    assert timeline.ns[0] == 1403715273262142976
    assert timeline.ns[-1] == last_ns
    assert micro.streams[stream].info.report.missing == missing
    assert micro.streams[stream].info.clock == micro.clock == "euroc"


def test_pictures_that_are_not_there_are_invalid_rows(micro):
    valid = micro.streams["cam0"].timeline.valid
    np.testing.assert_array_equal(valid, np.arange(95) < 10)


def test_a_pixel(micro):
    # ffmpeg -i 1403715273712143104.png -f rawvideo -pix_fmt gray, bytes 100 * 752 + 200 and on
    stream = micro.streams["cam0"]
    decoder = ImageDecoder(micro.units("cam0"), stream)
    out = np.empty((2, 1, 480, 752), np.uint8)
    valid = decoder.read(np.array([9, 10]), FrameFormat(color="gray"), out)
    assert stream.timeline.ns[9] == 1403715273712143104
    np.testing.assert_array_equal(valid, [True, False])
    np.testing.assert_array_equal(out[0, 0, 100, 200:204], [0x53, 0x50, 0x52, 0x4D])


def test_an_imu_row(micro):
    # awk 'NR==12347' imu0/data.csv
    row, values = 12345, columns(micro, "imu0")
    assert micro.streams["imu0"].timeline.ns[row] == 1403715334987142912
    assert [array[row] for array in values.values()] == [
        -0.024434609527920613,
        0.074001960284559576,
        0.068416906678177722,
        11.146892166666666,
        0.04903325,
        -4.355787041666666,
    ]
    info = micro.streams["imu0"].info
    assert info.columns == tuple(values)
    assert info.units["w_RS_S_x"] == "rad s^-1"
    assert (info.modality, info.rate) == ("sensor", 200)


def test_calibration(micro):
    cam0 = micro.streams["cam0"]
    assert cam0.intrinsics.model == "pinhole"
    assert cam0.intrinsics.size == (480, 752)
    assert cam0.intrinsics.focal == (458.654, 457.296)
    assert cam0.intrinsics.center == (367.215, 248.375)
    assert cam0.intrinsics.distortion == (-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05)
    assert cam0.extrinsics.parent == "body"
    assert cam0.extrinsics.position == (-0.0216401454975, -0.064676986768, 0.00981073058949)
    # the camera's x axis is the body's y, as column 0 of T_BS says
    x, y, z, w = cam0.extrinsics.quaternion
    x_axis = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    np.testing.assert_allclose(x_axis, [0.0148655, 0.9995572, -0.0257744], atol=1e-6)
    assert (cam0.info.rate, cam0.info.stamp) == (20, "mid")
    assert micro.streams["imu0"].intrinsics is None


def test_a_sensor_without_its_table_is_listed_with_a_problem(micro):
    stream = micro.streams[GROUND_TRUTH]
    assert isinstance(stream.problem, OpenError)
    assert f"{GROUND_TRUTH}/data.csv" in str(stream.problem)
    with pytest.raises(OpenError, match=r"data\.csv"):
        micro.units(GROUND_TRUTH)


def test_the_inner_folder_is_the_same_recording(real, micro):
    inner = open_source(Location(real / "euroc-micro/mav0"))
    assert list(inner.streams) == list(micro.streams)


def test_a_location_and_its_streams_pickle(micro):
    again = open_source(pickle.loads(pickle.dumps(micro.location)))
    np.testing.assert_array_equal(
        again.streams["cam0"].timeline.ns, micro.streams["cam0"].timeline.ns
    )
    assert pickle.loads(pickle.dumps(micro.streams["cam0"])).intrinsics


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """A folder with a ground truth, a Leica, a Vicon, and a camera with a fisheye lens."""
    state, leica, vicon, camera = (
        tmp_path / "mav0" / name for name in (GROUND_TRUTH, "leica0", "vicon0", "cam0")
    )
    for folder in (state, leica, vicon, camera / "data"):
        folder.mkdir(parents=True)
    axes = "xyz"
    position = "".join(f", p_RS_R_{a} [m]" for a in axes)
    quaternion = "".join(f", q_RS_{a} []" for a in "wxyz")
    motion = "".join(f", v_RS_R_{a} [m s^-1]" for a in axes)
    biases = "".join(f", b_w_RS_S_{a} [rad s^-1]" for a in axes)
    (state / "data.csv").write_text(
        f"#timestamp{position}{quaternion}{motion}{biases}\r\n"
        "1403636580838555648,4.6,-1.7,0.7,0.5,0.1,0.2,0.3,-0.02,0.03,0.8,-0.003,0.02,0.07\r\n"
        "1403636580843555328,4.7,-1.8,0.8,0.6,-0.1,-0.2,-0.3,-0.01,0.04,0.9,-0.002,0.03,0.08\r\n"
    )
    (leica / "data.csv").write_text(f"#timestamp [ns]{position}\n1403636580838555648,1,2,3\n")
    (vicon / "data.csv").write_text(
        f"#timestamp [ns]{position}{quaternion}\n1403636580838555648,1,2,3,1,0,0,0\n"
    )
    cv2.imwrite(str(camera / "data" / "1403636580838555648.png"), np.zeros((4, 6), np.uint16))
    (camera / "data.csv").write_text("#timestamp [ns]\n1403636580838555648\n")
    (camera / "sensor.yaml").write_text(
        "%YAML:1.0\n---\nT_BS: !!opencv-matrix\n   rows: 4\n   cols: 4\n   dt: d\n"
        "   data: [0, -1, 0, 0.5, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]\n"
        "camera_model: pinhole\nintrinsics: [190, 191, 254, 256]\nresolution: [512, 510]\n"
        "distortion_model: equidistant\ndistortion_coefficients: [0.003, 0.0007, -0.002, 0.0002]\n"
    )
    return tmp_path


def test_ground_truth_is_a_pose_and_its_state(drawn):
    source = open_source(Location(drawn))
    pose, state = source.streams[GROUND_TRUTH], source.streams[f"{GROUND_TRUTH}-state"]
    assert (pose.info.modality, pose.info.quaternion) == ("pose", "wxyz")
    assert pose.info.frames == ("R", "S")
    np.testing.assert_array_equal(pose.timeline.ns, [1403636580838555648, 1403636580843555328])
    values = np.stack(list(columns(source, GROUND_TRUTH).values()), axis=1)
    np.testing.assert_array_equal(values[0], [4.6, -1.7, 0.7, 0.1, 0.2, 0.3, 0.5])
    assert state.info.modality == "sensor"
    assert state.info.columns[:4] == ("v_RS_R_x", "v_RS_R_y", "v_RS_R_z", "b_w_RS_S_x")
    values = np.stack(list(columns(source, state.name).values()), axis=1)
    np.testing.assert_array_equal(values[1], [-0.01, 0.04, 0.9, -0.002, 0.03, 0.08])


def test_leica_is_a_position_and_vicon_a_pose(drawn):
    streams = open_source(Location(drawn)).streams
    assert streams["leica0"].info.modality == "sensor"
    assert streams["leica0"].info.columns == ("p_RS_R_x", "p_RS_R_y", "p_RS_R_z")
    assert streams["vicon0"].info.modality == "pose"
    assert "vicon0-state" not in streams


def test_opencv_yaml_and_a_list_without_file_names(drawn):
    camera = open_source(Location(drawn)).streams["cam0"]
    assert camera.intrinsics.model == "kannala-brandt"
    assert camera.intrinsics.size == (510, 512)
    half = 0.5**0.5
    np.testing.assert_allclose(camera.extrinsics.quaternion, (0, 0, half, half))
    assert camera.timeline.valid is None
    assert camera.info.shape == (4, 6)


def test_a_broken_calibration_is_noted_and_the_data_served(drawn):
    (drawn / "mav0/cam0/sensor.yaml").write_text("intrinsics: [1, 2\nT_BS: {")
    camera = open_source(Location(drawn)).streams["cam0"]
    assert camera.intrinsics is None
    assert any("cam0/sensor.yaml" in note for note in camera.info.report.notes)


def test_what_the_caller_declares_wins(drawn):
    reading = {GROUND_TRUTH: {"kind": "sensor", "columns": ["q_RS_w"]}, "cam0": {"stamp": "end"}}
    source = open_source(Location(drawn), OpenOptions(streams=reading))
    assert source.streams[GROUND_TRUTH].info.columns == ("q_RS_w",)
    assert source.streams["cam0"].info.stamp == "end"
    with pytest.raises(LayoutError, match=r"cam7.*did you mean 'cam0'"):
        open_source(Location(drawn), OpenOptions(streams={"cam7": {"kind": "depth"}}))
    with pytest.raises(LayoutError, match="unit="):
        open_source(Location(drawn), OpenOptions(unit="ns"))


def test_a_damaged_table_is_a_problem_of_its_stream_alone(drawn):
    (drawn / "mav0/leica0/data.csv").write_text("#timestamp [ns],p_RS_R_x [m]\n1,2\n3\n")
    source = open_source(Location(drawn))
    assert "line 3" in str(source.streams["leica0"].problem)
    assert source.streams["vicon0"].problem is None


def test_a_folder_of_other_things_is_not_claimed(tmp_path):
    (tmp_path / "cam0").mkdir()
    (tmp_path / "cam0" / "a.txt").write_text("x")
    with pytest.raises(OpenError, match="no stream"):
        open_source(Location(tmp_path))


def test_a_camera_without_pictures_is_a_problem_of_its_stream(drawn):
    (drawn / "mav0/cam0/data.csv").write_text("#timestamp [ns],filename\n")
    source = open_source(Location(drawn))
    assert "no file of 'cam0' is listed" in str(source.streams["cam0"].problem)
    assert source.streams["leica0"].problem is None
