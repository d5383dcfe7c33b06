"""What each kind of message becomes, checked by value through the decoders."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import av
import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloud_messages import cloud, numbered
from genlock._messages import Schema
from genlock.decoders.depth import DepthDecoder
from genlock.decoders.image import ImageDecoder
from genlock.decoders.table import TableDecoder
from genlock.decoders.video import VideoDecoder
from genlock.errors import DecodeError, GenlockError
from genlock.interfaces import FrameFormat, OpenOptions
from genlock.location import Location
from genlock.sources import mcap
from genlock.sources._coded_pictures import is_key
from genlock.sources._log_source import LogSource
from genlock.stream import Extrinsics, Intrinsics
from log_writers import mcap_bytes
from protobuf_types import (
    COMPRESSED_IMAGE,
    COMPRESSED_VIDEO,
    RAW_IMAGE,
    timestamp,
)
from ros_types import encode, header, make, schema
from video_messages import SIZE, coded_video, ros_video

T0 = 1_700_000_000_500_000_001
MS = 1_000_000
H, W = 4, 6


def opened(topics: Any, **streams: Any) -> LogSource:
    location = Location.of(mcap_bytes(topics))
    options = OpenOptions(streams=streams)
    return mcap.open_source(location, options, lambda *_: pytest.fail("no children"))


def read_columns(source: LogSource, stream: str) -> Any:
    return TableDecoder(source.units(stream), source.streams[stream]).columns()


def image(k: int, encoding: str, pixels: NDArray[Any], frame: str = "") -> tuple[int, Any]:
    message = make(
        "sensor_msgs/msg/Image",
        header=header(T0 + k * MS, frame),
        height=pixels.shape[0],
        width=pixels.shape[1],
        encoding=encoding,
        step=pixels.strides[0],
        data=np.ascontiguousarray(pixels).view(np.uint8).ravel(),
    )
    return T0 + k * MS + 300, message


def compressed(k: int, format: str, data: bytes) -> tuple[int, Any]:
    octets = np.frombuffer(data, np.uint8)
    stamped = header(T0 + k * MS)
    kind = "sensor_msgs/msg/CompressedImage"
    return T0 + k * MS, make(kind, header=stamped, format=format, data=octets)


def frames(source: LogSource, stream: str, make: Callable[..., Any], **form: Any) -> Any:
    """All frames of a stream, as a decoder of a kind gives them."""
    described = source.streams[stream]
    format = FrameFormat(**form)
    shape = format.frame_shape(described.info.shape)
    if make is DepthDecoder:
        shape = shape[1:]
    out = np.zeros((len(described.timeline), *shape), format.dtype)
    with closing(make(source.units(stream), described)) as decoder:
        assert decoder.read(np.arange(len(out)), format, out).all()
    return out


def test_raw_pictures_are_frames() -> None:
    pixels = np.arange(H * W * 3, dtype=np.uint8).reshape(H, W, 3)
    source = opened({"/cam/image_raw": [image(k, "bgr8", pixels + k) for k in range(3)]})
    stream = source.streams["cam/image_raw"]
    assert (stream.info.encoding, stream.info.codec) == ("image", "bgr8")
    assert stream.timeline.ns.tolist() == [T0, T0 + MS, T0 + 2 * MS]
    assert stream.info.rate == 1000.0
    found = frames(source, stream.name, ImageDecoder, layout="HWC")
    for k in range(3):
        np.testing.assert_array_equal(found[k], (pixels + k)[..., ::-1])


def test_sixteen_bit_grey_keeps_its_codes() -> None:
    pixels = (np.arange(H * W, dtype=np.uint16) * 2500).reshape(H, W)
    source = opened({"/ir": [image(0, "mono16", pixels)]})
    found = frames(source, "ir", ImageDecoder, color="gray", dtype="uint16")
    np.testing.assert_array_equal(found[0, 0], pixels)


def test_depth_in_millimetres_and_metres() -> None:
    codes = np.array([[0, 1, 1000], [2500, 65535, 7]], np.uint16)
    metres = np.array([[0.5, np.nan, 2.5], [0, -1, np.inf]], np.float32)
    source = opened({"/mm": [image(0, "16UC1", codes)], "/m": [image(0, "32FC1", metres)]})
    assert source.streams["mm"].info.modality == source.streams["m"].info.modality == "depth"
    assert (source.streams["mm"].info.depth, source.streams["m"].info.depth) == ("mm", "metres")
    form = {"color": "gray", "dtype": "float32"}
    np.testing.assert_array_equal(
        frames(source, "mm", DepthDecoder, **form)[0], (codes / 1000).astype(np.float32)
    )
    np.testing.assert_array_equal(
        frames(source, "m", DepthDecoder, **form)[0], [[0.5, 0, 2.5], [0, 0, 0]]
    )


def test_what_pictures_are_may_be_declared() -> None:
    codes = np.full((H, W), 5000, np.uint16)
    topics = {"/a": [image(0, "16UC1", codes)], "/b": [image(0, "mono16", codes)]}
    source = opened(topics, a={"kind": "video"}, b={"depth": {"scale": 0.0002}})
    assert (source.streams["a"].info.modality, source.streams["a"].info.depth) == ("video", None)
    found = frames(source, "b", DepthDecoder, color="gray", dtype="float32")
    assert (found == np.float32(1.0)).all()


def test_compressed_pictures_and_depth() -> None:
    gradient = np.linspace(0, 255, 32 * 48, dtype=np.uint8).reshape(32, 48)
    jpeg = cv2.imencode(".jpg", gradient)[1].tobytes()
    codes = np.arange(32 * 48, dtype=np.uint16).reshape(32, 48)
    png = cv2.imencode(".png", codes)[1].tobytes()
    source = opened(
        {
            "/cam/compressed": [compressed(0, "mono8; jpeg compressed mono8", jpeg)],
            "/depth/compressedDepth": [
                compressed(0, "16UC1; compressedDepth png", bytes(12) + png)
            ],
        }
    )
    found = frames(source, "cam/compressed", ImageDecoder, color="gray")
    assert np.abs(found[0, 0].astype(int) - gradient).max() <= 3
    depth = frames(source, "depth/compressedDepth", DepthDecoder, color="gray", dtype="float32")
    np.testing.assert_array_equal(depth[0], (codes / 1000).astype(np.float32))


def test_foxglove_pictures_in_protobuf_and_json() -> None:
    pixels = np.arange(H * W * 3, dtype=np.uint8).reshape(H, W, 3)
    raw = {"timestamp": timestamp(T0), "width": W, "height": H, "encoding": "rgb8", "step": 3 * W}
    proto = RAW_IMAGE.make(**raw, data=pixels.tobytes()).SerializeToString()
    png = cv2.imencode(".png", pixels[..., ::-1])[1].tobytes()
    coded = COMPRESSED_IMAGE.make(timestamp=timestamp(T0), data=png, format="png")
    text = {
        **raw,
        "timestamp": {"sec": T0 // 10**9, "nsec": T0 % 10**9},
        "data": base64.b64encode(pixels.tobytes()).decode(),
    }
    as_json = Schema("foxglove.RawImage", "json", "jsonschema", b"{}")
    source = opened(
        {
            "/raw": [(T0 + 7, (RAW_IMAGE.schema, proto))],
            "/png": [(T0 + 7, (COMPRESSED_IMAGE.schema, coded.SerializeToString()))],
            "/json": [(T0 + 7, (as_json, json.dumps(text).encode()))],
        }
    )
    for name in ("raw", "png", "json"):
        assert source.streams[name].timeline.ns.tolist() == [T0], name
        found = frames(source, name, ImageDecoder, layout="HWC")
        np.testing.assert_array_equal(found[0], pixels, name)


def test_a_damaged_picture_names_log_stream_and_time() -> None:
    pixels = np.zeros((H, W), np.uint8)
    good, bad = image(0, "mono8", pixels), image(1, "mono8", pixels)
    bad[1].height = 999
    source = opened({"/cam": [good, bad]})
    with closing(source.units("cam")) as units:
        assert np.asarray(units.unit(0)).shape == (H, W)
        with pytest.raises(DecodeError, match=f"'cam'.*{T0 + MS} ns"):
            units.unit(1)


VIDEO = [("libx264", "h264"), ("libx265", "h265"), ("libvpx-vp9", "vp9")]


@pytest.mark.parametrize(("encoder", "format"), VIDEO)
@pytest.mark.parametrize("proto", [True, False], ids=["protobuf", "ros"])
def test_video_decodes_from_any_row(encoder: str, format: str, proto: bool) -> None:
    packets = coded_video(encoder, 35)
    assert len(packets) == 35
    messages = []
    for k, data in enumerate(packets):
        if proto:
            made = COMPRESSED_VIDEO.make(
                timestamp=timestamp(T0 + k * 40 * MS), data=data, format=format, frame_id="cam"
            )
            message: Any = (COMPRESSED_VIDEO.schema, made.SerializeToString())
        else:
            message = ros_video(T0 + k * 40 * MS, data, format)
        messages.append((T0 + k * 40 * MS + 99, message))
    source = opened({"/video": messages})
    stream = source.streams["video"]
    assert (stream.info.shape, stream.info.encoding, stream.info.rate) == (SIZE, "packets", 25.0)
    assert stream.timeline.ns.tolist() == [T0 + k * 40 * MS for k in range(35)]
    units = source.units("video")
    table = units.spec.table
    assert table is not None and np.flatnonzero(table.key).tolist() == [0, 10, 20, 30]
    with closing(VideoDecoder(units, stream)) as decoder:
        for rows in ([0, 1, 2], [17, 18, 33], [5], [34]):
            out = np.zeros((len(rows), *SIZE, 1), np.uint8)
            assert decoder.read(np.array(rows), FrameFormat(color="gray", layout="HWC"), out).all()
            luma = [16 + (10 + 4 * row) * 219 / 255 for row in rows]
            full = [10 + 4 * row for row in rows]
            centre = out[:, 24, 32, 0].astype(float)
            assert min(np.abs(centre - luma).max(), np.abs(centre - full).max()) <= 3


def test_video_that_starts_between_key_pictures_is_masked_until_the_next() -> None:
    packets = coded_video("libx264", 25)[3:]
    source = opened(
        {"/video": [(T0 + k, ros_video(T0 + k * MS, p, "h264")) for k, p in enumerate(packets)]}
    )
    stream = source.streams["video"]
    out = np.zeros((22, 3, *SIZE), np.uint8)
    with closing(VideoDecoder(source.units("video"), stream)) as decoder:
        valid = decoder.read(np.arange(22), FrameFormat(), out)
    assert valid.tolist() == [False] * 7 + [True] * 15


def test_video_of_an_unknown_format_is_listed_with_the_reason() -> None:
    source = opened({"/video": [(T0, ros_video(T0, b"abc", "theora"))]})
    assert "'theora' is not known" in str(source.streams["video"].problem)


def test_key_pictures_of_av1() -> None:
    packets = coded_video("libsvtav1" if "libsvtav1" in av.codecs_available else "libaom-av1", 12)
    assert [is_key("av1", data) for data in packets][:1] == [True]
    assert sum(is_key("av1", data) for data in packets) <= 2


def pose(kind: str, k: int, **fields: Any) -> tuple[int, Any]:
    return T0 + k, make(kind, header=header(T0 + k, "/map"), **fields)


PLACE = {
    "position": {"x": 1.0, "y": 2.0, "z": 3.0},
    "orientation": {"x": 0.0, "y": 1.2, "z": 0.0, "w": 1.6},
}


@pytest.mark.parametrize(
    ("kind", "fields", "extra"),
    [
        ("geometry_msgs/msg/PoseStamped", {"pose": PLACE}, ()),
        ("geometry_msgs/msg/PoseWithCovarianceStamped", {"pose": {"pose": PLACE}}, ()),
        (
            "nav_msgs/msg/Odometry",
            {"pose": {"pose": PLACE}, "child_frame_id": "base"},
            tuple(f"twist.twist.{part}.{axis}" for part in ("linear", "angular") for axis in "xyz"),
        ),
        (
            "geometry_msgs/msg/TransformStamped",
            {
                "transform": {
                    "translation": PLACE["position"],
                    "rotation": PLACE["orientation"],
                },
                "child_frame_id": "base",
            },
            (),
        ),
    ],
)
def test_poses(kind: str, fields: Any, extra: tuple[str, ...]) -> None:
    source = opened({"/pose": [pose(kind, k, **fields) for k in range(3)]})
    stream = source.streams["pose"]
    assert stream.info.modality == "pose"
    assert stream.info.columns == ("tx", "ty", "tz", "qx", "qy", "qz", "qw", *extra)
    assert stream.info.frames == ("map", fields.get("child_frame_id", ""))
    assert stream.info.quaternion == "xyzw"
    found = read_columns(source, "pose")
    values = [float(found[name][2]) for name in stream.info.columns[:7]]
    assert values == pytest.approx([1, 2, 3, 0, 0.6, 0, 0.8], abs=1e-15)


def test_a_pose_without_a_header_is_at_the_time_of_the_log() -> None:
    source = opened({"/pose": [(T0 + 5, make("geometry_msgs/msg/Pose", **PLACE))]})
    assert source.streams["pose"].timeline.ns.tolist() == [T0 + 5]
    assert read_columns(source, "pose")["tz"].tolist() == [3.0]


def transform(parent: str, child: str, ns: int, x: float) -> dict[str, Any]:
    return {
        "header": header(ns, parent),
        "child_frame_id": child,
        "transform": {"translation": {"x": x}, "rotation": {"w": 1.0}},
    }


def test_transforms_are_a_stream_for_each_pair_of_frames() -> None:
    messages = []
    for k in range(6):
        both = [
            transform("/map", "base", T0 + 10 * k, float(k)),
            transform("base", "head", T0 + 10 * k + 3, 100.0 + k),
        ]
        # the order within a message changes, and some messages hold one only
        chosen = {0: both, 1: both[::-1], 2: both[:1]}[k % 3]
        messages.append((T0 + 1000 + k, make("tf2_msgs/msg/TFMessage", transforms=chosen)))
    source = opened({"/tf": messages})
    assert list(source.streams) == ["tf/base/head", "tf/map/base"]
    base, head = source.streams["tf/map/base"], source.streams["tf/base/head"]
    assert base.timeline.ns.tolist() == [T0 + 10 * k for k in range(6)]
    assert head.timeline.ns.tolist() == [T0 + 10 * k + 3 for k in (0, 1, 3, 4)]
    assert read_columns(source, "tf/map/base")["tx"].tolist() == [0, 1, 2, 3, 4, 5]
    assert read_columns(source, "tf/base/head")["tx"].tolist() == [100, 101, 103, 104]
    assert (base.info.frames, head.info.frames) == (("map", "base"), ("base", "head"))


def test_many_transforms() -> None:
    """More than are sorted out at a time."""
    count = 2500
    kind = "tf2_msgs/msg/TFMessage"
    what = schema(kind)
    messages = [
        (T0 + k, (what, encode(make(kind, transforms=[transform("a", "b", T0 + k, float(k))]))))
        for k in range(count)
    ]
    found = read_columns(opened({"/tf": messages}), "tf/a/b")
    assert found["tx"].tolist() == list(map(float, range(count)))


def camera_info(**values: Any) -> tuple[int, Any]:
    k = [400.0, 0, 3, 0, 410, 2, 0, 0, 1]
    given = {"height": H, "width": W, "distortion_model": "plumb_bob", "k": k, "d": [0.1] * 5}
    return T0, make("sensor_msgs/msg/CameraInfo", **(given | values))


def test_calibration_goes_to_the_pictures_beside_it() -> None:
    pixels = np.zeros((H, W), np.uint8)
    jpeg = cv2.imencode(".jpg", pixels)[1].tobytes()
    source = opened(
        {
            "/cam0/image_raw": [image(0, "mono8", pixels)],
            "/cam0/image_raw/compressed": [compressed(0, "jpeg", jpeg)],
            "/cam0/camera_info": [camera_info()],
            "/cam1/image_raw": [image(0, "mono8", pixels)],
            "/cam1/camera_info": [camera_info(k=[0.0] * 9)],
            "/cam2/camera_info": [camera_info(distortion_model="equidistant")],
        }
    )
    expected = Intrinsics("pinhole", (H, W), (400.0, 410.0), (3.0, 2.0), (0.1,) * 5)
    assert source.streams["cam0/image_raw"].intrinsics == expected
    assert source.streams["cam0/image_raw/compressed"].intrinsics == expected
    assert source.streams["cam1/image_raw"].intrinsics is None
    assert "cam0/camera_info" not in source.streams
    # what calibrates no pictures stays a table of numbers
    assert read_columns(source, "cam2/camera_info")["k"].shape == (1, 9)


def test_static_transforms_place_the_streams_of_their_child_frame() -> None:
    imu = make("sensor_msgs/msg/Imu", header=header(T0, "imu_link"))
    still = make("tf2_msgs/msg/TFMessage", transforms=[transform("base", "imu_link", T0, 0.25)])
    source = opened({"/imu": [(T0, imu)], "/tf_static": [(T0, still)]})
    assert list(source.streams) == ["imu"]
    assert source.streams["imu"].extrinsics == Extrinsics("base", (0.25, 0, 0), (0, 0, 0, 1))


def test_point_clouds_are_units_of_their_own_length() -> None:
    def cloud(k: int) -> tuple[int, Any]:
        points = np.arange(3 * k, dtype=np.float32).reshape(k, 3)
        fields = [
            {"name": name, "offset": 4 * i, "datatype": 7, "count": 1}
            for i, name in enumerate("xyz")
        ]
        message = make(
            "sensor_msgs/msg/PointCloud2",
            header=header(T0 + k),
            height=1,
            width=k,
            fields=fields,
            point_step=12,
            row_step=12 * k,
            data=points.view(np.uint8).ravel(),
        )
        return T0 + k, message

    source = opened({"/lidar": [cloud(k) for k in (1, 4, 2)]})
    stream = source.streams["lidar"]
    assert (stream.info.encoding, stream.info.columns) == ("points", ("x", "y", "z"))
    assert stream.info.units == {"x": "m", "y": "m", "z": "m"}
    with closing(source.units("lidar")) as units:
        clouds = [cloud for _, cloud in units.units(0)]
    assert [cloud["x"].tolist() for cloud in clouds] == [[0], [0, 3], [0, 3, 6, 9]]
    assert stream.timeline.ns.tolist() == [T0 + 1, T0 + 2, T0 + 4]


def test_lists_of_numbers_have_the_length_of_the_first_message() -> None:
    def joints(k: int, position: list[float]) -> tuple[int, Any]:
        kind = "sensor_msgs/msg/JointState"
        return T0 + k, make(kind, header=header(T0 + k), name=["a", "b"], position=position)

    source = opened({"/joints": [joints(0, [1, 2]), joints(1, [3, 4]), joints(2, [5])]})
    stream = source.streams["joints"]
    assert stream.info.columns == ("position",) and stream.info.shape == (2,)
    assert stream.info.report.notes[-1] == "no columns are made of name, velocity, effort"
    found = read_columns(source, "joints")["position"]
    np.testing.assert_array_equal(found, [[1, 2], [3, 4], [np.nan, np.nan]])


def test_integers_keep_their_digits() -> None:
    big = 2**62 + 1
    source = opened({"/id": [(T0, make("std_msgs/msg/Int64", data=big))]})
    found = read_columns(source, "id")["data"]
    assert found.dtype == np.int64 and found.tolist() == [big]


def test_messages_of_no_numbers_are_labels_of_their_values() -> None:
    status = make(
        "diagnostic_msgs/msg/DiagnosticArray",
        header=header(T0, "robot"),
        status=[{"name": "motor", "message": "hot", "level": 1}],
    )
    source = opened({"/diagnostics": [(T0 + 1, status)]})
    stream = source.streams["diagnostics"]
    assert (stream.info.modality, stream.timeline.ns.tolist()) == ("labels", [T0])
    (value,) = read_columns(source, "diagnostics")["value"]
    assert value["status[0].message"] == "hot" and value["status[0].level"] == 1


def test_times_of_one_pair_of_frames_may_be_declared() -> None:
    message = make("tf2_msgs/msg/TFMessage", transforms=[transform("a", "b", T0, 0.0)])
    declared = {"tf/a/b": {"time": {"from": "log"}}}
    source = opened({"/tf": [(T0 + 77, message)]}, **declared)
    assert source.streams["tf/a/b"].timeline.ns.tolist() == [T0 + 77]


def test_transforms_in_json_without_a_time_of_known_unit() -> None:
    kind = Schema("foxglove.FrameTransform", "json", "jsonschema", b"{}")
    frames_ = {"parent_frame_id": "a", "child_frame_id": "b", "timestamp": 12.5}
    moved = {"translation": dict.fromkeys("xyz", 1.0), "rotation": dict.fromkeys("xyzw", 0.5)}
    source = opened(
        {
            "/tf": [
                (T0, (kind, json.dumps(frames_ | moved).encode())),
                (T0 + 1, (kind, json.dumps(frames_).encode())),
            ]
        }
    )
    assert source.streams["tf/a/b"].timeline.ns.tolist() == [T0, T0 + 1]
    np.testing.assert_array_equal(read_columns(source, "tf/a/b")["tx"], [1.0, np.nan])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("foxglove.RawImage", {"encoding": "rgb8"}),
        ("foxglove.RawImage", {"encoding": 3, "width": "a", "height": None}),
        ("foxglove.CompressedImage", {"format": "png"}),
        ("foxglove.CompressedVideo", {"format": "h264"}),
        ("foxglove.CompressedVideo", {"format": "h264", "data": {"a": 1}}),
        ("foxglove.PointCloud", {"point_stride": 4, "fields": [{"name": "x"}], "data": ""}),
        ("foxglove.CameraCalibration", {"K": "none"}),
        ("foxglove.FrameTransforms", {"transforms": [1, 2]}),
        ("foxglove.FrameTransform", {"parent_frame_id": 1, "child_frame_id": 2}),
    ],
)
def test_messages_that_do_not_hold_what_their_type_should(name: str, value: Any) -> None:
    kind = Schema(name, "json", "jsonschema", b"{}")
    text = make("std_msgs/msg/String", data="sound")
    data = json.dumps(value).encode()
    source = opened({"/odd": [(T0, (kind, data))], "/text": [(T0, text)]})
    assert read_columns(source, "text")["value"].tolist() == ["sound"]
    for stream in source.streams.values():
        assert stream.problem is None or isinstance(stream.problem, DecodeError)


def everything() -> dict[str, Any]:
    """A log of every kind, each message small."""
    pixels = np.zeros((H, W), np.uint8)
    png = cv2.imencode(".png", np.ones((H, W), np.uint16))[1].tobytes()
    video = coded_video("libx264", 4)
    return {
        "/raw": [image(k, "mono8", pixels) for k in range(3)],
        "/depth": [compressed(0, "16UC1; compressedDepth png", bytes(12) + png)],
        "/video": [(T0 + k, ros_video(T0 + k, data, "h264")) for k, data in enumerate(video)],
        "/imu": [(T0, make("sensor_msgs/msg/Imu", header=header(T0)))],
        "/tf": [(T0, make("tf2_msgs/msg/TFMessage", transforms=[transform("a", "b", T0, 1.0)]))],
        "/camera_info": [camera_info()],
        "/lidar": [(T0 + k, cloud(T0 + k, numbered(k, k))) for k in range(3)],
        "/json": [(T0, (Schema("a", "json", "jsonschema", b"{}"), b'{"x": [1, 2]}'))],
    }


SOUND = mcap_bytes(everything(), chunked=False)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(8, len(SOUND) - 1), st.integers(0, 255)), max_size=8))
def test_altered_logs_give_an_error_of_ours_or_values(changes: list[tuple[int, int]]) -> None:
    data = bytearray(SOUND)
    for at, value in changes:
        data[at] = value
    location = Location.of(bytes(data))
    try:
        source = mcap.open_source(location, OpenOptions(), lambda *_: pytest.fail("no children"))
    except GenlockError:
        return
    for name in source.streams:
        try:
            with closing(source.units(name)) as units:
                list(units.units(0))
        except GenlockError as error:
            assert error.recording is not None and error.stream is not None
