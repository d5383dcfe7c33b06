from __future__ import annotations

import json
import pickle
import re
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import cv2
import fsspec
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.writer import CompressionType
from mcap_ros2.decoder import DecoderFactory

from genlock._messages import Schema
from genlock._messages.definitions import ros_types
from genlock.decoders.image import ImageDecoder
from genlock.decoders.table import TableDecoder
from genlock.errors import ClosedError, DecodeError, MissingExtraError, OpenError, StreamError
from genlock.interfaces import FrameFormat, OpenOptions
from genlock.location import Location
from genlock.sources import mcap, open_source
from genlock.sources._log_source import LogSource
from log_writers import coded, mcap_bytes
from protobuf_types import FRAME_TRANSFORM, POSE_IN_FRAME, timestamp
from ros_types import ROS1, header, make

T0 = 1_700_000_000_123_456_789
STEP = 5_000_001


def open_mcap(target: Any, **streams: Any) -> LogSource:
    options = OpenOptions(streams=streams)
    return mcap.open_source(Location.of(target), options, lambda *_: pytest.fail("no children"))


def columns(source: LogSource, stream: str) -> Any:
    units = source.units(stream)
    return TableDecoder(units, source.streams[stream]).columns()


def imu(ns: int, x: float, frame: str = "imu", **values: Any) -> Any:
    given = {"orientation_covariance": [-1.0] + [0.0] * 8, "angular_velocity": {"x": x}} | values
    return make("sensor_msgs/msg/Imu", header=header(ns, frame), **given)


IMU = {"/imu0": [(T0 + k * STEP + 900, imu(T0 + k * STEP, float(k))) for k in range(40)]}


@pytest.fixture(scope="module")
def euroc(real: Path) -> Path:
    return real / "mcap-euroc-img-imu" / "euroc_micro_img_imu.mcap"


def test_real_recording_rows_and_times(euroc: Path) -> None:
    """Counts and stamps as the mcap package's own reader gives them."""
    source = open_mcap(euroc)
    found = {
        name: (len(s.timeline), s.timeline.start_ns, int(s.timeline.ns[-1]))
        for name, s in source.streams.items()
    }
    assert found == {
        "cam0/image_raw/compressed": (10, 1403715273262142976, 1403715273712143104),
        "cam1/image_raw/compressed": (10, 1403715273262142976, 1403715273712143104),
        "imu0": (101, 1403715273262142976, 1403715273762142976),
    }
    assert {stream.info.clock for stream in source.streams.values()} == {"mcap"}


def test_real_recording_imu_is_that_of_the_csv_it_was_made_from(euroc: Path, real: Path) -> None:
    source = open_mcap(euroc)
    table = np.loadtxt(real / "euroc-micro/mav0/imu0/data.csv", delimiter=",", skiprows=1)
    with (real / "euroc-micro/mav0/imu0/data.csv").open() as file:
        stamps = np.array([int(line.split(",")[0]) for line in list(file)[1:]])
    stream = source.streams["imu0"]
    rows = np.searchsorted(stamps, stream.timeline.ns)
    np.testing.assert_array_equal(stamps[rows], stream.timeline.ns)
    # the sensor does not measure its orientation, and says so
    assert stream.info.columns == (
        "angular_velocity.x", "angular_velocity.y", "angular_velocity.z",
        "linear_acceleration.x", "linear_acceleration.y", "linear_acceleration.z",
    )  # fmt: skip
    values = np.stack(list(columns(source, "imu0").values()), axis=1)
    np.testing.assert_allclose(values, table[rows, 1:], rtol=1e-15)
    assert values[50, 5] == -3.67749375
    assert stream.info.units["angular_velocity.x"] == "rad/s"
    assert stream.info.units["linear_acceleration.z"] == "m/s^2"


def test_real_recording_pictures(euroc: Path, real: Path) -> None:
    source = open_mcap(euroc)
    stream = source.streams["cam1/image_raw/compressed"]
    assert (stream.info.shape, stream.info.codec) == ((480, 752), "jpeg")
    with closing(source.units(stream.name)) as units:
        decoder = ImageDecoder(units, stream)
        out = np.zeros((10, 1, 480, 752), np.uint8)
        assert decoder.read(np.arange(10), FrameFormat(color="gray"), out).all()
    # pixels of row 9 by the mcap package's reader and OpenCV
    assert (out[9, 0, 240, 376], out[9, 0, 10, 700]) == (99, 111)
    for row, ns in enumerate(stream.timeline.ns.tolist()):
        original = cv2.imread(str(real / f"euroc-micro/mav0/cam1/data/{ns}.png"), 0)
        assert np.abs(out[row, 0].astype(int) - original).mean() < 3


def test_real_recording_as_the_mcap_packages_read_it(euroc: Path) -> None:
    """Every picture and every IMU row, message by message."""
    source = open_mcap(euroc)
    found: dict[str, list[Any]] = {}
    with euroc.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for _, channel, _, message in reader.iter_decoded_messages():
            found.setdefault(channel.topic[1:], []).append(message)
    for name, stream in source.streams.items():
        messages = sorted(found[name], key=lambda m: (m.header.stamp.sec, m.header.stamp.nanosec))
        stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in messages]
        assert stream.timeline.ns.tolist() == stamps
        with closing(source.units(name)) as units:
            if stream.info.encoding == "image":
                assert [data for _, data in units.units(0)] == [m.data for m in messages]
                continue
            table = units.unit(0)
        for column, values in table.items():
            part, axis = column.split(".")
            assert values.tolist() == [getattr(getattr(m, part), axis) for m in messages]


def test_real_recording_by_the_time_of_the_log(euroc: Path) -> None:
    source = open_source(Location(euroc), OpenOptions(streams={"imu0": {"time": {"from": "log"}}}))
    stream = source.streams["imu0"]
    assert stream.timeline.start_ns == 1403715273262702998
    assert int(stream.timeline.ns[-1]) == 1403715273762756061
    assert stream.info.report.notes[0] == "times are those of the log, as declared"
    other = source.streams["cam0/image_raw/compressed"]
    assert other.timeline.start_ns == 1403715273262142976
    source.close()


@pytest.mark.parametrize("compression", list(CompressionType))
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("summary", [True, False])
def test_storage_does_not_matter(
    compression: CompressionType, chunked: bool, summary: bool
) -> None:
    source = open_mcap(mcap_bytes(IMU, compression, chunked, summary, chunk_size=2000))
    stream = source.streams["imu0"]
    assert stream.timeline.ns.tolist() == [T0 + k * STEP for k in range(40)]
    assert stream.info.report.notes[0].startswith("not measured by the device: orientation")
    assert len([note for note in stream.info.report.notes if "record" in note]) == 0
    assert columns(source, "imu0")["angular_velocity.x"].tolist() == list(map(float, range(40)))


def test_rows_are_in_the_order_of_their_stamps_whatever_the_log_says() -> None:
    late = [3, 0, 1, 2, 2]
    messages = [(T0 + k, imu(T0 + stamp * 10, 100.0 + k)) for k, stamp in enumerate(late)]
    source = open_mcap(mcap_bytes({"/imu": messages}))
    stream = source.streams["imu"]
    assert stream.timeline.ns.tolist() == [T0 + s * 10 for s in (0, 1, 2, 2, 3)]
    assert (stream.info.report.reordered, stream.info.report.ties) == (5, 1)
    assert columns(source, "imu")["angular_velocity.x"].tolist() == [101, 102, 103, 104, 100]


def test_absent_stamps_fall_back_to_the_log_and_say_so() -> None:
    messages = [(T0 + k, imu(T0 + 10 * k if k % 2 else 0, float(k))) for k in range(4)]
    source = open_mcap(mcap_bytes({"/imu": messages, "/none": [(T0, imu(0, 1.0))]}))
    stream = source.streams["imu"]
    assert stream.timeline.ns.tolist() == [T0, T0 + 2, T0 + 10, T0 + 30]
    assert "2 messages state no time of their own" in stream.info.report.notes[0]
    assert source.streams["none"].timeline.ns.tolist() == [T0]
    assert "state no time of their own" in source.streams["none"].info.report.notes[0]


def test_stamps_of_another_clock_are_noted() -> None:
    source = open_mcap(mcap_bytes({"/imu": [(T0 + k, imu(5_000 + k, 0.0)) for k in range(3)]}))
    notes = " ".join(source.streams["imu"].info.report.notes)
    assert f"stamps are {5_000 - T0} ns from the times of the log: another clock?" in notes


def test_times_beyond_int64_are_dropped() -> None:
    text = [(k, make("std_msgs/msg/String", data=str(k))) for k in (5, 2**64 - 1)]
    source = open_mcap(mcap_bytes({"/text": text}))
    assert source.streams["text"].timeline.ns.tolist() == [5]
    assert source.streams["text"].info.report.dropped == 1


def test_an_orientation_is_a_column_where_it_is_measured() -> None:
    def message(k: int, **values: Any) -> Any:
        return imu(T0 + k, 1.0, **({"orientation_covariance": [0.0] * 9} | values))

    turned = {"x": 0.0, "y": 0.6, "z": 0.0, "w": 0.8}
    still = {"x": 0.0, "y": 0.0, "z": 0.0, "w": 0.0}
    source = open_mcap(
        mcap_bytes(
            {
                "/with": [(T0, message(0, orientation=turned))],
                "/zero": [(T0, message(0, orientation=still))],
            }
        )
    )
    assert columns(source, "with")["orientation.y"].tolist() == [0.6]
    assert source.streams["with"].info.shape == (10,)
    assert source.streams["zero"].info.shape == (6,)


def test_two_channels_of_one_topic_are_one_stream() -> None:
    first = [(T0 + 2 * k, imu(T0 + 2 * k, float(2 * k))) for k in range(5)]
    data = mcap_bytes({"/imu": first, "imu": [(T0 + 3, imu(T0 + 3, 3.0))]})
    source = open_mcap(data)
    assert list(source.streams) == ["imu"]
    assert columns(source, "imu")["angular_velocity.x"].tolist() == [0, 2, 3, 4, 6, 8]


def test_two_types_on_one_topic_are_two_streams() -> None:
    text = make("std_msgs/msg/String", data="a")
    source = open_mcap(mcap_bytes({"/imu": [(T0, imu(T0, 1.0)), (T0 + 1, text)]}))
    assert list(source.streams) == ["imu", "imu (std_msgs/String)"]


def test_json_tables_and_labels() -> None:
    kind = Schema("my.Thing", "json", "jsonschema", b"{}")

    def thing(**value: Any) -> tuple[Schema, bytes]:
        return kind, json.dumps(value).encode()

    time = {"sec": T0 // 10**9, "nsec": T0 % 10**9}
    source = open_mcap(
        mcap_bytes(
            {
                "/stamped": [(T0 + 5, thing(timestamp=time, a={"b": 1}, c=[1, 2], text="t"))],
                "/plain": [(T0 + k, thing(x=k)) for k in range(3)],
                "/mixed": [(T0 + k, thing(x=x)) for k, x in enumerate([1, 2.5, None])],
                "/event": [(T0, thing(what="start")), (T0 + 9, thing(what="stop"))],
                "/objects": [(T0, thing(objects=[{"name": "cup", "x": 1.0}]))],
            }
        )
    )
    stamped = source.streams["stamped"]
    assert stamped.timeline.ns.tolist() == [T0]
    assert stamped.info.columns == ("a.b", "c") and stamped.info.shape == (3,)
    assert columns(source, "stamped")["c"].tolist() == [[1, 2]]
    assert "no columns are made of text" in stamped.info.report.notes
    assert source.streams["plain"].timeline.ns.tolist() == [T0, T0 + 1, T0 + 2]
    assert columns(source, "plain")["x"].tolist() == [0, 1, 2]
    np.testing.assert_array_equal(columns(source, "mixed")["x"], [1, 2.5, np.nan])
    assert source.streams["event"].info.modality == "labels"
    assert columns(source, "event")["value"].tolist() == ["start", "stop"]
    assert columns(source, "objects")["value"].tolist() == [
        {"objects[0].name": "cup", "objects[0].x": 1.0}
    ]


def test_texts_are_labels() -> None:
    log = make("rcl_interfaces/msg/Log", stamp={"sec": 1, "nanosec": 2}, level=20, msg="hello")
    texts = [(T0 + k, make("std_msgs/msg/String", data=f"step {k}")) for k in range(2)]
    source = open_mcap(mcap_bytes({"/say": texts, "/rosout": [(T0, log)]}))
    assert columns(source, "say")["value"].tolist() == ["step 0", "step 1"]
    assert source.streams["rosout"].timeline.ns.tolist() == [1_000_000_002]
    assert columns(source, "rosout")["value"].tolist() == ["hello"]


def test_foxglove_poses_and_transforms() -> None:
    pose = POSE_IN_FRAME.make(
        timestamp=timestamp(T0),
        frame_id="map",
        pose={"position": {"x": 1.0, "z": 3.0}, "orientation": {"z": 0.6, "w": 0.8}},
    )
    transforms = [
        FRAME_TRANSFORM.make(
            timestamp=timestamp(T0 + k),
            parent_frame_id="map",
            child_frame_id=child,
            translation={"y": float(k)},
            rotation={"w": 1.0},
        )
        for k, child in enumerate(["head", "hand", "head"])
    ]
    source = open_mcap(
        mcap_bytes(
            {
                "/pose": [(T0, (POSE_IN_FRAME.schema, pose.SerializeToString()))],
                "/tf": [
                    (T0 + k, (FRAME_TRANSFORM.schema, one.SerializeToString()))
                    for k, one in enumerate(transforms)
                ],
            }
        )
    )
    assert list(source.streams) == ["pose", "tf/map/hand", "tf/map/head"]
    found = columns(source, "pose")
    names = ("tx", "ty", "tz", "qx", "qy", "qz", "qw")
    values = [float(found[name][0]) for name in names]
    assert values == pytest.approx([1.0, 0.0, 3.0, 0.0, 0.0, 0.6, 0.8], abs=1e-15)
    assert source.streams["pose"].info.frames == ("map", "")
    assert columns(source, "tf/map/head")["ty"].tolist() == [0.0, 2.0]
    assert source.streams["tf/map/head"].info.frames == ("map", "head")


def test_a_file_that_was_cut_off_gives_what_it_holds() -> None:
    whole = mcap_bytes(IMU, chunked=False)
    source = open_mcap(whole[: len(whole) // 2])
    stream = source.streams["imu0"]
    assert 5 < len(stream.timeline) < 40
    assert stream.timeline.ns.tolist() == [T0 + k * STEP for k in range(len(stream.timeline))]
    assert any("cut off" in note for note in stream.info.report.notes)


def test_a_recording_that_was_not_finished() -> None:
    data = mcap_bytes(IMU, chunked=False, finish=False)
    stream = open_mcap(data).streams["imu0"]
    assert len(stream.timeline) == 40
    assert any("was not finished" in note for note in stream.info.report.notes)


def test_zeros_at_the_end_are_no_records() -> None:
    data = mcap_bytes(IMU, chunked=False, finish=False) + bytes(1 << 20)
    stream = open_mcap(data).streams["imu0"]
    assert len(stream.timeline) == 40
    assert any("nothing is written from byte" in note for note in stream.info.report.notes)


def test_notes_are_few_however_much_is_damaged() -> None:
    many = [(T0 + k, imu(T0 + k, float(k))) for k in range(120)]
    data = bytearray(mcap_bytes({"/imu": many}, CompressionType.LZ4, chunk_size=400))
    chunks = [hit.start() for hit in re.finditer(re.escape(b"\x04\x22\x4d\x18"), data)]
    for at in chunks[5:]:
        data[at + 20] ^= 0xFF
    stream = open_mcap(bytes(data)).streams["imu"]
    assert len(chunks) > 30 and 0 < len(stream.timeline) < 60
    notes = [note for note in stream.info.report.notes if "left out" in note or "more" in note]
    assert len(notes) == 11 and notes[-1] == f"and {len(chunks) - 15} more of this kind"


def test_damaged_chunks_are_left_out() -> None:
    data = bytearray(mcap_bytes(IMU, CompressionType.LZ4, chunk_size=2000))
    at = len(data) // 3
    data[at : at + 40] = bytes(40)
    source = open_mcap(bytes(data))
    stream = source.streams["imu0"]
    assert 0 < len(stream.timeline) < 40
    assert any("left out" in note for note in stream.info.report.notes)
    rows = (stream.timeline.ns - T0) // STEP
    assert columns(source, "imu0")["angular_velocity.x"].tolist() == rows.tolist()


def test_altered_bytes_of_a_chunk_are_noticed_by_its_checksum() -> None:
    data = bytearray(mcap_bytes(IMU, CompressionType.ZSTD, chunk_size=10**6))
    position = data.find(b"\x28\xb5\x2f\xfd")
    hits = 0
    for offset in range(40, 400, 7):
        altered = bytearray(data)
        altered[position + offset] ^= 0x10
        try:
            stream = open_mcap(bytes(altered)).streams["imu0"]
        except OpenError as error:
            assert "left out" in str(error)
            hits += 1
        else:
            assert len(stream.timeline) == 40
    assert hits > 40


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not an MCAP file"),
        (b"\x89MCAP0\r\n", "holds no messages"),
        (b"\x89MCAP1\r\n" + bytes(100), "not an MCAP file of version 0"),
        (b"\x89MCAP0\r\n" + b"\x06" + b"\xff" * 8 + bytes(64), "holds no messages.*cut off"),
    ],
)
def test_what_cannot_be_opened(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "broken.mcap"
    path.write_bytes(data)
    with pytest.raises(OpenError, match=message) as caught:
        open_mcap(path)
    assert "broken.mcap" in str(caught.value)


def test_unreadable_topics_are_listed_with_the_reason() -> None:
    odd = Schema("my_pkg/msg/Thing", "cdr", "", b"")
    source = open_mcap(mcap_bytes({**IMU, "/odd": [(T0, (odd, b"1234"))]}))
    assert sorted(source.streams) == ["imu0", "odd"]
    stream = source.streams["odd"]
    assert isinstance(stream.problem, DecodeError) and stream.info.modality == "labels"
    with pytest.raises(DecodeError, match=r"my_pkg/msg/Thing.*'odd'"):
        source.units("odd")


def test_damaged_messages_are_counted_and_left_out() -> None:
    kind = Schema("my.Thing", "json", "jsonschema", b"{}")
    good = [(T0 + k, (kind, b'{"x": 1}')) for k in range(3)]
    source = open_mcap(mcap_bytes({"/x": [*good, (T0 + 9, (kind, b"{oh"))]}))
    stream = source.streams["x"]
    assert len(stream.timeline) == 3
    notes = " ".join(stream.info.report.notes)
    assert "1 messages are damaged and left out (this is not a JSON message" in notes


def test_units_are_for_streams_that_are_there_and_open() -> None:
    source = open_mcap(mcap_bytes(IMU))
    with pytest.raises(StreamError, match="no stream 'imu1'"):
        source.units("imu1")
    source.close()
    with pytest.raises(ClosedError):
        source.units("imu0")


def test_threads_with_cursors_of_their_own_read_the_same(tmp_path: Path) -> None:
    pictures = [
        (T0 + k, make("sensor_msgs/msg/Image", header=header(T0 + k), height=2, width=8,
                      encoding="mono8", step=8, data=np.full(16, k, np.uint8)))
        for k in range(30)
    ]  # fmt: skip
    path = tmp_path / "a.mcap"
    path.write_bytes(mcap_bytes({"/cam": pictures}, chunk_size=300))
    source = open_mcap(path)
    found: dict[int, list[int]] = {}

    def read(worker: int) -> None:
        with closing(source.units("cam")) as units:
            order = np.random.default_rng(worker).permutation(30).tolist()
            seen = {row: int(np.asarray(units.unit(row))[1, 7]) for row in order}
            found[worker] = [seen[row] for row in range(30)]

    threads = [threading.Thread(target=read, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {worker: list(range(30)) for worker in range(4)}


def test_a_source_pickles_by_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    path.write_bytes(mcap_bytes(IMU))
    source = open_mcap(path, imu0={"time": {"from": "log"}})
    again = pickle.loads(pickle.dumps(source))
    assert again.streams["imu0"].timeline.start_ns == T0 + 900


def test_formats_are_chosen_by_content(tmp_path: Path) -> None:
    for name in ("a.mcap", "no-suffix"):
        path = tmp_path / name
        path.write_bytes(mcap_bytes(IMU))
        assert list(open_source(Location(path)).streams) == ["imu0"]
    assert list(open_source(Location.of(mcap_bytes(IMU))).streams) == ["imu0"]


@pytest.mark.parametrize(
    ("absent", "line"),
    [
        ("mcap", "genlock[mcap]"),
        ("rosbags.typesys", "genlock[ros]"),
        ("zstandard", "genlock[mcap,ros]"),
    ],
)
def test_absent_packages_are_named_with_the_line_that_installs_them(
    monkeypatch: pytest.MonkeyPatch, absent: str, line: str
) -> None:
    data = mcap_bytes(IMU)
    ros_types.cache_clear()
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingExtraError, match=re.escape(f"pip install '{line}'")):
        open_mcap(data)


def test_a_stream_on_a_clock_of_its_own() -> None:
    declared = OpenOptions(streams={"imu0": {"clock": "imu"}})
    source = open_source(Location.of(mcap_bytes(IMU)), declared)
    assert source.streams["imu0"].info.clock == "imu" and source.clock == "imu"


def test_ros_1_messages_in_mcap() -> None:
    message = make("sensor_msgs/msg/Temperature", ROS1, temperature=21.5)
    source = open_mcap(mcap_bytes({"/t": [(T0, coded(message, ROS1))]}))
    assert columns(source, "t")["temperature"].tolist() == [21.5]
    assert source.streams["t"].info.units == {"temperature": "degC", "variance": "degC^2"}


def test_a_log_behind_a_url() -> None:
    files = fsspec.filesystem("memory")
    files.pipe("/logs/far.mcap", mcap_bytes(IMU))
    try:
        source = open_source(Location("memory://logs/far.mcap"))
        with closing(source.units("imu0")) as units:
            assert units.unit(0)["angular_velocity.x"].tolist() == list(map(float, range(40)))
    finally:
        files.rm("/logs/far.mcap")
