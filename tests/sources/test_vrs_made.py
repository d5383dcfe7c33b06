"""What no real file here holds: stamps of -1, holes and drift in sound, maps between clocks, ground
truth of Aria Digital Twin. Written field by field, read back by value.
"""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from genlock._vrs.content import AudioSpec
from genlock.decoders import make_decoder
from genlock.errors import DecodeError
from genlock.interfaces import FrameFormat, OpenOptions, Source
from genlock.location import Location
from genlock.sources import open_source
from genlock.sources._vrs_pictures import is_key
from genlock.sources._vrs_sound import opus_head, pcm
from genlock.timeline import SampledTimeline
from vrs_writer import Layout, Track, write_vrs

ARIA, OATMEAL = "device/aria", "device/oatmeal"
CAMERA = Layout({"capture_timestamp_ns": "int64_t", "exposure_duration_s": "double"})
CAMERA_SETUP = Layout(
    {"image_width": "uint32_t", "image_height": "uint32_t", "image_pixel_format": "uint32_t",
     "nominal_rate": "double", "description": "string"}
)  # fmt: skip
IMU = Layout(
    {"accelerometer_valid": "Bool", "gyroscope_valid": "Bool", "capture_timestamp_ns": "int64_t",
     "accelerometer": "float[3]", "gyroscope": "float[3]"}
)  # fmt: skip
SOUND = Layout({"capture_timestamps_ns": "vector<int64_t>"})
GREY8, GREY16, SCALAR64F = 1, 11, 13
MS = 1_000_000


def opened(path: Path, **options: Any) -> Source:
    return open_source(Location(path), OpenOptions(**options))


def columns(source: Source, stream: str) -> Any:
    with closing(source.units(stream)) as units:
        return units.unit(0)


def camera(
    ids: tuple[int, int], pixels: int, size: tuple[int, int], about: str = "", **more: Any
) -> Track:
    track = Track(
        ids, "data_layout/size=16+image/raw", CAMERA, CAMERA_SETUP, **{"flavor": ARIA, **more}
    )
    return track.configure(
        image_width=size[1], image_height=size[0], image_pixel_format=pixels, nominal_rate=10.0,
        description=about,
    )  # fmt: skip


class TestStamps:
    def test_minus_one_is_dropped_and_counted(self, tmp_path: Path) -> None:
        track = Track((1202, 1), layout=IMU, flavor=ARIA)
        for i, stamp in enumerate([10, -1, 30, -1, 50]):
            valid = {"accelerometer_valid": True, "gyroscope_valid": i != 2}
            track.add(i, capture_timestamp_ns=stamp, accelerometer=[i, 0, 0], **valid)
        with closing(opened(write_vrs(tmp_path / "a.vrs", [track]))) as source:
            stream, held = source.streams["imu-right"], columns(source, "imu-right")
        assert stream.timeline.ns.tolist() == [10, 30, 50]
        assert stream.info.report.dropped == 2
        assert held["accelerometer"][:, 0].tolist() == [0, 2, 4]
        assert np.isnan(held["gyroscope"]).any(axis=1).tolist() == [False, True, False]

    def test_steps_back_are_sorted_with_their_values(self, tmp_path: Path) -> None:
        track = Track((1202, 1), layout=IMU, flavor=ARIA)
        for i, stamp in enumerate([30, 10, 20]):
            track.add(
                i, capture_timestamp_ns=stamp, accelerometer=[stamp, 0, 0],
                accelerometer_valid=True,
            )  # fmt: skip
        with closing(opened(write_vrs(tmp_path / "a.vrs", [track]))) as source:
            stream, held = source.streams["imu-right"], columns(source, "imu-right")
        assert stream.info.report.reordered == 3
        assert held["accelerometer"][:, 0].tolist() == stream.timeline.ns.tolist() == [10, 20, 30]

    def test_sightings_of_the_first_generation_are_stamped_by_their_records(
        self, tmp_path: Path
    ) -> None:
        sighting = Layout({"board_timestamp_ns": "int64_t", "ssid": "string"})
        track = Track((282, 1), layout=sighting, flavor=ARIA)
        track.add(1.5, board_timestamp_ns=1_700_000_000_000_000_000, ssid="home")
        with closing(opened(write_vrs(tmp_path / "a.vrs", [track]))) as source:
            stream = source.streams["wps"]
            assert (stream.timeline.ns.tolist(), stream.info.clock) == ([1_500_000_000], "device")
            assert columns(source, "wps")["value"][0]["ssid"] == "home"

    def test_pictures_without_a_time_have_no_row(self, tmp_path: Path) -> None:
        track = camera((1201, 1), GREY8, (4, 6))
        for i, stamp in enumerate([5, -1, 7]):
            track.add(i, bytes([i]) * 24, capture_timestamp_ns=stamp, exposure_duration_s=0.002)
        with closing(opened(write_vrs(tmp_path / "a.vrs", [track], compression="lz4"))) as source:
            stream = source.streams["camera-slam-left"]
            with closing(source.units("camera-slam-left")) as units:
                assert [int(unit[0, 0]) for _, unit in units.units(0)] == [0, 2]
        assert (stream.timeline.ns.tolist(), stream.info.exposure_ns) == ([5, 7], 2_000_000)


class TestSound:
    RATE = 8_000

    def track(self, starts: list[int], period: float, count: int = 80) -> Track:
        text = f"data_layout+audio/pcm/int16le/channels=2/rate={self.RATE}"
        track = Track((231, 1), text, SOUND, flavor=ARIA)
        for block, start in enumerate(starts):
            stamps = start + np.rint(np.arange(count) * period).astype(int)
            values = np.arange(count)[:, None] + [1000 * block, -1000 * block]
            track.add(
                block, values.astype("<i2").tobytes(),
                capture_timestamps_ns=np.full(count, -1) if start < 0 else stamps,
            )  # fmt: skip
        return track

    def timeline(self, path: Path, track: Track) -> tuple[SampledTimeline, Source]:
        source = opened(write_vrs(path / "a.vrs", [track], compression="zstd"))
        timeline = source.streams["mic"].timeline
        assert isinstance(timeline, SampledTimeline)
        return timeline, source

    def read(self, source: Source, first: int, count: int) -> NDArray[np.float64]:
        stream = source.streams["mic"]
        out = np.zeros((2, count), np.float32)
        with closing(make_decoder(source.units("mic"), stream, False, None)) as decoder:
            decoder.read(first, self.RATE, out)  # type: ignore[union-attr]
        return out * 32768.0

    def test_blocks_that_follow_each_other(self, tmp_path: Path) -> None:
        timeline, source = self.timeline(tmp_path, self.track([0, 10 * MS, 20 * MS], 125_000))
        with closing(source):
            assert (timeline.segments, timeline.clock.is_identity) == (((0, 240),), True)
            assert self.read(source, 79, 3)[:, :].T.tolist() == [
                [79, 79],
                [1000, -1000],
                [1001, -999],
            ]

    def test_a_lost_block_is_a_hole_as_long_as_the_stamps_say(self, tmp_path: Path) -> None:
        timeline, source = self.timeline(tmp_path, self.track([0, 10 * MS, 40 * MS], 125_000))
        with closing(source):
            assert timeline.segments == ((0, 160), (320, 400))
            assert source.streams["mic"].info.report.missing == 160
            assert self.read(source, 318, 4).T.tolist() == [
                [0, 0], [0, 0], [2000, -2000], [2001, -1999],
            ]  # fmt: skip

    def test_a_block_stamped_minus_one_is_a_hole(self, tmp_path: Path) -> None:
        timeline, source = self.timeline(tmp_path, self.track([0, -1, 20 * MS], 125_000))
        with closing(source):
            assert timeline.segments == ((0, 80), (160, 240))
            assert source.streams["mic"].info.report.dropped == 1

    def test_a_microphone_that_runs_slow_makes_no_holes(self, tmp_path: Path) -> None:
        period = 125_000 * 1.001  # 1000 ppm: after 100 blocks the line is off by 8 samples
        starts = [round(80 * period * block) for block in range(100)]
        timeline, source = self.timeline(tmp_path, self.track(starts, period))
        source.close()
        assert timeline.segments == ((0, 8000),)
        off = timeline.at(np.arange(0, 8000, 80)) - starts
        assert np.abs(off).max() < 1_000

    def test_jitter_of_the_stamps_makes_no_holes(self, tmp_path: Path) -> None:
        jitter = np.random.default_rng(0).integers(-MS // 2, MS // 2, 50)
        starts = [10 * MS * block + int(off) + MS for block, off in enumerate(jitter)]
        timeline, source = self.timeline(tmp_path, self.track(starts, 125_000))
        source.close()
        assert len(timeline.segments) == 1

    def test_pcm_formats(self) -> None:
        codes = [[1, -2], [300, -400], [(1 << 23) - 1, -(1 << 23)]]
        little = b"".join(c.to_bytes(3, "little", signed=True) for pair in codes for c in pair)
        big = b"".join(c.to_bytes(3, "big", signed=True) for pair in codes for c in pair)
        for name, data in (("int24le", little), ("int24be", big)):
            values = pcm(data, AudioSpec("pcm", name, 2, 8000))
            assert values.dtype == np.int32
            assert (values.T / 256).tolist() == codes
        floats = np.array([[0.5, -1.0]], ">f4")
        assert (
            pcm(floats.tobytes(), AudioSpec("pcm", "float32be", 2, 8000)).T.tolist()
            == floats.tolist()
        )
        padded = b"".join(
            np.array(pair, "<i2").tobytes() + b"\xff" * 2 for pair in [[1, 2], [3, 4]]
        )
        assert pcm(padded, AudioSpec("pcm", "int16le", 2, 8000, frame=6)).tolist() == [
            [1, 3],
            [2, 4],
        ]

    def test_sound_that_cannot_be_read_is_listed_with_a_problem(self, tmp_path: Path) -> None:
        text = "data_layout+audio/pcm/uint8mulaw/channels=1/rate=8000"
        track = Track((231, 1), text, SOUND, flavor=ARIA).add(0, b"\0" * 80)
        with closing(opened(write_vrs(tmp_path / "a.vrs", [track]))) as source:
            assert "uint8mulaw" in str(source.streams["mic"].problem)
            with pytest.raises(DecodeError, match=r"a\.vrs"):
                source.units("mic")


class TestOpus:
    """Meta's own decoding is libopus; FFmpeg's wrapper of it is asked for the same packets."""

    VORBIS_ORDER = (0, 2, 1, 7, 5, 6, 3, 4)
    """In which that wrapper reorders eight channels, as if they were those of an Ogg file."""

    def test_eight_microphones_as_libopus_decodes_them(self, real: Path) -> None:
        name = "aria_gen2_unit_test_sequence_with_bluetooth.vrs"
        with closing(opened(real / "aria-vrs" / name)) as source:
            stream = source.streams["mic"]
            timeline = stream.timeline
            assert isinstance(timeline, SampledTimeline)
            # 15 blocks of 320 samples at 16 kHz; the stamps of the last one in the file
            assert (timeline.rate, timeline.count, stream.info.shape) == (48_000, 14_400, (8,))
            last = timeline.at(np.array([14 * 960]))[0]
            assert abs(int(last) - 7386075506101) < 1_000
            units = source.units("mic")
            packets = [unit for _, unit in units.units(0)]
            context = av.CodecContext.create("libopus", "r")
            context.extradata = units.spec.extradata
            truth = np.concatenate(
                [
                    f.to_ndarray().reshape(-1, 8).T
                    for p in packets
                    for f in context.decode(av.Packet(p))
                ],
                axis=1,
            )
            out = np.zeros((8, 14_400), np.float32)
            decoder = make_decoder(units, stream, False, None)
            assert decoder.read(0, 48_000, out).all()  # type: ignore[union-attr]
            decoder.close()
        assert np.abs(truth).max() > 100
        for channel in range(8):
            expected = truth[self.VORBIS_ORDER.index(channel)]
            assert np.abs(out[channel] * 32768 - expected).max() <= 1

    def test_header(self) -> None:
        head = opus_head(AudioSpec("opus", "int16le", 5, 16_000, pairs=2))
        assert head == (
            b"OpusHead\x01\x05\x00\x00\x80\x3e\x00\x00\x00\x00\xff" + bytes([3, 2, 0, 1, 2, 3, 4])
        )


class TestClocks:
    def test_time_codes_map_to_the_device_clock(self, tmp_path: Path) -> None:
        layout = Layout({"monotonic_timestamp_ns": "int64_t", "real_timestamp_ns": "int64_t"})
        sync = Track((285, 1), layout=layout, configuration=Layout({"mode": "string"}), flavor=ARIA)
        sync.configure(mode="TIC_SYNC")
        epoch = 1_700_000_000_000_000_000
        for second, (device, real) in enumerate([(0, 0), (1000, 1001), (2000, 2003)]):
            sync.add(
                second, monotonic_timestamp_ns=5_000 + device * MS,
                real_timestamp_ns=epoch + real * MS,
            )  # fmt: skip
        imu = Track((1202, 2), layout=IMU, flavor=ARIA).add(0, capture_timestamp_ns=7)
        with closing(opened(write_vrs(tmp_path / "a.vrs", [sync, imu]))) as source:
            assert list(source.streams) == ["imu-left"]
            assert set(source.clocks) == {"device", "tic_sync"}
            clock = source.clocks["tic_sync"]
        real_ns = epoch + np.array([-MS, 0, 1001 * MS, 1502 * MS, 2003 * MS, 2004 * MS])
        expected = 5_000 + np.array([-MS, 0, 1000 * MS, 1500 * MS, 2000 * MS, 2001 * MS])
        assert clock.forward(real_ns).tolist() == expected.tolist()


class TestDigitalTwin:
    DEPTH = np.arange(24, dtype="<u2").reshape(4, 6) * 250
    IDS = np.array([[8831369073541652, 0, 3, 8831369073541652], [3, 3, 0, 999]], "<u8")

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        rgb = camera((214, 1), GREY8, (4, 6)).add(0, bytes(24), capture_timestamp_ns=100)
        write_vrs(tmp_path / "video.vrs", [rgb], tags={"device_type": "Aria"})
        depth = camera((345, 1), GREY16, (4, 6), "214-1", flavor="gt")
        depth.add(0, self.DEPTH.tobytes(), capture_timestamp_ns=100)
        write_vrs(tmp_path / "depth_images.vrs", [depth], compression="zstd")
        ids = camera((400, 1), SCALAR64F, (2, 4), "214-1", flavor="gt")
        ids.add(0, self.IDS.tobytes(), capture_timestamp_ns=101)
        write_vrs(tmp_path / "segmentations.vrs", [ids])
        instances = [
            {"instance_id": 8831369073541652, "instance_name": "Mug"},
            {"instance_id": 3, "instance_name": "Floor"},
        ]
        listed = {str(one["instance_id"]): one for one in instances}
        (tmp_path / "instances.json").write_text(json.dumps(listed))
        return tmp_path

    def test_depth_is_in_metres(self, folder: Path) -> None:
        with closing(opened(folder)) as source:
            stream = source.streams["depth-camera-rgb"]
            assert (stream.info.modality, stream.info.depth, stream.info.stamp) == (
                "depth", "mm", "mid",
            )  # fmt: skip
            out = np.zeros((1, 4, 6), np.float32)
            with closing(make_decoder(source.units(stream.name), stream, True, None)) as decoder:
                decoder.read(np.array([0]), FrameFormat(), out)  # type: ignore[union-attr]
        assert out[0].tolist() == pytest.approx((self.DEPTH / 1000).astype(np.float32))

    def test_instances_get_codes_that_labels_explain(self, folder: Path) -> None:
        with closing(opened(folder / "video.vrs")) as source:
            with closing(source.units("segmentation-camera-rgb")) as units:
                assert units.unit(0).tolist() == [[2, 0, 1, 2], [1, 1, 0, 0]]
            labels = columns(source, "segmentation-instances")["value"]
            assert [(one["code"], one["instance_name"]) for one in labels] == [
                (1, "Floor"), (2, "Mug"),
            ]  # fmt: skip
            assert source.streams["segmentation-instances"].timeline.start_ns == 100

    def test_codes_are_read_without_blending(self, folder: Path) -> None:
        with closing(opened(folder)) as source:
            stream = source.streams["segmentation-camera-rgb"]
            out = np.zeros((1, 4, 8), np.float32)
            with closing(make_decoder(source.units(stream.name), stream, True, None)) as decoder:
                decoder.read(np.array([0]), FrameFormat((4, 8)), out)  # type: ignore[union-attr]
        codes = [[2, 0, 1, 2], [1, 1, 0, 0]]
        assert np.array_equal(out[0], np.repeat(np.repeat(codes, 2, 0), 2, 1))

    def test_without_instances_the_segmentation_says_what_is_missing(self, folder: Path) -> None:
        (folder / "instances.json").unlink()
        with closing(opened(folder)) as source:
            problem = source.streams["segmentation-camera-rgb"].problem
        assert "instances.json" in str(problem)


def test_streams_of_one_name_are_told_apart(tmp_path: Path) -> None:
    layout = Layout({"value": "double"})
    tracks = [
        Track((240, 3), layout=layout, device="Sensor Class").add(1.5, value=1),
        Track((240, 4), layout=layout, device="Sensor Class").add(2.25, value=2),
    ]
    with closing(opened(write_vrs(tmp_path / "a.vrs", tracks))) as source:
        assert {n: s.timeline.ns.tolist() for n, s in source.streams.items()} == {
            "sensor-3": [1_500_000_000], "sensor-4": [2_250_000_000],
        }  # fmt: skip
        assert columns(source, "sensor-4")["value"].tolist() == [2.0]


def test_a_stream_of_unknown_records_does_not_hide_the_others(tmp_path: Path) -> None:
    odd = Track((999, 1), device="Odd Class", tags={"DL:Data:1:0": "nonsense"}).add(0)
    imu = Track((1202, 2), layout=IMU, flavor=ARIA).add(0, capture_timestamp_ns=7)
    with closing(opened(write_vrs(tmp_path / "a.vrs", [odd, imu]))) as source:
        assert isinstance(source.streams["odd"].problem, DecodeError)
        assert len(columns(source, "imu-left")["gyroscope"]) == 1


def test_what_is_declared_wins(tmp_path: Path) -> None:
    track = camera((345, 1), GREY16, (2, 2), "1201-1").add(
        0, np.full((2, 2), 500, "<u2").tobytes(), capture_timestamp_ns=5
    )
    path = write_vrs(tmp_path / "depth.vrs", [track])
    declared = {"depth-camera-slam-left": {"depth": {"scale": 0.01}, "zero_ns": 10}}
    with closing(opened(path, streams=declared)) as source:
        stream = source.streams["depth-camera-slam-left"]
        assert (stream.info.depth, stream.timeline.ns.tolist()) == (
            "scale=0.01 invalid=0",
            [15],
        )


def test_cursors_on_many_threads(real: Path) -> None:
    with closing(opened(real / "aria-vrs/recording.vrs")) as source:
        names = ["camera-rgb", "camera-slam-left", "camera-slam-right", "camera-et"] * 4

        def read(name: str) -> list[bytes]:
            with closing(source.units(name)) as units:
                return [unit for _, unit in units.units(0)]

        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(read, names))
    assert found[:4] == found[4:8] == found[8:12] == found[12:]
    assert all(unit.startswith(b"\xff\xd8") for unit in found[0])


def test_streams_can_be_pickled(real: Path) -> None:
    with closing(opened(real / "aria-vrs/recording.vrs")) as source:
        stream = source.streams["camera-rgb"]
        assert repr(pickle.loads(pickle.dumps(stream))) == repr(stream)


@pytest.mark.parametrize(
    ("codec", "kinds", "key"),
    [
        ("hevc", [32, 33, 34, 39, 19], True), ("hevc", [35, 1], False), ("hevc", [21], True),
        ("hevc", [32, 33], None), ("h264", [7, 8, 5], True), ("h264", [9, 1], False),
        ("av1", [], None),
    ],
)  # fmt: skip
def test_key_pictures_by_their_first_slice(codec: str, kinds: list[int], key: bool | None) -> None:
    heads = [bytes([k << 1, 1]) if codec == "hevc" else bytes([0x60 | k]) for k in kinds]
    data = b"".join(b"\0\0\0\1" + head + b"\x80" * 6 for head in heads)
    assert is_key(codec, data) is key
