"""Pupil Labs Neon recordings: the real sample by value; videos and older files written here."""

from __future__ import annotations

import shutil
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genlock.decoders.video import VideoDecoder
from genlock.errors import OpenError
from genlock.interfaces import FrameFormat, Source
from genlock.location import Location
from genlock.sources import open_source
from genlock.sources._extimu import read_packets

START_NS = 1_760_676_789_685_918_534


@pytest.fixture
def sample(real: Path) -> Path:
    return real / "neon"


@pytest.fixture
def source(sample: Path) -> Source:
    return open_source(Location(sample))


@pytest.mark.parametrize(
    ("stream", "rows", "first_ns", "last_ns"),
    # sizes of the .time files / 8, their first and last 8 bytes with xxd
    [
        ("gaze", 1788, 1760676790465965534, 1760676799429223534),
        ("gaze_200hz", 1788, 1760676790465965534, 1760676799429223534),
        ("eye_state", 1788, 1760676790465965534, 1760676799429223534),
        ("worn", 1788, 1760676790465965534, 1760676799429223534),
        ("imu", 969, 1760676790103992534, 1760676799453272534),
        ("imu-orientation", 969, 1760676790103992534, 1760676799453272534),
        ("fixations", 45, 1760676790591076534, 1760676799173965534),
        ("blinks", 2, 1760676793458747534, 1760676795926037534),
        ("events", 2, 1760676788219000000, 1760676799438000000),
    ],
)
def test_rows_and_times_are_the_files(source, stream, rows, first_ns, last_ns):
    described = source.streams[stream]
    assert len(described.timeline) == rows
    assert (described.timeline.ns[0], described.timeline.ns[-1]) == (first_ns, last_ns)
    assert described.info.clock == source.clock == "neon"


def test_gaze(source):
    # xxd -s 8000 -l 8 gaze_ps1.raw: 2302 5f44 90c0 2744; of the .time: 462d 328f 372e 6f18
    x, y = struct.unpack("<2f", bytes.fromhex("23025f4490c02744"))
    columns = source.units("gaze").unit(0)
    assert (columns["x"][1000], columns["y"][1000]) == (np.float32(x), np.float32(y))
    assert source.streams["gaze"].timeline.ns[1000] == 1760676795485662534
    assert source.streams["gaze"].info.units == {"x": "px", "y": "px"}


def test_motion_and_orientation(source):
    # struct.unpack("<q10f", …) of the 48 bytes from 24000 of imu_ps1.raw
    columns = source.units("imu").unit(0)
    assert list(columns) == ["gyro_x", "gyro_y", "gyro_z", "accel_x", "accel_y", "accel_z"]
    expected = [27.2216797, -1.34277344, -5.2509308, -0.0981445238, 0.36328125, 1.06396484]
    np.testing.assert_allclose([array[500] for array in columns.values()], expected, rtol=1e-7)
    assert source.streams["imu"].timeline.ns[500] == 1760676794909275534
    assert source.streams["imu"].info.units["gyro_x"] == "deg/s"
    turned = source.units("imu-orientation").unit(0)
    quaternion = [turned[name][500] for name in ("qx", "qy", "qz", "qw")]
    np.testing.assert_allclose(
        quaternion, [0.0329278894, 0.0930858254, 0.918194056, 0.383627951], rtol=1e-7
    )
    info = source.streams["imu-orientation"].info
    assert (info.modality, info.quaternion) == ("pose", "wxyz")


def test_fixations_are_labels_and_their_measures_a_sensor(source):
    # struct.unpack("<iqq10f", …) of the 60 bytes from 120 of fixations_ps1.raw
    timeline = source.streams["fixations"].timeline
    assert timeline.ns[2] == 1760676790796204534
    assert timeline.ns[2] + timeline.durations_ns[2] == 1760676790961457534
    values = source.units("fixations").unit(0)["value"]
    assert values[:4].tolist() == ["fixation", "saccade", "fixation", "saccade"]
    measures = source.units("fixations-measures").unit(0)
    assert measures["amplitude_angle_deg"][2] == np.float32(1.7831079959869385)
    assert source.streams["fixations-measures"].info.units["max_velocity"] == "px/s"


def test_blinks_and_events(source):
    assert source.units("blinks").unit(0)["value"].tolist() == ["blink", "blink"]
    durations = source.streams["blinks"].timeline.durations_ns
    assert durations.tolist() == [235_129_000, 255_254_000]
    events = source.units("events").unit(0)["value"].tolist()
    assert events == ["recording.begin", "recording.end"]
    assert source.streams["events"].timeline.durations_ns.tolist() == [0, 0]


def test_worn_has_the_times_of_gaze(source):
    worn = source.units("worn").unit(0)["worn"]
    assert (worn.dtype, worn[0]) == (np.uint8, 255)


def test_calibration(source, sample):
    # doubles of calibration.bin from byte 7: the scene camera's matrix, then its distortion
    data = (sample / "calibration.bin").read_bytes()
    fx, _, cx, _, fy, cy = struct.unpack_from("<6d", data, 7)
    world = source.streams["world"]
    assert world.intrinsics.focal == (fx, fy)
    assert world.intrinsics.center == (cx, cy)
    assert world.intrinsics.size == (1200, 1600)
    assert world.intrinsics.distortion == struct.unpack_from("<8d", data, 7 + 72)
    assert world.extrinsics.quaternion == (0, 0, 0, 1)


def test_videos_that_are_not_there_are_listed(source):
    for name in ("world", "eye"):
        assert isinstance(source.streams[name].problem, OpenError)
        assert ".mp4" in str(source.streams[name].problem)


def write_scene(folder: Path, luma: list[int], times: list[int], part: int = 1) -> None:
    """A scene video with a tone, named as the app names it, and its times."""
    name = f"Neon Scene Camera v1 ps{part}"
    with av.open(str(folder / f"{name}.mp4"), "w") as container:
        video = container.add_stream("libx264", rate=30, options={"qp": "0"})
        video.width, video.height, video.pix_fmt = 32, 16, "yuv420p"
        audio = container.add_stream("aac", rate=8000, layout="mono")
        for k, level in enumerate(luma):
            picture = np.full((24, 32), 128, np.uint8)
            picture[:16] = level
            frame = av.VideoFrame.from_ndarray(picture, "yuv420p")
            frame.pts, frame.time_base = k, Fraction(1, 30)
            container.mux(video.encode(frame))
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
        sound.sample_rate = 8000
        sound.pts, sound.time_base = 0, Fraction(1, 8000)
        container.mux(audio.encode(sound))
        for stream in (video, audio):
            container.mux(stream.encode(None))
    (folder / f"{name}.time").write_bytes(struct.pack(f"<{len(times)}q", *times))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording without .dtype files, whose scene video has a time too many."""
    (tmp_path / "info.json").write_text("{}")
    times = [START_NS + k for k in (0, 35_000_000, 66_000_000, 99_000_000)]
    write_scene(tmp_path, [50, 100, 150], times)
    (tmp_path / "gaze ps1.raw").write_bytes(struct.pack("<4f", 1, 2, 3, 4))
    (tmp_path / "gaze ps1.time").write_bytes(struct.pack("<2q", START_NS, START_NS + 5))
    (tmp_path / "gaze ps2.raw").write_bytes(struct.pack("<2f", 5, 6) + b"cut")
    (tmp_path / "gaze ps2.time").write_bytes(struct.pack("<2q", START_NS + 10, START_NS + 15))
    return tmp_path


def test_pictures_are_at_the_times_beside_the_video(recording):
    source = open_source(Location(recording))
    world = source.streams["world"]
    assert (world.timeline.ns - START_NS).tolist() == [0, 35_000_000, 66_000_000]
    decoder = VideoDecoder(source.units("world"), world)
    out = np.empty((2, 1, 16, 32), np.uint8)
    assert decoder.read(np.array([0, 2]), FrameFormat(color="gray"), out).all()
    decoder.close()
    assert out[:, 0, 8, 8].tolist() == [50, 150]


def test_sound_starts_with_the_first_picture(recording):
    audio = open_source(Location(recording)).streams["audio"]
    assert (audio.info.modality, audio.timeline.start_ns) == ("audio", START_NS)


def test_parts_are_joined_and_what_has_no_time_left_out(recording):
    source = open_source(Location(recording))
    gaze = source.streams["gaze"]
    assert (gaze.timeline.ns - START_NS).tolist() == [0, 5, 10]
    assert source.units("gaze").unit(0)["x"].tolist() == [1, 3, 5]
    (note,) = gaze.info.report.notes
    assert "gaze ps2.raw: 1 of 1 entries, 2 times" in note


def test_further_videos_are_streams_of_their_own(recording):
    write_scene(recording, [200], [START_NS + 10**9], part=2)
    streams = open_source(Location(recording)).streams
    assert streams["world-ps2"].timeline.ns.tolist() == [START_NS + 10**9]
    assert streams["audio-ps2"].timeline.start_ns == START_NS + 10**9


def test_too_few_times_are_a_problem(recording):
    file = recording / "Neon Scene Camera v1 ps1.time"
    file.write_bytes(struct.pack("<2q", START_NS, START_NS + 1))
    source = open_source(Location(recording))
    assert "2 times for 3 pictures" in str(source.streams["world"].problem)
    assert source.streams["gaze"].problem is None


def test_motion_packets_stand_in_for_the_table(recording, sample):
    for suffix in ("raw", "time"):
        shutil.copy(sample / f"extimu_ps1.{suffix}", recording)
    source, whole = open_source(Location(recording)), open_source(Location(sample))
    for stream in ("imu", "imu-orientation"):
        expected = whole.units(stream).unit(0)
        for name, values in source.units(stream).unit(0).items():
            np.testing.assert_array_equal(values, expected[name])


@pytest.mark.parametrize("text", ["[('x', 'no such type')]", "__import__('os')", "[1, 2]", "\0"])
def test_a_damaged_description_is_a_problem_of_its_stream(recording, text):
    (recording / "gaze.dtype").write_text(text)
    source = open_source(Location(recording))
    assert "gaze.dtype" in str(source.streams["gaze"].problem)


def test_entries_that_nothing_describes_are_a_problem(recording):
    (recording / "pulse ps1.raw").write_bytes(b"1234")
    (recording / "pulse ps1.time").write_bytes(bytes(8))
    source = open_source(Location(recording))
    assert "pulse" in str(source.streams["pulse"].problem)


@given(st.binary(max_size=100))
def test_packets_of_any_bytes_end(data):
    try:
        assert len(read_packets(data)) <= 50
    except ValueError as error:
        assert str(error)
