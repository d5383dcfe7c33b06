"""NVDEC on a stand-in for a GPU: FFmpeg decodes in software, and frames behave as on a device.

What a GPU itself gives is compared in tests/gpu. Here is everything around it: which streams are
offered, contexts that are made anew, rows, order, damage, and what comes back to host memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from av.codec.context import CodecContext
from av.video.format import VideoFormat
from av.video.frame import VideoFrame

from genlock.decoders import _cuda, nvdec
from genlock.decoders.nvdec import NvdecDecoder
from genlock.decoders.video import VideoDecoder
from genlock.errors import DecodeError, FieldError, MissingExtraError
from genlock.interfaces import FrameFormat
from media_clips import encode, open_media

INTERLEAVED = {"yuv420p": "nv12", "yuvj420p": "nv12", "yuv420p10le": "p010le"}


class DeviceFrame:
    """A frame whose pixels the host cannot touch before they are brought over."""

    def __init__(self, frame: VideoFrame, gpu: StandIn) -> None:
        self._frame, self._gpu = frame, gpu
        self.format = VideoFormat("cuda", frame.width, frame.height)
        laid_out = gpu.gives or INTERLEAVED[frame.format.name]
        self.sw_format = VideoFormat(laid_out, frame.width, frame.height)

    @property
    def planes(self) -> Any:
        raise TypeError("these planes are on the device")

    def reformat(self, **options: Any) -> VideoFrame:
        self._gpu.brought.append(self.opaque[0])
        full = self._frame.format.name == "yuvj420p"  # not to be squeezed into limited range
        same = {"src_colorspace": 5, "dst_colorspace": 5}
        ranges = {"src_color_range": 1 + full, "dst_color_range": 1 + full}
        given = self._frame.reformat(format=self.sw_format.name, **same, **ranges)
        given.colorspace, given.color_range = self.colorspace, self.color_range
        for number, plane in enumerate(self._frame.planes):  # nothing is lost by interleaving
            np.testing.assert_array_equal(_codes(given, number), _values(plane, self._bits16))
        return given.reformat(**options)

    @property
    def _bits16(self) -> bool:
        return self.sw_format.name == "p010le"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frame, name)


def _values(plane: Any, bits16: bool) -> np.ndarray:
    lines = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
    return lines.view("<u2" if bits16 else np.uint8)[:, : plane.width]


def _codes(frame: VideoFrame, number: int) -> np.ndarray:
    """Y, U or V of an nv12 or p010le frame."""
    bits16 = frame.format.name == "p010le"
    plane = frame.planes[min(number, 1)]
    lines = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
    codes = lines.view("<u2" if bits16 else np.uint8) >> (6 if bits16 else 0)
    if number:
        codes = codes[:, number - 1 :: 2]
    return codes[:, : plane.width]


class StandIn:
    """Makes contexts as PyAV does with a GPU. brought: units whose frames crossed the bus."""

    def __init__(self) -> None:
        self.brought: list[int] = []
        self.given: list[dict[str, Any]] = []
        self.accelerates = True
        self.gives = ""
        self.within: int | None = None

    def create(self, codec: Any, mode: str, hwaccel: Any) -> Any:
        self.given.append({"gpu": self.within, "hwaccel": hwaccel})
        return StandInContext(CodecContext.create(codec, mode), self)

    @contextmanager
    def context(self, gpu: int) -> Iterator[None]:
        self.within = gpu
        yield
        self.within = None


class StandInContext:
    def __init__(self, software: Any, gpu: StandIn) -> None:
        self.__dict__.update(software=software, gpu=gpu, is_hwaccel=gpu.accelerates)

    def decode(self, packet: Any) -> list[DeviceFrame]:
        return [DeviceFrame(frame, self.gpu) for frame in self.software.decode(packet)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.software, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.software, name, value)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    monkeypatch.setattr(nvdec, "require", lambda: None)
    monkeypatch.setattr(nvdec, "CodecContext", stand_in)
    monkeypatch.setattr(nvdec, "primary_context", stand_in.context)
    return stand_in


def read(
    kind: type[Any], path: Any, rows: Any, format: FrameFormat, name: str = "video"
) -> tuple[np.ndarray, np.ndarray]:
    source = open_media(path)
    stream = source.streams[name]
    rows = np.array(range(len(stream.timeline)) if rows is None else rows, np.int64)
    with closing(kind(source.units(name), stream)) as decoder:
        out = np.full((len(rows), *format.frame_shape(stream.info.shape)), 77, format.dtype)
        return out, decoder.read(rows, format, out)


def same(path: Any, rows: Any, format: FrameFormat) -> np.ndarray:
    """What both decoders say is sound; fails unless they give the same."""
    expected, sound = read(VideoDecoder, path, rows, format)
    got, valid = read(NvdecDecoder, path, rows, format)
    np.testing.assert_array_equal(valid, sound)
    np.testing.assert_array_equal(got, expected)
    return valid


CLIPS = [
    "v01_cut_editlist.mp4",
    "v03_vfr.mp4",
    "v04_rot270.mp4",
    "v07_hevc_opengop.mp4",
    "v08_drain7.mp4",
    "v10_col_601tv.mp4",
    "v10_col_709tv.mp4",
    "v11_10bit_pq.mp4",
    "v12b_134x70.mp4",
    "v15_corrupt.mkv",
    "v18_tmcd.mov",
]


@pytest.mark.parametrize("name", CLIPS)
def test_frames_rows_and_damage_are_those_of_software(cases: Path, gpu: StandIn, name: str) -> None:
    valid = same(cases / "inputs" / name, None, FrameFormat(size=(64, 96)))
    assert valid.any()
    assert valid.all() == (name != "v15_corrupt.mkv")


@pytest.mark.parametrize(
    "format",
    [
        FrameFormat(),
        FrameFormat(color="gray", dtype="uint16"),
        FrameFormat(color="yuv420p", size=(48, 64)),
        FrameFormat(dtype="float32", size=(30, 40), layout="HWC"),
        FrameFormat(crop=(3, 5, 33, 47), size=(32, 32)),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["v10_col_601tv.mp4", "v11_10bit_pq.mp4", "v12b_134x70.mp4"])
def test_every_format_is_converted_as_in_software(
    cases: Path, gpu: StandIn, name: str, format: FrameFormat
) -> None:
    assert same(cases / "inputs" / name, [0, 2], format).all()


@pytest.mark.parametrize(
    "name", ["sample_android_slow_motion.mp4", "nasa_13013_rotated.mp4", "hlg10-color-test.mp4"]
)
def test_real_clips(real: Path, gpu: StandIn, name: str) -> None:
    (path,) = real.rglob(name)
    assert same(path, None, FrameFormat(size=(64, 64))).any()


def test_open_gop_in_any_order(cases: Path, gpu: StandIn) -> None:
    path, format = cases / "inputs/v07_hevc_opengop.mp4", FrameFormat(color="gray")
    expected, _ = read(VideoDecoder, path, None, format)
    source = open_media(path)
    with closing(NvdecDecoder(source.units("video"), source.streams["video"])) as decoder:
        for row in (118, 35, 11, 119, 0, 12, 11):
            out = np.zeros((1, *expected.shape[1:]), np.uint8)
            assert decoder.read(np.array([row]), format, out).all()
            np.testing.assert_array_equal(out[0], expected[row])


def test_only_frames_that_are_wanted_cross_the_bus(cases: Path, gpu: StandIn) -> None:
    source = open_media(cases / "inputs/v03_vfr.mp4")
    units = source.units("video")
    rows = np.array([4, 9, 9, 40])
    wanted = units.spec.table.row_unit[rows]
    with closing(NvdecDecoder(units, source.streams["video"])) as decoder:
        out = np.zeros((4, 3, 16, 16), np.uint8)
        assert decoder.read(rows, FrameFormat(size=(16, 16)), out).all()
    assert sorted(gpu.brought) == sorted(set(wanted.tolist()))


def test_units_of_other_containers_are_decoded_by_their_headers(
    tmp_path: Path, gpu: StandIn
) -> None:
    from dataclasses import replace

    path = encode(tmp_path / "c.mp4", "libx264", 20)
    source = open_media(path)
    expected, _ = read(VideoDecoder, path, None, FrameFormat())

    class Bytes:
        """The clip's packets as encoded bytes, and no context, as message logs give them."""

        def __init__(self) -> None:
            self._units = source.units("video")
            self.spec = replace(self._units.spec, context=None)
            self.close = self._units.close

        def units(self, first: int) -> Iterator[tuple[int, bytes]]:
            return ((unit, bytes(packet)) for unit, packet in self._units.units(first))

    with closing(NvdecDecoder(Bytes(), source.streams["video"])) as decoder:  # type: ignore[arg-type]
        out = np.zeros_like(expected)
        assert decoder.read(np.arange(20), FrameFormat(), out).all()
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("asked", "taken"), [(None, 0), (3, 3)])
def test_works_on_the_gpu_that_batches_go_to(
    cases: Path, gpu: StandIn, asked: int | None, taken: int
) -> None:
    source = open_media(cases / "inputs/v08_drain7.mp4")
    NvdecDecoder(source.units("video"), source.streams["video"], gpu=asked).close()
    (given,) = gpu.given
    assert given["gpu"] == taken  # the primary context of that GPU was the thread's
    acceleration = given["hwaccel"]
    assert acceleration.device_id == taken
    assert acceleration.options == {"primary_ctx": "0", "current_ctx": "1"}
    assert not acceleration.allow_software_fallback
    assert acceleration.is_hw_owned


@pytest.mark.parametrize(
    ("codec", "pixels", "problem"),
    [
        ("ffv1", "yuv420p", "not ffv1"),
        ("mpeg4", "yuv420p", "not mpeg4"),
        ("libx264", "yuv444p", "not of yuv444p"),
        ("libx264", "yuv422p", "not of yuv422p"),
    ],
)
def test_what_gpus_do_not_decode_exactly_is_not_offered(
    tmp_path: Path, gpu: StandIn, codec: str, pixels: str, problem: str
) -> None:
    path = encode(tmp_path / "c.mkv", codec, 4, pixels=pixels)
    with pytest.raises(FieldError, match=problem) as caught:
        read(NvdecDecoder, path, None, FrameFormat())
    assert "use decoder='ffmpeg'" in str(caught.value)
    assert caught.value.stream == "video"


def test_a_second_view_is_not_offered(real: Path, gpu: StandIn) -> None:
    (path,) = real.rglob("water_180_mvhevc_5frames.mov")
    with pytest.raises(FieldError, match="the first view"):
        read(NvdecDecoder, path, None, FrameFormat(size=(64, 64)), "video-view1")
    assert same(path, None, FrameFormat(size=(64, 64))).all()


def test_an_ffmpeg_that_does_not_accelerate_a_codec_is_an_error(cases: Path, gpu: StandIn) -> None:
    gpu.accelerates = False
    with pytest.raises(DecodeError, match="does not decode h264 on a GPU"):
        read(NvdecDecoder, cases / "inputs/v08_drain7.mp4", None, FrameFormat())


def test_frames_of_another_layout_are_an_error(cases: Path, gpu: StandIn) -> None:
    gpu.gives = "yuv444p"
    with pytest.raises(DecodeError, match="frame of yuv444p"):
        read(NvdecDecoder, cases / "inputs/v08_drain7.mp4", None, FrameFormat())


def test_a_gpu_that_decodes_nothing_says_what_to_try(
    cases: Path, gpu: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StandInContext, "decode", lambda self, packet: [])
    with pytest.raises(DecodeError, match="decoder='ffmpeg' tells apart"):
        read(NvdecDecoder, cases / "inputs/v08_drain7.mp4", [0], FrameFormat())


def test_an_ffmpeg_without_nvdec_names_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nvdec, "hwdevices_available", lambda: ["vaapi"])
    with pytest.raises(MissingExtraError, match=r"pip install 'genlock\[nvdec\]'"):
        nvdec.require()


# -------------------------------------------------------------------------- the driver's contexts


class Driver:
    """NVIDIA's driver library. calls: names, in order."""

    def __init__(self, refuses: str = "") -> None:
        self.calls: list[str] = []
        self.refuses = refuses

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append(name)
            if name == "cuDevicePrimaryCtxRetain":
                ctypes.cast(arguments[0], ctypes.POINTER(ctypes.c_void_p))[0] = 4711
            if name == "cuCtxPushCurrent_v2":
                assert arguments[0].value == 4711
            return 100 if name == self.refuses else 0

        return call


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    fake = Driver()
    _cuda._retained.cache_clear()
    monkeypatch.setattr(_cuda, "driver_library", lambda: fake)
    yield fake
    _cuda._retained.cache_clear()


def test_a_primary_context_is_retained_once_and_popped_whatever_happens(driver: Driver) -> None:
    with _cuda.primary_context(0):
        assert driver.calls[-1] == "cuCtxPushCurrent_v2"
    with pytest.raises(ZeroDivisionError), _cuda.primary_context(0):
        raise ZeroDivisionError
    assert driver.calls.count("cuDevicePrimaryCtxRetain") == 1
    assert (
        driver.calls.count("cuCtxPushCurrent_v2") == driver.calls.count("cuCtxPopCurrent_v2") == 2
    )


@pytest.mark.parametrize("call", ["cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain"])
def test_a_driver_that_refuses_is_named(driver: Driver, call: str) -> None:
    driver.refuses = call
    with (
        pytest.raises(FieldError, match=rf"refuses {call}.* with error 100"),
        _cuda.primary_context(2),
    ):
        pass
    assert "cuCtxPushCurrent_v2" not in driver.calls


def test_a_machine_without_a_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cuda, "LIBRARY", "libnotthere.so.1")
    _cuda.driver_library.cache_clear()
    with pytest.raises(FieldError, match=r"libnotthere\.so\.1 is not on this machine"):
        _cuda.driver_library()
