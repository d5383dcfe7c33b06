from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from genlock.decoders.depth import DepthDecoder
from genlock.decoders.image import ImageDecoder
from genlock.errors import DecodeError, GenlockError, LayoutError, OpenError, TimeUnitError
from genlock.interfaces import FrameFormat, OpenOptions, Source, Units
from genlock.location import Location
from genlock.sources import images
from genlock.sources._picture_times import picture_times
from genlock.stream import Stream


def open_images(
    target: Path | Location | bytes, unit: str | None = None, **streams: Any
) -> images.ImageSource:
    def open_child(location: Location, options: OpenOptions) -> Source:
        raise AssertionError("pictures have no children")

    options = OpenOptions(unit=unit, streams=streams)
    return images.open_source(Location.of(target), options, open_child)


def only(source: images.ImageSource) -> Stream:
    (stream,) = source.streams.values()
    return stream


def png(level: int = 0, shape: tuple[int, ...] = (6, 8), dtype: Any = np.uint8) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full(shape, level, dtype)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Make a folder of pictures; the k-th name's picture has level k."""

    def make(*names: str, folder: str = "cam", dtype: Any = np.uint8) -> Path:
        for level, name in enumerate(names):
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(level, dtype=dtype))
        return tmp_path / folder

    return make


def levels(source: images.ImageSource, name: str) -> list[int]:
    """The level of each row's picture; -1 where there is none."""
    stream = source.streams[name]
    rows = np.arange(len(stream.timeline))
    out = np.zeros((len(rows), 1, 6, 8), np.uint8)
    decoder = ImageDecoder(source.units(name), stream)
    sound = decoder.read(rows, FrameFormat(color="gray"), out)
    return np.where(sound, out[:, 0, 0, 0].astype(int), -1).tolist()


class TestClaims:
    def test_real(self, real: Path, cases: Path) -> None:
        for name in ("rgbd-redwood/color", "euroc-micro/mav0/cam0/data", "images", "exr"):
            assert images.claims(Location(str(real / name)), b""), name
        for name in ("rgbd-redwood", "euroc-micro/mav0", "neon", "aria-vrs", "video-codecs"):
            assert not images.claims(Location(str(real / name)), b""), name
        for path in sorted((cases / "inputs").iterdir()):
            if path.is_file():
                location = Location(str(path))
                is_image = path.name.startswith("i")
                assert images.claims(location, location.head()) == is_image, path.name

    def test_content_then_suffix(self) -> None:
        assert images.claims(Location("x.bin"), png()[:4096])
        assert images.claims(Location("x.png"), b"")
        assert images.claims(Location("x.JPG"), b"<html>")
        assert not images.claims(Location("x.bin"), b"<html>")

    def test_arrays_only_when_called_depth(self, tmp_path: Path) -> None:
        head = b"\x93NUMPY\x01\0"
        assert not images.claims(Location("imu.npy"), head)
        assert images.claims(Location("a/depth_0.npy"), head)
        assert images.claims(Location("a/depth/0.npy"), head)
        for folder, claimed in (("depth", True), ("poses", False)):
            (tmp_path / folder).mkdir()
            np.save(tmp_path / folder / "0.npy", np.zeros((4, 4)))
            assert images.claims(Location(str(tmp_path / folder)), b"") == claimed

    def test_folders_mostly_of_pictures(self, folder: Callable[..., Path]) -> None:
        root = folder("a.png", "b.jpg")
        (root / "times.csv").touch()
        assert images.claims(Location(str(root)), b"")
        (root / "video.mp4").touch()
        assert not images.claims(Location(str(root)), b"")


class TestLone:
    def test_picture(self, real: Path) -> None:
        path = real / "rgbd-redwood/other_formats/TUM_color.png"
        stream = only(open_images(path))
        assert (stream.name, stream.info.modality, stream.info.codec) == (
            "TUM_color",
            "video",
            "png",
        )
        assert (stream.info.shape, stream.info.dtype) == ((480, 640), "uint8")
        assert stream.timeline.ns.tolist() == [0] and stream.problem is None

    def test_depth(self, real: Path) -> None:
        path = real / "rgbd-redwood/other_formats/TUM_depth.png"
        source = open_images(path, TUM_depth={"depth": {"encoding": "tum5000"}})
        stream = only(source)
        assert (stream.info.modality, stream.info.depth) == ("depth", "tum5000")
        assert (stream.info.dtype, stream.info.bits) == ("uint16", 16)
        out = np.zeros((1, 480, 640), np.float32)
        decoder = DepthDecoder(source.units("TUM_depth"), stream)
        decoder.read(np.array([0]), FrameFormat(), out)
        assert np.array_equal(out[0], np.float32(np.asarray(Image.open(path)) / np.float64(5000)))

    def test_in_memory(self) -> None:
        source = open_images(png(5))
        assert levels(source, "image") == [5]
        file = io.BytesIO(png(6))
        file.name = "shot.png"
        assert list(open_images(Location.of(file)).streams) == ["shot"]

    def test_no_picture_names_the_file(self, tmp_path: Path) -> None:
        for content in (b"", b"<html></html>"):
            path = tmp_path / "x.png"
            path.write_bytes(content)
            with pytest.raises(OpenError, match=r"x\.png"):
                open_images(path)

    def test_upright_shape(self, tmp_path: Path) -> None:
        exif = Image.Exif()
        exif[274] = 6
        Image.new("RGB", (48, 32)).save(tmp_path / "x.jpg", exif=exif)
        info = only(open_images(tmp_path / "x.jpg")).info
        assert (info.shape, info.rotation, info.flipped) == ((48, 32), 90, False)


class TestTimesOfNames:
    def test_euroc(self, real: Path) -> None:
        root = real / "euroc-micro/mav0/cam0/data"
        source = open_images(root, cam0={"time": {"from": "name", "unit": "ns"}})
        stream = source.streams["cam0"]
        expected = sorted(int(path.stem) for path in root.iterdir())
        assert stream.timeline.ns.tolist() == expected
        assert stream.info.shape == (480, 752) and stream.timeline.valid is None
        out = np.zeros((1, 1, 480, 752), np.uint8)
        decoder = ImageDecoder(source.units("cam0"), stream)
        decoder.read(np.array([9]), FrameFormat(color="gray"), out)
        assert np.array_equal(out[0, 0], np.asarray(Image.open(root / f"{expected[9]}.png")))

    def test_whole_numbers_have_no_unit(self, real: Path) -> None:
        stream = only(open_images(real / "euroc-micro/mav0/cam0/data"))
        assert len(stream.timeline) == 10
        assert isinstance(stream.problem, TimeUnitError)
        assert 'add time = { from = "name", unit = "ns" }' in str(stream.problem)
        assert "[streams.data]" in str(stream.problem)

    def test_decimal_seconds_are_exact(self, folder: Callable[..., Path]) -> None:
        root = folder("1305031102.175304.png", "1305031102.2.png", "9.000000001.png")
        source = open_images(root)
        stream = source.streams["cam"]
        assert stream.problem is None
        assert stream.timeline.ns.tolist() == [
            9_000_000_001,
            1305031102_175304000,
            1305031102_200000000,
        ]
        assert levels(source, "cam") == [2, 0, 1]
        assert "read as seconds" in stream.info.report.notes[0]

    @given(ns=st.lists(st.integers(0, 2**62), min_size=2, max_size=9, unique=True))
    def test_any_stamp_is_exact(self, ns: list[int]) -> None:
        here = Location("cam")
        for unit, names in (
            ("ns", [f"left_{t}.png" for t in ns]),
            ("us", [f"{t // 1000}.{t % 1000:03}.png" for t in ns]),
            ("s", [f"{t // 10**9}.{t % 10**9:09}.png" for t in ns]),
        ):
            times = picture_times("cam", here, names, {"from": "name", "unit": unit})
            assert times.raw_ns is not None and times.raw_ns.tolist() == ns

    def test_unit_of_the_caller(self, folder: Callable[..., Path]) -> None:
        root = folder("20.png", "10.png")
        source = open_images(root, unit="ms")
        assert source.streams["cam"].timeline.ns.tolist() == [10_000_000, 20_000_000]
        assert levels(source, "cam") == [1, 0]

    def test_numbers_beside_the_time(self, folder: Callable[..., Path]) -> None:
        root = folder("cam2_1700000000123_v1.color.png", "cam2_1700000000023_v1.color.png")
        stream = only(open_images(root, cam={"time": {"from": "name", "unit": "ms"}}))
        assert stream.timeline.ns.tolist() == [1700000000023_000000, 1700000000123_000000]

    def test_wrong_declarations(self, folder: Callable[..., Path]) -> None:
        root = folder("a1.png", "b.png")
        for time, message in (
            ({"from": "name", "unit": "ns"}, "'b.png' holds no number"),
            ({"from": "exif", "unit": "ns"}, 'only "name" is known'),
            ({"from": "name", "unit": "h"}, "'h' is not one of"),
            ({"column": "t"}, "has none of from, path, rate, ns"),
            ({"rate": 0}, "must be positive"),
            ({"ns": [1, 2, 3]}, "3 times for 2 files"),
        ):
            with pytest.raises(LayoutError, match=message) as caught:
                open_images(root, cam={"time": time})
            assert caught.value.stream == "cam" and caught.value.recording == str(root)


class TestTimesByRate:
    def test_redwood(self, real: Path) -> None:
        source = open_images(real / "rgbd-redwood/color", color={"time": {"rate": 30.0}})
        stream = source.streams["color"]
        expected = [0, 33333333, 66666667, 100000000, 133333333]
        assert stream.timeline.ns.tolist() == expected
        assert stream.info.rate == 30.0 and stream.info.codec == "jpeg"

    def test_without_a_rate(self, real: Path) -> None:
        stream = only(open_images(real / "rgbd-redwood/color"))
        assert isinstance(stream.problem, TimeUnitError)
        assert "add time = { rate = 30.0 }" in str(stream.problem)
        assert "00000.jpg" in str(stream.problem)

    def test_numbers_are_sorted_as_numbers(self, folder: Callable[..., Path]) -> None:
        root = folder("f10.png", "f9.png", "f100.png", "f8.png")
        source = open_images(root, cam={"time": {"rate": 10}})
        assert levels(source, "cam") == [3, 1, 0, 2]
        # a gap in the numbering is a gap in time
        assert source.streams["cam"].timeline.ns.tolist() == [
            0,
            100_000_000,
            200_000_000,
            9_200_000_000,
        ]
        assert source.streams["cam"].info.report.notes == (
            "file number 8 is at the stream's zero",
            "numbers left out between the first and the last file: 89",
        )

    def test_first_and_zero(self, folder: Callable[..., Path]) -> None:
        root = folder("0003.png", "0004.png")
        declared = {"time": {"rate": 10, "first": 0}, "zero_ns": 5}
        stream = only(open_images(root, cam=declared))
        assert stream.timeline.ns.tolist() == [300_000_005, 400_000_005]

    def test_names_without_numbers_count(self, folder: Callable[..., Path]) -> None:
        source = open_images(folder("b.png", "a.png"), cam={"time": {"rate": 2}})
        assert source.streams["cam"].timeline.ns.tolist() == [0, 500_000_000]
        assert levels(source, "cam") == [1, 0]


class TestListings:
    def test_euroc_listing_with_absent_files(self, real: Path) -> None:
        files = [f"data/{p.name}" for p in sorted((real / "euroc-micro/mav0/cam0/data").iterdir())]
        declared = {"files": files, "time": {"path": "data.csv"}}
        source = open_images(real / "euroc-micro/mav0/cam0", cam0=declared)
        stream = source.streams["cam0"]
        lines = (real / "euroc-micro/mav0/cam0/data.csv").read_text().split()
        stated = [int(line.partition(",")[0]) for line in lines if line[0].isdigit()]
        assert stream.timeline.ns.tolist() == stated and len(stated) == 95
        assert stream.timeline.valid is not None and stream.timeline.valid.sum() == 10
        assert stream.info.report.missing == 85
        out = np.full((95, 1, 48, 75), 9, np.uint8)
        decoder = ImageDecoder(source.units("cam0"), stream)
        sound = decoder.read(np.arange(95), FrameFormat(color="gray", size=(48, 75)), out)
        assert np.array_equal(sound, stream.timeline.valid)
        assert not out[~sound].any() and out[sound].reshape(10, -1).mean(1).min() > 10

    @pytest.mark.parametrize(
        "text",
        [
            "t_ns,file\n20,a.png\n10,b.png\n",
            "file;t [ns]\na.png;20\nb.png;10\n",
            "# timestamp(ns)\tname\r\n20\tcam/a.png\r\n10\tcam/b.png\r\n",
            "\ufeffname,exposure,t_ns\na.png,5,20\nb.png,6,10",
        ],
    )
    def test_dialects(self, folder: Callable[..., Path], text: str) -> None:
        root = folder("a.png", "b.png")
        (root / "times.csv").write_text(text, encoding="utf-8", newline="")
        time = {"path": "times.csv"} | ({"column": "t_ns"} if "exposure" in text else {})
        source = open_images(root, cam={"time": time})
        assert source.streams["cam"].timeline.ns.tolist() == [10, 20]
        assert levels(source, "cam") == [1, 0]

    def test_tum(self, folder: Callable[..., Path]) -> None:
        root = folder("rgb/1305031102.175304.png", "rgb/1305031102.211214.png")
        (root / "rgb.txt").write_text(
            "# color images\n# file: 'x.bag'\n# timestamp filename\n"
            "1305031102.175304 rgb/1305031102.175304.png\n"
            "1305031102.211214 rgb/1305031102.211214.png\n"
            "1305031102.243211 rgb/1305031102.243211.png\n"
        )
        files = ["rgb/1305031102.211214.png", "rgb/1305031102.175304.png"]
        time = {"path": "rgb.txt", "unit": "s"}
        source = open_images(root, rgb={"files": files, "time": time})
        stream = source.streams["rgb"]
        assert stream.timeline.ns.tolist() == [
            1305031102_175304000,
            1305031102_211214000,
            1305031102_243211000,
        ]
        assert levels(source, "rgb") == [0, 1, -1]
        assert stream.info.report.missing == 1

    def test_times_alone_pair_up_in_order(self, folder: Callable[..., Path]) -> None:
        root = folder("f10.png", "f9.png")
        (root / "t.txt").write_text("5\n7\n")
        source = open_images(root, cam={"time": {"path": "t.txt", "unit": "ms"}})
        assert source.streams["cam"].timeline.ns.tolist() == [5_000_000, 7_000_000]
        assert levels(source, "cam") == [1, 0]

    def test_files_that_are_not_listed(self, folder: Callable[..., Path]) -> None:
        root = folder("a.png", "b.png", "c.png")
        (root / "t.csv").write_text("t_ms,file\n1,c.png\n2,a.png\n")
        source = open_images(root, cam={"time": {"path": "t.csv"}})
        assert levels(source, "cam") == [2, 0]
        assert "does not list them: 1" in source.streams["cam"].info.report.notes[0]

    def test_unknown_unit(self, folder: Callable[..., Path]) -> None:
        root = folder("a.png", "b.png")
        (root / "t.csv").write_text("t,file\n1,b.png\n2,a.png\n")
        problem = only(open_images(root, cam={"time": {"path": "t.csv"}})).problem
        assert isinstance(problem, TimeUnitError)
        assert 'time = { path = "t.csv", unit = "ns" }' in str(problem)

    @pytest.mark.parametrize(
        ("text", "time", "message"),
        [
            ("", {}, "holds no times"),
            ("t_ns,file\n1,a.png\n2\n", {}, r"a line of 1 cells where others have 2: \['2'\]"),
            ("t_ns,file\n1,a.png\n", {"column": "time"}, "no column 'time'"),
            ("t_ns,file\n1,a.png\nx,b.png\n", {}, "not times in ns"),
            ("t_ns,file\n1/0,a.png\n", {}, "not times in ns"),
            ("5\n", {"unit": "s"}, "1 times for 2 files"),
        ],
    )
    def test_wrong_listings(
        self, folder: Callable[..., Path], text: str, time: dict[str, Any], message: str
    ) -> None:
        root = folder("a.png", "b.png")
        (root / "t.csv").write_text(text)
        with pytest.raises(LayoutError, match=message):
            open_images(root, cam={"time": {"path": "t.csv"} | time})

    def test_never_outside_of_the_folder(self, folder: Callable[..., Path]) -> None:
        root = folder("a.png", "b.png")
        with pytest.raises(OpenError, match="outside"):
            open_images(root, cam={"time": {"path": "../t.csv", "unit": "s"}})


class TestStreams:
    def test_given_times_keep_their_files(self, folder: Callable[..., Path]) -> None:
        root = folder("a.png", "b.png", "c.png")
        declared = {"files": ["c.png", "gone.png", "a.png"], "time": {"ns": [30, 20, 10]}}
        source = open_images(root, cam=declared)
        assert source.streams["cam"].timeline.ns.tolist() == [10, 20, 30]
        assert levels(source, "cam") == [0, -1, 2]
        assert source.streams["cam"].info.report.missing == 1

    def test_negative_times_are_dropped_and_ties_kept(self, folder: Callable[..., Path]) -> None:
        root = folder("a.png", "b.png", "c.png")
        source = open_images(root, cam={"time": {"ns": [7, -1, 7]}})
        report = source.streams["cam"].info.report
        assert (report.dropped, report.ties) == (1, 1)
        assert levels(source, "cam") == [0, 2]

    def test_several_streams_of_one_folder(self, folder: Callable[..., Path]) -> None:
        root = folder("rgb/0.png", "rgb/1.png", "d/0.png", dtype=np.uint16)
        source = open_images(
            root,
            color={"files": ["rgb/0.png", "rgb/1.png"], "time": {"rate": 5}, "kind": "video"},
            depth={"files": ["d/0.png"], "time": {"rate": 5}, "depth": {"scale": 0.001}},
        )
        assert {n: s.info.modality for n, s in source.streams.items()} == {
            "color": "video",
            "depth": "depth",
        }
        assert source.streams["depth"].info.depth == "mm"

    def test_kinds_are_guessed_by_name(self, folder: Callable[..., Path]) -> None:
        def info(where: str, dtype: Any, **declared: Any) -> Any:
            root = folder("0.png", "1.png", folder=where, dtype=dtype)
            return only(open_images(root, **{where: {"time": {"rate": 5}} | declared})).info

        guessed = info("depth_left", np.uint16)
        slashed = Location(f"{folder('9.png', folder='depth_left', dtype=np.uint16)}/")
        assert only(open_images(slashed)).info.modality == "depth"
        assert (guessed.modality, guessed.depth) == ("depth", None)
        assert "because of its name" in guessed.report.notes[0]
        assert info("depth8", np.uint8).modality == "video"
        assert info("infrared", np.uint16).modality == "video"
        assert info("depth", np.uint16, kind="video").modality == "video"
        assert not info("depth", np.uint16, kind="depth").report.notes

    def test_floating_point_depth_is_metres(self, tmp_path: Path) -> None:
        (tmp_path / "depth").mkdir()
        for k in range(2):
            np.save(tmp_path / f"depth/{k}.npy", np.full((4, 5), k + 0.5, np.float32))
        source = open_images(tmp_path / "depth", depth={"time": {"rate": 5}})
        info = source.streams["depth"].info
        assert (info.modality, info.depth, info.dtype, info.shape) == (
            "depth", "metres", "float32", (4, 5),
        )  # fmt: skip
        out = np.zeros((2, 4, 5), np.float32)
        decoder = DepthDecoder(source.units("depth"), source.streams["depth"])
        decoder.read(np.arange(2), FrameFormat(), out)
        assert out[:, 0, 0].tolist() == [0.5, 1.5]

    def test_depth_without_a_scale_says_what_to_add(self, real: Path) -> None:
        source = open_images(real / "rgbd-redwood/depth", depth={"time": {"rate": 30}})
        with pytest.raises(LayoutError, match=r"add depth = \{ scale = 0.001"):
            DepthDecoder(source.units("depth"), source.streams["depth"])

    @pytest.mark.parametrize(
        ("declared", "message"),
        [
            ({"kind": "audio"}, "pictures are"),
            ({"tmie": {"rate": 1}}, r"\['tmie'\] are not among kind"),
            ({"depth": {"scale": -1}}, "metres per unit"),
        ],
    )
    def test_wrong_declarations(
        self, folder: Callable[..., Path], declared: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(LayoutError, match=message):
            open_images(folder("0.png"), cam=declared)

    def test_no_pictures(self, tmp_path: Path) -> None:
        with pytest.raises(LayoutError, match="no picture files"):
            open_images(tmp_path)

    def test_contracts(self, folder: Callable[..., Path]) -> None:
        source = open_images(folder("0.png", "1.png"), cam={"time": {"rate": 5}, "clock": "mine"})
        units = source.units("cam")
        assert isinstance(source, Source) and isinstance(units, Units)
        assert source.streams["cam"].info.clock == "mine"
        assert [index for index, _ in units.units(1)] == [1]
        assert next(units.units(1))[1] == units.unit(1) == png(1)
        assert units.spec.options["name"](1).endswith("cam/1.png")


class TestFiles:
    def test_only_the_first_header_is_read(
        self, folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        root = folder("0.png", "1.png", "2.png")
        opened = []
        original = Location.open

        def spy(location: Location) -> Any:
            opened.append(location.name)
            return original(location)

        monkeypatch.setattr(Location, "open", spy)
        open_images(root, cam={"time": {"rate": 5}})
        assert opened == ["0.png"]

    def test_a_damaged_first_file(self, folder: Callable[..., Path]) -> None:
        root = folder("0.png", "1.png")
        (root / "0.png").write_bytes(b"<html>")
        source = open_images(root, cam={"time": {"rate": 5}})
        stream = source.streams["cam"]
        assert stream.info.shape == (6, 8)
        with pytest.raises(DecodeError, match=r"cam/0\.png") as caught:
            levels(source, "cam")
        assert caught.value.time_ns == 0

    def test_all_files_damaged(self, folder: Callable[..., Path]) -> None:
        root = folder("0.png", "1.png")
        for path in root.iterdir():
            path.write_bytes(b"")
        info = only(open_images(root, cam={"time": {"rate": 5}})).info
        assert info.shape == () and "no file with a readable header" in info.report.notes[0]

    def test_a_file_that_vanishes_is_named(self, folder: Callable[..., Path]) -> None:
        root = folder("0.png", "1.png")
        source = open_images(root, cam={"time": {"rate": 5}})
        (root / "1.png").unlink()
        with pytest.raises(GenlockError, match=r"1\.png") as caught:
            levels(source, "cam")
        assert caught.value.time_ns == 200_000_000

    def test_wrong_suffix(self, tmp_path: Path) -> None:
        (tmp_path / "0.jpg").write_bytes(png(7))
        source = open_images(tmp_path / "0.jpg")
        assert only(source).info.codec == "png"
        assert levels(source, "0") == [7]

    def test_remote_folder(self) -> None:
        fsspec = pytest.importorskip("fsspec")
        memory = fsspec.filesystem("memory")
        for k in range(2):
            memory.pipe(f"/genlock-images/cam/{k}.png", png(k))
        location = Location("memory://genlock-images/cam")
        assert images.claims(location, b"")
        source = open_images(location, cam={"time": {"rate": 5}, "files": ["0.png", "9.png"]})
        assert levels(source, "cam") == [0, -1]
        memory.rm("/genlock-images", recursive=True)
