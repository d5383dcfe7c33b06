from __future__ import annotations

import io
import struct
import sys
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from picture_units import MemoryUnits, encode, gradient, quadrants, stream_of, with_exif
from PIL import Image, ImageOps, features

from genlock._pictures import PictureHeader
from genlock.decoders.image import ImageDecoder, _shrink
from genlock.errors import (
    ClosedError,
    DecodeError,
    FieldError,
    GenlockError,
    LimitError,
    MissingExtraError,
)
from genlock.interfaces import FrameFormat

HAS_AVIF = features.check("avif") and "AVIF:" in cv2.getBuildInformation()
HAS_GIF = "GIF:" in cv2.getBuildInformation()
needs_avif = pytest.mark.skipif(not HAS_AVIF, reason="this OpenCV or Pillow was built without AVIF")
needs_gif = pytest.mark.skipif(not HAS_GIF, reason="this OpenCV was built without GIF")


def read(unit: Any, format: FrameFormat | None = None, **info: Any) -> NDArray[Any]:
    """The frame of a stream of one unit; [H, W, C] unless a format is given."""
    format = format or hwc()
    stream = stream_of([unit], **info)
    out = np.full(format.frame_shape(stream.info.shape), 77, format.dtype)[None]
    sound = ImageDecoder(MemoryUnits([unit]), stream).read(np.array([0]), format, out)
    assert sound.tolist() == [True]
    return out[0]


def hwc(color: str = "rgb", dtype: str = "uint8", **more: Any) -> FrameFormat:
    return FrameFormat(color=color, dtype=dtype, layout="HWC", **more)


def fails(unit: Any, error: type[GenlockError] = DecodeError) -> str:
    """The message of the error that reading a damaged second row raises."""
    good = encode(quadrants(), "PNG")
    stream = stream_of([good, unit])
    out = np.zeros((2, 8, 8, 3), np.uint8)
    with pytest.raises(error) as caught:
        ImageDecoder(MemoryUnits([good, unit]), stream).read(np.arange(2), hwc(size=(8, 8)), out)
    assert caught.value.recording == "file 1"
    assert caught.value.stream == "cam"
    assert caught.value.time_ns == 100_000_000
    return str(caught.value)


def pillow(data: bytes, mode: str = "RGB") -> NDArray[Any]:
    return np.asarray(Image.open(io.BytesIO(data)).convert(mode))


def largest_error(a: NDArray[Any], b: NDArray[Any]) -> float:
    assert a.shape == b.shape
    return float(np.abs(a.astype(float) - b).max())


def psnr(a: NDArray[Any], b: NDArray[Any]) -> float:
    error = np.square(a.astype(float) - b).mean()
    return float(10 * np.log10(255**2 / error)) if error else np.inf


class TestOrientation:
    @pytest.mark.parametrize("orientation", [1, 2, 3])
    def test_cases(self, cases: Path, orientation: int) -> None:
        frame = read((cases / f"inputs/i04_exif{orientation}.jpg").read_bytes())
        corners = np.array([frame[4, 4], frame[4, -5], frame[-5, 4], frame[-5, -5]])
        assert frame.shape == (32, 48, 3)
        expected = np.array([[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]])
        assert largest_error(corners, expected) <= 8

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "TIFF"])
    def test_all_eight_as_pillow(self, format: str, orientation: int) -> None:
        data = with_exif(gradient(40, 24), format, orientation)
        expected = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
        assert expected.shape == ((40, 24, 3) if orientation < 5 else (24, 40, 3))
        assert largest_error(read(data), expected) <= (4 if format == "JPEG" else 0)

    @needs_avif
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_avif_transforms(self, orientation: int) -> None:
        upright = np.asarray(
            ImageOps.exif_transpose(
                Image.open(io.BytesIO(with_exif(quadrants(), "TIFF", orientation)))
            )
        )
        frame = read(with_exif(quadrants(), "AVIF", orientation))
        inner = (slice(4, 12), slice(4, 12)), (slice(-12, -4), slice(4, 12))
        for rows, columns in inner:
            assert largest_error(frame[rows, columns], upright[rows, columns]) <= 12
        assert frame.shape == upright.shape

    @pytest.mark.parametrize("orientation", [3, 6, 7])
    def test_crop_and_size_are_upright(self, orientation: int) -> None:
        data = with_exif(gradient(64, 96), "PNG", orientation)
        upright = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
        frame = read(data, hwc(crop=(3, 5, 20, 30)))
        assert np.array_equal(frame, upright[3:23, 5:35])
        halved = read(data, hwc(crop=(4, 6, 20, 30), size=(10, 15)))
        boxes = upright[4:24, 6:36].reshape(10, 2, 15, 2, 3).mean((1, 3))
        assert largest_error(halved, boxes) <= 1

    def test_exif_behind_the_data_counts(self) -> None:
        data = with_exif(gradient(8, 12), "PNG", 6)
        start = data.index(b"eXIf") - 4
        end = start + 12 + int.from_bytes(data[start : start + 4], "big")
        moved = data[:start] + data[end:-12] + data[start:end] + data[-12:]
        assert np.array_equal(read(moved), np.rot90(gradient(8, 12), -1))


class TestKinds:
    def test_palette_with_transparency(self, cases: Path) -> None:
        data = (cases / "inputs/i06_palette_trns.png").read_bytes()
        frame = read(data, hwc("rgba"))
        red = (frame[..., :3] == [255, 0, 0]).all(-1)
        assert red[:8, :8].all() and red.sum() == 64
        assert (frame[:8, 8:, :3] == [0, 255, 0]).all()
        assert (frame[8:, :, :3] == [0, 0, 255]).all()
        assert np.array_equal(frame[..., 3] == 0, red)
        assert (frame[~red, 3] == 255).all()
        assert np.array_equal(read(data), frame[..., :3])

    def test_gray_jpeg_as_rgb(self, cases: Path) -> None:
        frame = read((cases / "inputs/i08_gray.jpg").read_bytes())
        assert frame.shape == (16, 16, 3)
        assert largest_error(frame, np.full((16, 16, 3), 77)) <= 1

    def test_animated_png_gives_its_first_frame(self, cases: Path) -> None:
        frame = read((cases / "inputs/i09_animated.png").read_bytes())
        assert (frame == [255, 0, 0]).all()

    @needs_gif
    def test_animated_gif_gives_its_first_frame(self, cases: Path) -> None:
        frame = read((cases / "inputs/i09b_animated.gif").read_bytes())
        assert (frame == [255, 0, 0]).all()

    def test_animated_webp_gives_its_first_frame(self) -> None:
        frames = [Image.new("RGB", (16, 16), color) for color in ("red", "lime", "blue")]
        data = encode(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
        try:
            frame = read(data)
        except DecodeError as error:
            assert "newer opencv" in str(error)
            pytest.skip("this OpenCV reads no animated WebP")
        assert (frame == [255, 0, 0]).all()

    @pytest.mark.parametrize("mode", ["L", "LA", "RGB", "RGBA", "P", "1"])
    def test_png_modes_as_pillow(self, mode: str) -> None:
        picture = Image.fromarray(gradient(40, 50)).convert(mode)
        if mode in ("LA", "RGBA"):
            picture.putalpha(Image.fromarray(gradient(40, 50)[..., 2]))
        data = encode(picture, "PNG")
        assert np.array_equal(read(data), pillow(data))
        assert np.array_equal(read(data, hwc("rgba")), pillow(data, "RGBA"))
        assert largest_error(read(data, hwc("gray"))[..., 0], pillow(data, "L")) <= 1

    @pytest.mark.parametrize("format", ["BMP", "TIFF", "PPM"])
    @pytest.mark.parametrize("mode", ["L", "RGB"])
    def test_lossless_formats_as_pillow(self, format: str, mode: str) -> None:
        data = encode(Image.fromarray(gradient(40, 50)).convert(mode), format)
        assert np.array_equal(read(data), pillow(data))

    def test_cmyk_jpeg(self) -> None:
        smooth = cv2.GaussianBlur(quadrants(64, 64), (15, 15), 5)
        data = encode(Image.fromarray(smooth).convert("CMYK"), "JPEG", quality=95)
        assert b"Adobe" in data
        assert largest_error(read(data), pillow(data)) <= 2

    def test_gray_of_a_jpeg_is_its_luma(self, real: Path) -> None:
        data = (real / "rgbd-redwood/color/00000.jpg").read_bytes()
        frame = read(data, hwc("gray"))
        with av.open(io.BytesIO(data), format="jpeg_pipe") as container:
            luma = next(container.decode(video=0)).to_ndarray().reshape(-1, 480, 640)[0]
        assert largest_error(frame[..., 0], luma) <= 2

    def test_content_wins_over_suffix(self) -> None:
        # the decoder never sees a name: PNG, JPEG and BMP in one stream
        picture = quadrants()
        units = [encode(picture, format) for format in ("PNG", "BMP", "TIFF")]
        out = np.zeros((3, 32, 48, 3), np.uint8)
        ImageDecoder(MemoryUnits(units), stream_of(units)).read(np.arange(3), hwc(), out)
        assert (out == picture).all()

    @needs_avif
    def test_avif_with_alpha(self, real: Path) -> None:
        data = (real / "images/rgba.avif").read_bytes()
        frame, expected = read(data, hwc("rgba")), pillow(data, "RGBA")
        assert psnr(frame[..., :3], expected[..., :3]) > 45
        assert largest_error(frame[..., 3], expected[..., 3]) <= 1

    @needs_avif
    def test_avif_of_10_bits_fills_the_range(self) -> None:
        ramp = np.tile(np.linspace(0, 1023, 64).astype(np.uint16), (16, 1))
        options = [cv2.IMWRITE_AVIF_DEPTH, 10, cv2.IMWRITE_AVIF_QUALITY, 100]
        data = cv2.imencode(".avif", np.dstack([ramp] * 3), options)[1].tobytes()
        assert largest_error(read(data, hwc(dtype="float32"))[..., 1] * 1023, ramp) <= 2
        assert read(data, hwc(dtype="uint16"))[0, -1].tolist() == [65535] * 3
        assert read(data)[0, -1].tolist() == [255] * 3

    def test_heic(self, real: Path) -> None:
        path = real / "images/gradient.heic"
        with av.open(str(path)) as container:
            expected = next(container.decode(video=0)).to_ndarray(format="rgb24")
        pytest.importorskip("pillow_heif", reason="pillow-heif is not installed")
        assert psnr(read(path.read_bytes()), expected) > 45

    def test_exr(self, tmp_path: Path) -> None:
        exr = pytest.importorskip(
            "OpenEXR", reason="OpenEXR is not installed", exc_type=ImportError
        )
        color = np.float32([[[0, 0.5, 1], [2, -1, np.nan]]])
        channels = {name: np.ascontiguousarray(color[..., k]) for k, name in enumerate("RGB")}
        exr.File({}, channels | {"Z": np.ones((1, 2), np.float32)}).write(str(tmp_path / "x.exr"))
        data = (tmp_path / "x.exr").read_bytes()
        assert read(data, hwc(dtype="float32")).tolist() == [[[0, 0.5, 1], [2, -1, 0]]]
        assert read(data).tolist() == [[[0, 128, 255], [255, 0, 0]]]

    def test_without_the_extra_the_error_says_what_to_install(
        self, real: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module, path, extra in (
            ("pillow_heif", "images/gradient.heic", "heif"),
            ("OpenEXR", "exr/singlepart.0001.exr", "exr"),
        ):
            monkeypatch.setitem(sys.modules, module, None)
            message = fails((real / path).read_bytes(), MissingExtraError)
            assert f"pip install 'genlock[{extra}]'" in message

    def test_arrays_are_rgb(self) -> None:
        picture = gradient(10, 14)
        assert np.array_equal(read(picture), picture)
        assert np.array_equal(read(picture[..., 0]), np.dstack([picture[..., 0]] * 3))
        codes = np.arange(1024, dtype=np.uint16).reshape(32, 32)
        frame = read(codes, hwc("gray", "float32"), bits=10)
        assert np.array_equal(frame[..., 0], np.float32(codes) / np.float32(1023))

    def test_npy(self) -> None:
        picture = gradient(10, 14)
        for stored in (picture, np.asfortranarray(picture)):
            file = io.BytesIO()
            np.save(file, stored)
            assert np.array_equal(read(file.getvalue()), picture)
        assert "cut short" in fails(file.getvalue()[:-1])
        file = io.BytesIO()
        np.save(file, np.zeros(5))
        assert "not a picture" in fails(file.getvalue())


class TestNumbers:
    codes = np.arange(65536, dtype=np.uint16).reshape(256, 256)

    def test_16_bits_to_8_divides_by_257(self) -> None:
        data = encode(Image.fromarray(self.codes), "PNG")
        frame = read(data, hwc("gray"))
        assert np.array_equal(frame[..., 0], (self.codes.astype(int) + 128) // 257)

    def test_16_bits_kept(self, cases: Path) -> None:
        data = encode(Image.fromarray(self.codes), "PNG")
        assert np.array_equal(read(data, hwc("gray", "uint16"))[..., 0], self.codes)
        assert np.array_equal(read(data, hwc("rgb", "uint16"))[..., 1], self.codes)
        case = read((cases / "inputs/i01_depth16.png").read_bytes(), hwc("gray", "uint16"))
        rows, columns = np.mgrid[:48, :64]
        assert np.array_equal(case[..., 0], 400 + 37 * columns + 101 * rows)

    def test_16_bits_to_float(self) -> None:
        data = encode(Image.fromarray(self.codes), "PNG")
        frame = read(data, hwc("gray", "float32"))
        assert np.array_equal(frame[..., 0], np.float32(self.codes) / np.float32(65535))

    def test_8_bits_to_more(self) -> None:
        picture = gradient(16, 256)
        data = encode(picture, "PNG")
        wide = picture.astype(np.uint16)
        assert np.array_equal(read(data, hwc(dtype="uint16")), wide * 257)
        assert np.array_equal(read(data, hwc(dtype="float32")), np.float32(picture) / 255)
        gray = encode(picture[..., 0], "PNG")
        assert np.array_equal(read(gray, hwc("gray", "uint16"))[..., 0], wide[..., 0])

    @pytest.mark.parametrize(
        ("dtype", "opaque"), [("uint8", 255), ("uint16", 65535), ("float32", 1)]
    )
    @pytest.mark.parametrize("mode", ["L", "RGB"])
    def test_opaque_where_there_is_no_alpha(self, mode: str, dtype: str, opaque: float) -> None:
        data = encode(Image.fromarray(gradient(4, 6)).convert(mode), "PNG")
        assert (read(data, hwc("rgba", dtype))[..., 3] == opaque).all()

    def test_netpbm_largest_value_is_white(self) -> None:
        codes = np.array([[0, 500, 1000]], ">u2")
        data = b"P5 # odd range\n3 1\n1000\n" + codes.tobytes()
        assert read(data, hwc("gray", "float32")).ravel().tolist() == [0, 0.5, 1]
        assert read(data, hwc("gray", "uint16")).ravel().tolist() == [0, 500, 1000]
        assert read(data, hwc("gray")).ravel().tolist() == [0, 128, 255]

    def test_floating_point(self) -> None:
        stored = np.array([[-0.5, 0.25, 1, 7, np.nan, np.inf]], np.float32)
        file = io.BytesIO()
        np.save(file, stored)
        kept = read(file.getvalue(), hwc("gray", "float32"))
        assert kept.ravel().tolist() == [-0.5, 0.25, 1, 7, 0, 0]
        assert read(file.getvalue(), hwc("gray")).ravel().tolist() == [0, 64, 255, 255, 0, 0]


class TestSize:
    @pytest.mark.parametrize("size", [(224, 224), (240, 320), (120, 160), (112, 112), (100, 37)])
    def test_shrunk_jpeg_as_pillow(self, real: Path, size: tuple[int, int]) -> None:
        data = (real / "rgbd-redwood/color/00000.jpg").read_bytes()
        source = Image.open(io.BytesIO(data)).convert("RGB")
        expected = np.asarray(source.resize(size[::-1], Image.Resampling.BILINEAR))
        assert psnr(read(data, hwc(size=size)), expected) >= 38

    def test_shrunk_sharp_picture_as_pillow(self, real: Path) -> None:
        data = (real / "rgbd-redwood/other_formats/TUM_color.png").read_bytes()
        source = Image.open(io.BytesIO(data)).convert("RGB")
        whole = np.asarray(source.resize((160, 120), Image.Resampling.BOX))
        assert psnr(read(data, hwc(size=(120, 160))), whole) >= 50
        other = np.asarray(source.resize((224, 224), Image.Resampling.HAMMING))
        assert psnr(read(data, hwc(size=(224, 224))), other) >= 45

    def test_grown_is_linear(self) -> None:
        data = encode(np.array([[0, 100]], np.uint8), "PNG")
        frame = read(data, hwc("gray", size=(1, 4)))
        assert frame.ravel().tolist() == [0, 25, 75, 100]

    def test_one_side_shrinks_and_one_grows(self) -> None:
        data = encode(np.array([[0, 100], [100, 200]], np.uint8), "PNG")
        frame = read(data, hwc("gray", size=(1, 4)))
        assert frame.ravel().tolist() == [50, 75, 125, 150]

    @given(
        height=st.integers(1, 400),
        width=st.integers(1, 400),
        top=st.integers(0, 100),
        left=st.integers(0, 100),
        rows=st.integers(1, 300),
        columns=st.integers(1, 300),
        target=st.tuples(st.integers(1, 80), st.integers(1, 80)),
    )
    @example(480, 640, 0, 0, 480, 640, (60, 80))
    def test_reduced_decoding_never_loses(
        self, height: int, width: int, top: int, left: int, rows: int, columns: int,
        target: tuple[int, int],
    ) -> None:  # fmt: skip
        region = (top, left, rows, columns)
        shrink = _shrink(PictureHeader("jpeg", height, width), region, target)
        assert all(edge % shrink == 0 for edge in (*region, height, width))
        if shrink > 1:
            assert rows // shrink >= target[0] and columns // shrink >= target[1]
        assert _shrink(PictureHeader("png", height, width), region, target) == 1

    @pytest.mark.parametrize(("size", "scale"), [((60, 80), 8), ((61, 80), 4), ((240, 320), 2)])
    def test_jpeg_is_decoded_small(
        self, real: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], scale: int
    ) -> None:
        shapes = []
        imdecode = cv2.imdecode

        def spy(data: Any, flags: int) -> Any:
            picture = imdecode(data, flags)
            shapes.append(picture.shape[:2])
            return picture

        monkeypatch.setattr(cv2, "imdecode", spy)
        data = (real / "rgbd-redwood/color/00000.jpg").read_bytes()
        read(data, hwc(size=size))
        read(data, hwc("gray", size=size))
        assert shapes == [(480 // scale, 640 // scale)] * 2

    def test_a_crop_of_a_reduced_jpeg_is_in_place(self, real: Path) -> None:
        data = (real / "rgbd-redwood/color/00000.jpg").read_bytes()
        crop = (160, 320, 240, 160)
        boxes = pillow(data)[160:400, 320:480].reshape(60, 4, 40, 4, 3).mean((1, 3))
        assert psnr(read(data, hwc(crop=crop, size=(60, 40))), boxes) >= 45

    def test_crop_outside(self) -> None:
        with pytest.raises(FieldError, match=r"crop \(0, 0, 33, 10\) reaches outside"):
            read(encode(quadrants(), "PNG"), hwc(crop=(0, 0, 33, 10)))

    def test_pictures_of_other_sizes_need_a_size(self) -> None:
        units = [encode(quadrants(32, 48), "PNG"), encode(quadrants(16, 16), "PNG")]
        decoder = ImageDecoder(MemoryUnits(units), stream_of(units))
        with pytest.raises(DecodeError, match="give size=") as caught:
            decoder.read(np.arange(2), hwc(), np.zeros((2, 32, 48, 3), np.uint8))
        assert caught.value.recording == "file 1"
        out = np.zeros((2, 8, 8, 3), np.uint8)
        decoder.read(np.arange(2), hwc(size=(8, 8)), out)
        assert np.array_equal(out[0], out[1])


class TestRows:
    def test_layouts_agree(self) -> None:
        data = encode(gradient(20, 30), "PNG")
        for color in ("rgb", "rgba", "gray"):
            planes = read(data, FrameFormat(color=color, layout="CHW"))
            assert np.array_equal(planes.transpose(1, 2, 0), read(data, hwc(color)))

    def test_repeats_and_invalid_rows(self) -> None:
        colors = [np.full((4, 4, 3), 10 * k, np.uint8) for k in range(4)]
        units: list[Any] = [encode(color, "PNG") for color in colors]
        units[2] = None
        stream = stream_of(units, valid=[True, True, False, True])
        out = np.full((6, 3, 4, 4), 99, np.uint8)
        rows = np.array([0, 1, 1, 2, 2, 3])
        sound = ImageDecoder(MemoryUnits(units), stream).read(rows, FrameFormat(), out)
        assert sound.tolist() == [True, True, True, False, False, True]
        assert out[:, 0, 0, 0].tolist() == [0, 10, 10, 0, 0, 30]
        assert (out == out[:, :1, :1, :1]).all()

    def test_other_dtype_is_refused(self) -> None:
        data = encode(quadrants(), "PNG")
        with pytest.raises(FieldError, match="do not fit"):
            ImageDecoder(MemoryUnits([data]), stream_of([data])).read(
                np.array([0]), FrameFormat(), np.zeros((1, 3, 32, 48), np.uint16)
            )

    def test_closed(self) -> None:
        data = encode(quadrants(), "PNG")
        units = MemoryUnits([data])
        decoder = ImageDecoder(units, stream_of([data]))
        decoder.close()
        assert units.closed
        with pytest.raises(ClosedError):
            decoder.read(np.array([0]), hwc(), np.zeros((1, 32, 48, 3), np.uint8))


class TestDamage:
    def test_truncated_case(self, cases: Path) -> None:
        assert "cut short" in fails((cases / "inputs/i10_truncated.jpg").read_bytes())

    def test_nothing_and_no_picture(self) -> None:
        assert "empty" in fails(b"")
        assert "<!DOCTYPE html>" in fails(b"<!DOCTYPE html><title>404</title>")
        assert "not a picture" in fails(bytes(100))

    @given(st.data())
    def test_every_cut_is_noticed(self, data: st.DataObject) -> None:
        format = data.draw(st.sampled_from(["JPEG", "PNG", "BMP", "PPM"]))
        whole = encode(gradient(40, 64), format)
        cut = data.draw(st.integers(0, len(whole) - 1))
        fails(whole[:cut])

    def test_a_thumbnail_does_not_hide_a_cut(self) -> None:
        thumbnail = encode(gradient(16, 16), "JPEG")
        whole = encode(gradient(64, 96), "JPEG", comment=thumbnail)
        assert read(whole).shape == (64, 96, 3)
        assert "cut short" in fails(whole[:-2])

    def test_zeros_behind_a_cut_are_noticed(self) -> None:
        for format in ("JPEG", "PNG"):
            whole = encode(gradient(64, 96), format)
            half = len(whole) * 3 // 5
            fails(whole[:half] + bytes(len(whole) - half))

    def test_what_follows_the_picture_is_ignored(self) -> None:
        for format in ("JPEG", "PNG"):
            whole = encode(gradient(64, 96), format)
            assert np.array_equal(read(whole + bytes(1000)), read(whole))

    @given(st.data())
    def test_altered_bytes_never_raise_anything_else(self, data: st.DataObject) -> None:
        format = data.draw(st.sampled_from(["JPEG", "PNG", "WEBP", "TIFF", "BMP", "PPM", "GIF"]))
        altered = bytearray(encode(Image.fromarray(gradient(16, 24)), format))
        for _ in range(data.draw(st.integers(1, 4))):
            altered[data.draw(st.integers(0, len(altered) - 1))] = data.draw(st.integers(0, 255))
        stream = stream_of([bytes(altered)], shape=(8, 8))
        out = np.zeros((1, 8, 8, 3), np.uint8)
        decoder = ImageDecoder(MemoryUnits([bytes(altered)]), stream, max_pixels=10_000)
        try:
            decoder.read(np.array([0]), hwc(size=(8, 8)), out)
        except GenlockError as error:
            assert error.recording == "file 0"


class TestLimit:
    def test_header_alone_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cv2, "imdecode", lambda *_: pytest.fail("it was decoded"))
        monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("it was decoded"))
        side = (65_000).to_bytes(2, "big")
        little = side[::-1]
        jpeg = encode(quadrants(), "JPEG").replace(b"\0\x20\0\x30", side + side, 1)
        png = encode(quadrants(), "PNG")
        png = png[:16] + b"\0\0" + side + b"\0\0" + side + png[24:]
        gif = encode(Image.new("P", (16, 16)), "GIF")
        bmp = encode(quadrants(), "BMP")
        npy = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            npy, {"descr": "|u1", "fortran_order": False, "shape": (65_000, 65_000, 3)}
        )
        claims = {
            "jpeg": jpeg,
            "png": png,
            "gif": gif[:6] + little + little + gif[10:],
            "bmp": bmp[:18] + little + b"\0\0" + little + b"\0\0" + bmp[26:],
            "pgm": b"P5 65000 65000 255\n" + bytes(100),
            "webp": b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (little + b"\0") * 2 + bytes(20),
            "tiff": b"MM\0*\0\0\0\x08\0\2"
            + b"".join(struct.pack(">HHIHH", tag, 3, 1, 65_000, 0) for tag in (256, 257)),
            "npy": npy.getvalue(),
        }
        for codec, data in claims.items():
            message = _limit_error(data)
            assert f"this {codec} claims" in message and "6500" in message, codec

    def test_limit_can_be_set(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = encode(quadrants(), "PNG")
        assert "1536" not in _limit_error(data, max_pixels=1535) and read(data).any()
        monkeypatch.setenv("GENLOCK_MAX_PIXELS", "1535")
        assert "limit of 1535" in _limit_error(data)
        monkeypatch.setenv("GENLOCK_MAX_PIXELS", "1536")
        assert read(data).any()


def _limit_error(data: bytes, max_pixels: int | None = None) -> str:
    stream = stream_of([data], shape=(32, 48))
    decoder = ImageDecoder(MemoryUnits([data]), stream, max_pixels)
    with pytest.raises(LimitError) as caught:
        decoder.read(np.array([0]), hwc(), np.zeros((1, 32, 48, 3), np.uint8))
    assert caught.value.recording == "file 0"
    return str(caught.value)
