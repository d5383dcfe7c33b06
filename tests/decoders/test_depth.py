from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from picture_units import MemoryUnits, encode, quadrants, stream_of
from PIL import Image

from genlock._depth_encoding import DepthEncoding
from genlock.decoders.depth import DepthDecoder, resize_depth, to_metres
from genlock.errors import DecodeError, FieldError, LayoutError, LimitError
from genlock.interfaces import FrameFormat

CODES = np.arange(65536, dtype=np.uint16)
sides = st.integers(1, 60)


def read(unit: Any, depth: str | None = "mm", **format: Any) -> NDArray[np.float32]:
    """The frame of a depth stream of one unit."""
    stream = stream_of([unit], modality="depth", depth=depth)
    wanted = FrameFormat(color="gray", dtype="float32", **format)
    out = np.full((1, *wanted.frame_shape(stream.info.shape)[1:]), 77, np.float32)
    sound = DepthDecoder(MemoryUnits([unit]), stream).read(np.array([0]), wanted, out)
    assert sound.tolist() == [True]
    return out[0]


def npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


class TestToMetres:
    def test_millimetres_of_every_code(self) -> None:
        metres = to_metres(CODES, "mm")
        assert metres.dtype == np.float32
        assert np.array_equal(metres, (CODES / np.float64(1000)).astype(np.float32))

    def test_all_spellings_of_one_depth_agree(self) -> None:
        expected = to_metres(CODES, "mm")
        assert np.array_equal(to_metres(CODES, "scale=0.001 invalid=0"), expected)
        assert np.array_equal(to_metres(CODES.astype(np.int32), "mm"), expected)
        assert np.array_equal(to_metres(CODES.astype(np.float32), "mm"), expected)
        assert np.array_equal(to_metres(expected, "metres"), expected)
        assert np.array_equal(to_metres(CODES / 1000, "metres"), expected)

    def test_tum_is_one_5000th_of_a_metre(self) -> None:
        assert np.array_equal(to_metres(CODES, "tum5000"), (CODES / 5000).astype(np.float32))
        assert to_metres(np.array([5000], np.uint16), "tum5000").tolist() == [1.0]

    def test_sun_is_rotated_by_3_bits(self) -> None:
        wide = CODES.astype(np.uint32) << 3
        rotated = (wide & 0xFFFF | wide >> 16).astype(np.uint16)
        assert np.array_equal(to_metres(rotated, "sun"), to_metres(CODES, "mm"))
        with pytest.raises(DecodeError, match="uint16"):
            to_metres(rotated.astype(np.int32), "sun")

    def test_invalid_code(self) -> None:
        codes = np.array([0, 1, 65534, 65535], np.uint16)
        metres = to_metres(codes, "scale=0.001 invalid=65535")
        assert metres.tolist() == [0, np.float32(0.001), np.float32(65.534), 0]

    def test_what_is_no_depth(self) -> None:
        values = np.array([np.nan, np.inf, -np.inf, -1, 0, 1e300, 2.5])
        assert to_metres(values, "metres").tolist() == [0, 0, 0, 0, 0, 0, 2.5]
        assert to_metres(values[-2:], "mm").tolist() == [0, np.float32(0.0025)]
        assert to_metres(np.array([-5, 5], np.int16), "mm").tolist() == [0, np.float32(0.005)]

    def test_input_is_not_altered(self) -> None:
        depth = np.array([[np.nan, 1]], np.float32)
        assert to_metres(depth, "metres")[0, 0] == 0
        assert np.isnan(depth[0, 0])


class TestEncoding:
    @given(
        scale=st.decimals("0.000001", "10", places=6).map(str),
        invalid=st.one_of(st.integers(0, 65535), st.floats(-1e9, 1e9)),
    )
    def test_text_reads_back(self, scale: str, invalid: float) -> None:
        encoding = DepthEncoding.declared({"scale": scale, "invalid": invalid})
        assert DepthEncoding.parse(str(encoding)) == encoding

    @pytest.mark.parametrize("name", ["mm", "tum5000", "sun", "metres"])
    def test_names_read_back(self, name: str) -> None:
        for declaration in (name, {"encoding": name}):
            assert str(DepthEncoding.declared(declaration)) == name

    def test_scales_that_have_a_name(self) -> None:
        assert str(DepthEncoding.declared({"scale": 0.001})) == "mm"
        assert str(DepthEncoding.declared({"scale": 1})) == "metres"
        assert str(DepthEncoding.declared({"scale": 0.0002, "invalid": 0})) == "tum5000"
        assert str(DepthEncoding.declared({"scale": 0.01})) == "scale=0.01 invalid=0"

    @pytest.mark.parametrize(
        "declaration",
        ["cm", {}, {"encoding": "mm", "scale": 1}, {"scale": 1, "unit": "mm"}, 0.001,
         {"scale": 0}, {"scale": -1}, {"scale": "a millimetre"}, {"scale": 1, "invalid": "none"}],
    )  # fmt: skip
    def test_anything_else_is_refused(self, declaration: Any) -> None:
        with pytest.raises(LayoutError, match="depth"):
            DepthEncoding.declared(declaration)


class TestResize:
    @given(height=sides, width=sides, rows=sides, columns=sides)
    def test_as_opencv_and_pillow(self, height: int, width: int, rows: int, columns: int) -> None:
        depth = np.arange(height * width, dtype=np.float32).reshape(height, width)
        resized = resize_depth(depth, (rows, columns))
        exact = cv2.resize(depth, (columns, rows), interpolation=cv2.INTER_NEAREST_EXACT)
        picture = Image.fromarray(depth).resize((columns, rows), Image.Resampling.NEAREST)
        # where two pixels are equally near, the others decide by rounding errors of their own
        centers = (2 * np.arange(rows) + 1) * height % (2 * rows) == 0
        tied = (centers[:, None]) | ((2 * np.arange(columns) + 1) * width % (2 * columns) == 0)
        assert np.array_equal(resized[~tied], exact[~tied])
        assert np.array_equal(resized[~tied], np.asarray(picture)[~tied])

    def test_of_two_equally_near_pixels_the_upper(self) -> None:
        depth = np.arange(16).reshape(4, 4)
        assert resize_depth(depth, (2, 2)).tolist() == [[5, 7], [13, 15]]
        assert resize_depth(depth, (4, 8))[0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]

    @given(st.data())
    def test_crop_then_size(self, data: st.DataObject) -> None:
        depth = np.random.default_rng(0).integers(0, 9999, (40, 50))
        top, left = data.draw(st.integers(0, 39)), data.draw(st.integers(0, 49))
        height, width = data.draw(st.integers(1, 40 - top)), data.draw(st.integers(1, 50 - left))
        cut = depth[top : top + height, left : left + width]
        crop = (top, left, height, width)
        assert np.array_equal(resize_depth(depth, crop=crop), cut)
        assert np.array_equal(resize_depth(depth, (7, 9), crop), resize_depth(cut, (7, 9)))

    def test_crop_outside(self) -> None:
        with pytest.raises(FieldError, match="reaches outside"):
            resize_depth(np.zeros((4, 4)), crop=(0, 1, 4, 4))


class TestFiles:
    def test_16_bits_are_kept(self, cases: Path) -> None:
        metres = read((cases / "inputs/i01_depth16.png").read_bytes())
        rows, columns = np.mgrid[:48, :64]
        assert np.array_equal(metres, np.float32((400 + 37 * columns + 101 * rows) / 1000))
        assert metres[10, 20] == np.float32(2.15) and metres.max() == np.float32(7.478)

    @given(size=st.tuples(sides, sides))
    def test_holes_are_never_blended(self, cases: Path, size: tuple[int, int]) -> None:
        data = (cases / "inputs/i02_depth_holes.png").read_bytes()
        metres = read(data, size=size)
        columns = (np.arange(size[1]) + 0.5) * 64 / size[1] < 32
        assert np.array_equal(metres, np.tile(np.float32(2) * columns, (size[0], 1)))

    @pytest.mark.parametrize("row", range(5))
    def test_redwood(self, real: Path, row: int) -> None:
        path = real / f"rgbd-redwood/depth/{row:05}.png"
        codes = np.asarray(Image.open(path)).astype(np.float64)
        metres = read(path.read_bytes())
        assert np.array_equal(metres, np.float32(codes / 1000))
        assert 0.5 < np.median(metres[metres > 0]) < 3  # a room

    def test_tum(self, real: Path) -> None:
        path = real / "rgbd-redwood/other_formats/TUM_depth.png"
        codes = np.asarray(Image.open(path)).astype(np.float64)
        assert np.array_equal(read(path.read_bytes(), "tum5000"), np.float32(codes / 5000))

    def test_every_container_agrees(self) -> None:
        codes = CODES[::257].reshape(16, 16)
        expected = to_metres(codes, "mm")
        metres = codes / 1000
        files = {
            "png": (encode(codes, "PNG"), "mm"),
            "tiff": (encode(codes, "TIFF", compression="tiff_lzw"), "mm"),
            "pgm": (b"P5\n16 16\n65535\n" + codes.astype(">u2").tobytes(), "mm"),
            "npy": (npy(codes), "mm"),
            "npy big endian": (npy(codes.astype(">u2")), "mm"),
            "npy by columns": (npy(np.asfortranarray(codes)), "mm"),
            "npy int32": (npy(codes.astype(np.int32)), "mm"),
            "npy with a channel": (npy(codes[..., None]), "mm"),
            "npy float64": (npy(metres), "metres"),
            "npy float32": (npy(np.float32(metres)), "metres"),
            "npy float mm": (npy(codes.astype(np.float32)), "mm"),
            "tiff float": (encode(np.float32(metres), "TIFF"), "metres"),
            "pfm": (b"Pf\n16 16\n-1.0\n" + np.float32(metres)[::-1].tobytes(), "metres"),
            "array": (codes, "mm"),
        }
        for name, (unit, encoding) in files.items():
            assert np.array_equal(read(unit, encoding), expected), name

    def test_half_floats(self) -> None:
        metres = np.float16([[0.5, 1.25, np.nan, 0]])
        assert read(npy(metres), "metres").tolist() == [[0.5, 1.25, 0, 0]]

    def test_exr(self, tmp_path: Path) -> None:
        exr = pytest.importorskip(
            "OpenEXR", reason="OpenEXR is not installed", exc_type=ImportError
        )
        depth = np.float32([[1, 2, 3], [4, np.inf, 6]])
        color = {name: np.zeros((2, 3), np.float16) for name in "RGB"}
        header = {
            "dataWindow": (np.int32([1, 2]), np.int32([3, 3])),
            "displayWindow": (np.int32([0, 0]), np.int32([5, 4])),
        }
        path = str(tmp_path / "depth.exr")
        exr.File(header, color | {"Z": depth}).write(path)
        expected = np.zeros((5, 6), np.float32)
        expected[2:4, 1:4] = [[1, 2, 3], [4, 0, 6]]
        data = Path(path).read_bytes()
        assert np.array_equal(read(data, "metres"), expected)
        with pytest.raises(DecodeError, match="damaged or cut short"):
            read(data[:-3], "metres")

    def test_real_exr(self, real: Path) -> None:
        exr = pytest.importorskip(
            "OpenEXR", reason="OpenEXR is not installed", exc_type=ImportError
        )
        path = real / "exr/singlepart.0001.exr"
        with exr.File(str(path), separate_channels=True) as file:
            stored = file.channels()["Z"].pixels.astype(np.float32)
        metres = read(path.read_bytes(), "metres")
        assert metres.shape == (1556, 2048)
        sound = np.isfinite(stored) & (stored > 0)
        assert np.array_equal(metres[245:1121, 654:1565], np.where(sound, stored, 0))
        assert not metres[:245].any() and not metres[:, 1565:].any()


class TestErrors:
    def test_no_declared_encoding(self) -> None:
        codes = encode(CODES.reshape(256, 256), "PNG")
        with pytest.raises(LayoutError, match=r"add depth = \{ scale = 0.001") as caught:
            read(codes, None)
        assert caught.value.stream == "cam"

    def test_a_colour_picture_is_no_depth(self) -> None:
        with pytest.raises(DecodeError, match="one channel, this png has 3") as caught:
            read(encode(quadrants(), "PNG"))
        assert caught.value.recording == "file 0"

    def test_limit_and_damage(self) -> None:
        stream = stream_of([np.zeros((8, 8), np.uint16)], modality="depth", depth="mm")
        whole = encode(CODES.reshape(256, 256), "PNG")
        out = np.zeros((1, 8, 8), np.float32)
        for unit, error in ((whole, LimitError), (whole[:-20], DecodeError)):
            limit = 1000 if error is LimitError else None
            decoder = DepthDecoder(MemoryUnits([unit]), stream, max_pixels=limit)
            with pytest.raises(error) as caught:
                decoder.read(np.array([0]), FrameFormat(size=(8, 8)), out)
            assert caught.value.recording == "file 0"

    def test_other_size_than_the_stream(self) -> None:
        units = [np.ones((4, 4), np.uint16), np.ones((6, 6), np.uint16)]
        stream = stream_of(units, modality="depth", depth="mm")
        with pytest.raises(DecodeError, match="give size="):
            DepthDecoder(MemoryUnits(units), stream).read(
                np.arange(2), FrameFormat(), np.zeros((2, 4, 4), np.float32)
            )

    def test_absent_rows(self) -> None:
        units = [np.full((4, 4), 1000, np.uint16), None]
        stream = stream_of(units, valid=[True, False], modality="depth", depth="mm")
        out = np.full((3, 4, 4), 9, np.float32)
        sound = DepthDecoder(MemoryUnits(units), stream).read(
            np.array([0, 0, 1]), FrameFormat(), out
        )
        assert sound.tolist() == [True, True, False]
        assert out[:, 0, 0].tolist() == [1, 1, 0]
