"""Real VRS recordings by value.

The truths were taken once by other means and are written down here: fields, stamps and samples
with pyvrs 1.2.2 (Meta's own reader), pixels with FFmpeg's command line from the bytes pyvrs gave.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genlock.decoders import make_decoder
from genlock.errors import ClosedError, LayoutError, OpenError, StreamError
from genlock.interfaces import FrameFormat, OpenOptions, Source
from genlock.location import Location
from genlock.sources import open_source
from genlock.timeline import SampledTimeline

GEN2 = "aria_gen2_unit_test_sequence_with_bluetooth.vrs"
GRAY = FrameFormat(color="gray", layout="HWC")
RGB = FrameFormat(layout="HWC")


def opened(path: Path, **options: Any) -> Source:
    return open_source(Location(path), OpenOptions(**options))


@pytest.fixture(scope="module")
def gen1(real: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    """The Aria Everyday Activities recording alone with its own results."""
    folder = tmp_path_factory.mktemp("aea")
    for name in ("recording.vrs", "general_eye_gaze.csv", "speech.csv", "metadata.json"):
        shutil.copy(real / "aria-vrs" / name, folder)
    with closing(opened(folder)) as source:
        yield source


@pytest.fixture(scope="module")
def gen2(real: Path) -> Iterator[Source]:
    with closing(opened(real / "aria-vrs" / GEN2)) as source:
        yield source


def columns(source: Source, stream: str) -> Mapping[str, np.ndarray[Any, Any]]:
    with closing(source.units(stream)) as units:
        held: Mapping[str, np.ndarray[Any, Any]] = units.unit(0)
        return held


def frames(
    source: Source, stream: str, rows: list[int], format: FrameFormat
) -> np.ndarray[Any, Any]:
    info = source.streams[stream]
    decoder = make_decoder(source.units(stream), info, False, None)
    with closing(decoder):
        out = np.zeros((len(rows), *format.frame_shape(info.info.shape)), format.dtype)
        assert decoder.read(np.array(rows), format, out).all()  # type: ignore[union-attr]
    return out


def samples(source: Source, stream: str, first: int, count: int) -> np.ndarray[Any, Any]:
    info = source.streams[stream]
    timeline = info.timeline
    assert isinstance(timeline, SampledTimeline)
    out = np.zeros((info.info.shape[0], count), np.float32)
    with closing(make_decoder(source.units(stream), info, False, None)) as decoder:
        assert decoder.read(first, timeline.rate, out).all()  # type: ignore[union-attr]
    return out


GEN1_ROWS = {
    "camera-rgb": (8, 86385246037, 86735213662),
    "camera-slam-left": (4, 86435294975, 86735294975),
    "camera-slam-right": (4, 86435294975, 86735294975),
    "camera-et": (4, 86435306250, 86735306250),
    "imu-right": (400, 86347942362, 86746509612),
    "imu-left": (319, 86348264162, 86746643950),
    "mag0": (4, 86365608462, 86672356237),
    "baro0": (20, 86351461337, 86732663062),
    "mic": (16384, 86408734764, 86750047264),
    "mps-gaze": (4, 86435306000, 86735306000),
    "speech": (13, 101217000000, 198377000000),
}
GEN2_ROWS = {
    "camera-rgb": (3, 7385797614063, 7385996779437),
    "slam-front-left": (9, 7385791599780, 7386058267157),
    "slam-front-right": (9, 7385791599583, 7386058266614),
    "slam-side-left": (9, 7385791599584, 7386058265938),
    "slam-side-right": (9, 7385791599365, 7386058267718),
    "camera-et-left": (2, 7385831985510, 7386031985510),
    "camera-et-right": (2, 7385831985510, 7386031985510),
    "imu-left": (239, 7385790546396, 7386088451239),
    "imu-right": (238, 7385790294155, 7386089280823),
    "mag0": (30, 7385790817020, 7386079734468),
    "baro0": (15, 7385791125093, 7386072822333),
    "ppg": (38, 7385796656447, 7386084850980),
    "handtracking": (9, 7385791599583, 7386058267718),
    "vio": (3, 7385858266261, 7386058267157),
    "vio_high_frequency": (237, 7385790342000, 7386089496000),
    "eyegaze": (9, 7385798652000, 7386065318000),
    "temperature-temp_pvt0": (1, 7385874944000, 7385874944000),
    "bluetooth": (56, 7383801673504, 7383958710483),
}


class TestAriaGen1:
    def test_every_stream_has_its_rows_on_the_device_clock(self, gen1: Source) -> None:
        found = {
            name: (len(s.timeline), int(s.timeline.ns[0]), int(s.timeline.ns[-1]))
            for name, s in gen1.streams.items()
        }
        assert found == GEN1_ROWS
        assert {s.info.clock for s in gen1.streams.values()} == {gen1.clock} == {"device"}

    def test_pictures_are_stamped_in_the_middle_of_their_exposure(self, gen1: Source) -> None:
        info = gen1.streams["camera-rgb"].info
        assert (info.stamp, info.shape, info.rate) == ("mid", (1408, 1408), 20.0)
        assert info.exposure_ns == 5_219_000

    def test_jpeg_pixels(self, gen1: Source) -> None:
        rgb = frames(gen1, "camera-rgb", [0, 3], RGB).astype(int)
        assert np.abs(rgb[0, 700, 600] - [85, 75, 88]).max() <= 3
        assert np.abs(rgb[1, 100, 300] - [35, 46, 52]).max() <= 3
        slam = frames(gen1, "camera-slam-right", [0, 3], GRAY)
        assert [int(slam[0, 220, 600, 0]), int(slam[1, 100, 300, 0])] == [41, 45]

    def test_inertial_rows(self, gen1: Source) -> None:
        stream = gen1.streams["imu-right"]
        held = columns(gen1, "imu-right")
        assert stream.info.units == {"accelerometer": "m/s^2", "gyroscope": "rad/s"}
        assert stream.timeline.ns[100] == 86447833725
        assert held["accelerometer"][100] == pytest.approx(
            [-10.036493301391602, 0.3974374830722809, 3.450044631958008]
        )
        assert held["gyroscope"][-1] == pytest.approx(
            [0.8187730312347412, -0.0894368439912796, -0.4131130576133728]
        )
        assert columns(gen1, "imu-left")["accelerometer"][0] == pytest.approx(
            [-0.23104046285152435, -8.942343711853027, 2.6587610244750977]
        )

    def test_magnetic_field_is_in_tesla_though_the_file_has_microtesla(self, gen1: Source) -> None:
        held = columns(gen1, "mag0")["magnetometer"]
        stored = np.array([-28.95741844177246, -11.72958755493164, 12.70472240447998])
        assert held[0] == pytest.approx(stored * 1e-6)
        assert 20e-6 < np.linalg.norm(held, axis=1).min() < 65e-6  # as the Earth's

    def test_barometer(self, gen1: Source) -> None:
        held = columns(gen1, "baro0")
        assert (held["pressure"][0], held["temperature"][0]) == (
            97733.53587885501,
            25.87132750591263,
        )

    def test_sound_is_stamped_sample_by_sample(self, gen1: Source) -> None:
        timeline = gen1.streams["mic"].timeline
        assert isinstance(timeline, SampledTimeline)
        assert (timeline.rate, timeline.segments) == (48_000, ((0, 16384),))
        # stamps of the file: the last of block 0, the first and the last of block 2
        stated = [86494047264, 86579401430, 86664713930]
        assert np.abs(timeline.at(np.array([4095, 8192, 12287])) - stated).max() <= 1

    def test_sound_samples_of_all_seven_microphones(self, gen1: Source) -> None:
        sound = samples(gen1, "mic", 8192, 2).T.astype(np.float64) * 2**31
        stored = [
            [-1076224, 24549376, 750848, 46989568, 14243328, 1411840, -156672],
            [-1114112, 24572672, 759552, 47011072, 14311680, 1478144, -123136],
        ]
        assert sound == pytest.approx(np.array(stored), abs=4)  # float32 has 24 bits

    def test_factory_calibration(self, gen1: Source) -> None:
        rgb, left = gen1.streams["camera-rgb"], gen1.streams["camera-slam-left"]
        assert rgb.intrinsics is not None and rgb.extrinsics is not None
        # calibrated at 2880 x 2880: 32 pixels are cut off at each side, then 2 x 2 are one
        assert (rgb.intrinsics.model, rgb.intrinsics.size) == ("fisheye624", (1408, 1408))
        assert rgb.intrinsics.focal == pytest.approx((1214.0259937582423 / 2,) * 2)
        assert rgb.intrinsics.center == pytest.approx(
            ((1469.535869576514 - 32 + 0.5) / 2 - 0.5, (1438.595858396595 - 32 + 0.5) / 2 - 0.5)
        )
        assert len(rgb.intrinsics.distortion) == 12
        assert rgb.extrinsics.parent == "device"
        assert rgb.extrinsics.quaternion == pytest.approx(
            (0.3278414140126585, 0.03839318577298367, 0.03371771677808019, 0.9433499277148367)
        )
        assert left.intrinsics is not None
        assert left.intrinsics.center == (319.8053191211108, 240.9679064324467)
        assert gen1.streams["imu-left"].extrinsics is not None
        assert gen1.streams["camera-et"].intrinsics is None  # two eyes in one picture

    def test_results_beside_it(self, gen1: Source) -> None:
        assert columns(gen1, "mps-gaze")["yaw_rads_cpf"][1] == -0.205619
        words = columns(gen1, "speech")["value"]
        assert words[6] == "at?"
        durations = gen1.streams["speech"].timeline.durations_ns
        assert durations is not None and durations[6] == 640_000_000

    def test_opened_by_its_file_it_is_the_same(self, gen1: Source) -> None:
        assert isinstance(gen1.location.path, Path)
        path = gen1.location.path
        file = path if path.is_file() else path / "recording.vrs"
        with closing(opened(file)) as source:
            assert list(source.streams) == list(gen1.streams)


class TestAriaGen2:
    def test_every_stream_has_its_rows(self, gen2: Source) -> None:
        found = {
            name: (len(s.timeline), int(s.timeline.ns[0]), int(s.timeline.ns[-1]))
            for name, s in gen2.streams.items()
            if name in GEN2_ROWS
        }
        assert found == GEN2_ROWS

    def test_streams_without_records_are_empty(self, gen2: Source) -> None:
        sound = [s for s in gen2.streams.values() if s.problem is None]
        empty = [s.name for s in sound if not len(s.timeline)]
        assert empty == ["gps", "gps-app", "wps", "als"]

    @pytest.mark.parametrize(
        ("stream", "truth"),
        [
            ("camera-rgb", {(0, 100, 150): 34, (2, 100, 150): 49, (2, 150, 60): 70}),
            ("slam-side-left", {(0, 100, 150): 50, (8, 100, 150): 173, (8, 150, 60): 122}),
            ("camera-et-right", {(0, 100, 150): 157, (1, 100, 150): 156, (1, 150, 60): 28}),
        ],
    )
    def test_hevc_luma(
        self, gen2: Source, stream: str, truth: dict[tuple[int, int, int], int]
    ) -> None:
        rows = sorted({row for row, _, _ in truth})
        luma = frames(gen2, stream, rows, GRAY)
        found = {key: int(luma[rows.index(key[0]), key[1], key[2], 0]) for key in truth}
        assert found == truth

    def test_coded_units(self, gen2: Source) -> None:
        with closing(gen2.units("slam-front-left")) as units:
            assert (units.spec.encoding, units.spec.codec) == ("packets", "hevc")
            table = units.spec.table
            assert table is not None and table.key.all() and not table.disposable.any()
            index, unit = next(units.units(4))
            assert (index, unit[:4]) == (4, b"\x00\x00\x00\x01")

    def test_poses(self, gen2: Source) -> None:
        stream, held = gen2.streams["vio_high_frequency"], columns(gen2, "vio_high_frequency")
        assert (stream.info.frames, stream.info.quaternion) == (("odometry", "device"), "xyzw")
        assert [held[name][0] for name in ("tx", "ty", "tz")] == [
            3.144263982772827, -0.45389509201049805, 0.49056491255760193,
        ]  # fmt: skip
        assert [held[name][0] for name in ("qx", "qy", "qz")] == [
            -0.857634425163269, -0.20876643061637878, 0.10484141856431961,
        ]  # fmt: skip
        assert gen2.streams["vio"].info.frames == ("odometry", "bodyimu")
        assert columns(gen2, "vio")["qxyzw_bodyimu_device"].shape == (3, 4)
        assert "online_calib_state" in gen2.streams["vio"].info.report.notes[-1]

    def test_gaze_and_hands(self, gen2: Source) -> None:
        gaze, hands = columns(gen2, "eyegaze"), columns(gen2, "handtracking")
        assert gaze["left_eye/gaze_direction_in_device_normalized_xyz"][0] == pytest.approx(
            [-0.04347166419029236, -0.0949804037809372, 0.9945294857025146]
        )
        assert hands["left_hand/wrist_translation_meter_xyz"][0] == pytest.approx(
            [0.023566702380776405, 0.25393199920654297, 0.3156249225139618]
        )
        assert hands["right_hand/hand_landmarks_3d_device_meter_xyz"].shape == (9, 63)

    def test_magnetic_field_is_in_tesla(self, gen2: Source) -> None:
        held = columns(gen2, "mag0")["magnetometer"][0]
        assert held == pytest.approx(
            [-2.1696900148526765e-05, -4.960059959557839e-05, 1.1500400432851166e-05]
        )

    def test_radio_sightings_are_labels(self, gen2: Source) -> None:
        stream = gen2.streams["bluetooth"]
        assert (stream.info.modality, stream.info.clock) == ("labels", "device")
        # two seconds before the other streams: a scan was under way as the recording started
        assert stream.timeline.ns[[0, -1]].tolist() == [7383801673504, 7383958710483]
        first = columns(gen2, "bluetooth")["value"][0]
        assert (first["mac_address"], first["rssi"]) == ("58:08:ca:f7:92:b0", -92.0)

    def test_intrinsics_fit_the_recorded_pictures(self, gen2: Source) -> None:
        for name, size in (("camera-rgb", (1512, 2016)), ("camera-et-left", (200, 200))):
            intrinsics = gen2.streams[name].intrinsics
            assert intrinsics is not None and intrinsics.size == size
            middle = np.array(intrinsics.center[::-1]) / size
            assert np.abs(middle - 0.5).max() < 0.05


SAMPLE_PIXELS = [131, 138, 230]
CHUNK_PIXELS = [131, 181, 230]


class TestPlain:
    def test_streams_are_named_after_their_flavor(self, real: Path) -> None:
        with closing(opened(real / "vrs-oss/sample_file.vrs")) as source:
            rows = {name: len(s.timeline) for name, s in source.streams.items()}
            assert (source.clock, source.streams["sample-camera"].timeline.start_ns) == (
                "vrs", 1493865291049316,
            )  # fmt: skip
        assert rows == {"sample-audio": 47916, "sample-camera": 101, "sample-motion": 100}

    def test_raw_pixels(self, real: Path) -> None:
        with closing(opened(real / "vrs-oss/sample_file.vrs")) as source:
            pictures = frames(source, "sample-camera", [0, 7, 100], GRAY)
        assert pictures.shape == (3, 480, 640, 1)
        assert pictures[:, 5, 3, 0].tolist() == SAMPLE_PIXELS

    def test_sound_stamped_by_records_has_holes_where_they_say(self, real: Path) -> None:
        with closing(opened(real / "vrs-oss/sample_file.vrs")) as source:
            timeline = source.streams["sample-audio"].timeline
            assert isinstance(timeline, SampledTimeline)
            first = timeline.at(np.array([a for a, _ in timeline.segments]))
        assert len(timeline.segments) == 100
        assert all(b - a == 256 for a, b in timeline.segments)
        # records 1 and 2 by their index, in s
        assert first[1:3] / 1e9 == pytest.approx([1493865.307832396, 1493865.319435679], abs=3e-5)

    def test_fields_of_variable_size_become_labels(self, real: Path) -> None:
        with closing(opened(real / "vrs-oss/sample_file.vrs")) as source:
            values = columns(source, "sample-motion")["value"]
        assert [np.shape(value["motion_data"]) for value in values[[0, 10, 90]]] == [
            (0,), (10, 3, 3), (90, 3, 3),
        ]  # fmt: skip

    def test_chunks_are_one_recording(self, real: Path) -> None:
        with closing(opened(real / "vrs-oss/chunks.vrs")) as source:
            camera = source.streams["sample-camera"]
            pictures = frames(source, "sample-camera", [0, 50, 99], GRAY)
        assert (len(camera.timeline), int(camera.timeline.ns[0])) == (100, 1426237758817648)
        assert pictures[:, 5, 3, 0].tolist() == CHUNK_PIXELS

    def test_bytes_in_memory(self, real: Path) -> None:
        data = (real / "vrs-oss/sample_file.vrs").read_bytes()
        with closing(open_source(Location.of(data))) as source:
            assert frames(source, "sample-camera", [7], GRAY)[0, 5, 3, 0] == SAMPLE_PIXELS[1]


class TestFaults:
    def test_a_missing_chunk_is_named(self, real: Path, tmp_path: Path) -> None:
        for name in ("chunks.vrs", "chunks.vrs_2"):
            shutil.copy(real / "vrs-oss" / name, tmp_path)
        with pytest.raises(OpenError, match=r"chunks\.vrs_1 is missing"):
            opened(tmp_path / "chunks.vrs")

    def test_the_last_chunk_missing(self, real: Path, tmp_path: Path) -> None:
        for name in ("chunks.vrs", "chunks.vrs_1"):
            shutil.copy(real / "vrs-oss" / name, tmp_path)
        with pytest.raises(OpenError, match=r"chunks\.vrs: it ends at byte 65536.*missing chunk"):
            opened(tmp_path / "chunks.vrs")

    @pytest.mark.parametrize("size", [0, 10, 79, 80, 5_000, 100_000, 3_000_000])
    def test_a_file_that_was_cut_off(self, real: Path, tmp_path: Path, size: int) -> None:
        cut = tmp_path / "cut.vrs"
        cut.write_bytes((real / "aria-vrs/recording.vrs").read_bytes()[:size])
        with pytest.raises(OpenError, match=r"cut\.vrs"):
            opened(cut)

    def test_not_a_vrs_file(self, tmp_path: Path) -> None:
        (tmp_path / "page.vrs").write_text("<html>log in first</html>" * 10)
        with pytest.raises(OpenError, match=r"page\.vrs: it does not start like a VRS file"):
            opened(tmp_path / "page.vrs")

    def test_a_later_chunk_is_no_recording(self, real: Path, tmp_path: Path) -> None:
        shutil.copy(real / "vrs-oss/chunks.vrs_1", tmp_path / "chunk.vrs")
        with pytest.raises(OpenError, match="first chunk"):
            opened(tmp_path / "chunk.vrs")

    def test_a_folder_with_several_recordings(self, real: Path) -> None:
        with pytest.raises(OpenError, match="holds 2 recordings: open one of"):
            opened(real / "aria-vrs")

    def test_times_have_a_unit(self, real: Path) -> None:
        with pytest.raises(LayoutError, match="leave unit= out"):
            opened(real / "vrs-oss/sample_file.vrs", unit="ns")

    def test_closed_and_unknown(self, real: Path) -> None:
        source = opened(real / "vrs-oss/sample_file.vrs")
        with pytest.raises(StreamError, match="no stream 'rgb'"):
            source.units("rgb")
        source.close()
        with pytest.raises(ClosedError):
            source.units("sample-camera")
