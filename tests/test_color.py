"""YUV to RGB on the device: against float64 arithmetic, and against the host's own path."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import genlock as gl
from genlock._yuv import rgb_coefficients
from genlock.color import Finish, to_rgb
from genlock.stream import ColorTags

TAGS = [
    ColorTags(matrix, range_)
    for matrix in ("bt709", "smpte170m", "bt470bg", "bt2020nc", "unknown")
    for range_ in ("tv", "pc", "unknown")
]


def exact_rgb(planes: NDArray[np.uint8], tags: ColorTags, height: int) -> NDArray[np.float64]:
    """RGB from 0 to 1 by the textbook, in float64: [T, 3, H, W]."""
    kr, kb = {
        "bt709": (0.2126, 0.0722),
        "bt2020nc": (0.2627, 0.0593),
        "unknown": (0.2126, 0.0722) if height >= 720 else (0.299, 0.114),
    }.get(tags.matrix, (0.299, 0.114))
    steps, lines, width = planes.shape
    rows = lines * 2 // 3
    y = planes[:, :rows].astype(np.float64)
    u, v = planes[:, rows:].reshape(steps, 2, rows // 2, width // 2).swapaxes(0, 1)
    u, v = (c.repeat(2, 1).repeat(2, 2).astype(np.float64) - 128 for c in (u, v))
    if tags.range == "pc":
        y, u, v = y / 255, u / 255, v / 255
    else:
        y, u, v = (y - 16) / 219, u / 224, v / 224
    red = y + 2 * (1 - kr) * v
    blue = y + 2 * (1 - kb) * u
    green = (y - kr * red - kb * blue) / (1 - kr - kb)
    return np.clip(np.stack([red, green, blue], axis=1), 0, 1)


def convert(planes: NDArray[np.uint8], tags: ColorTags, height: int, **finish: Any) -> torch.Tensor:
    matrix = torch.from_numpy(rgb_coefficients(tags, height))[None]
    return to_rgb(torch.from_numpy(planes)[None], matrix, Finish(**finish))[0]


@pytest.mark.parametrize("tags", TAGS, ids=lambda t: f"{t.matrix}-{t.range}")
@pytest.mark.parametrize("height", [480, 1080])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16", "bfloat16"])
def test_equals_the_textbook(tags: ColorTags, height: int, dtype: str) -> None:
    planes = np.random.default_rng(0).integers(0, 256, (2, 24, 32), np.uint8)
    expected = exact_rgb(planes, tags, height)
    got = convert(planes, tags, height, dtype=dtype)
    assert got.shape == (2, 3, 16, 32) and str(got.dtype) == f"torch.{dtype}"
    values = got.double().numpy() / (255 if dtype == "uint8" else 1)
    assert np.abs(values - expected).max() <= (0.501 if dtype == "uint8" else 1) / 255


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255), st.sampled_from(TAGS))
@settings(max_examples=200)
def test_every_code_is_right_to_half_a_step(y: int, u: int, v: int, tags: ColorTags) -> None:
    planes = np.array([[[y, y], [y, y], [u, v]]], np.uint8)
    got = convert(planes, tags, 480).double().numpy() / 255
    assert np.abs(got - exact_rgb(planes, tags, 480)).max() <= 0.501 / 255


def test_flip_layout_normalisation_and_mask() -> None:
    planes = np.random.default_rng(1).integers(0, 256, (2, 3, 6, 8), np.uint8)
    matrix = torch.from_numpy(np.stack([rgb_coefficients(tags, 480) for tags in TAGS[:2]]))
    tensor = torch.from_numpy(planes)
    plain = to_rgb(tensor, matrix, Finish(dtype="float32"))
    for i, tags in enumerate(TAGS[:2]):  # each sample by its own matrix and range
        np.testing.assert_allclose(plain[i], exact_rgb(planes[i], tags, 480), atol=1e-6)
    assert torch.equal(to_rgb(tensor, matrix, Finish(dtype="float32", flip=True)), plain.flip(-1))
    last = to_rgb(tensor, matrix, Finish(dtype="float32", layout="THWC"))
    assert last.is_contiguous() and torch.equal(last.movedim(-1, 2), plain)
    stored = to_rgb(tensor, matrix, Finish(dtype="float32", channels_last=True))
    assert torch.equal(stored, plain) and stored.movedim(2, -1).is_contiguous()
    mean, std = (0.4, 0.5, 0.6), (0.2, 0.3, 0.4)
    scaled = to_rgb(tensor, matrix, Finish(dtype="float32", mean=mean, std=std))
    shape = (3, 1, 1)
    expected = (plain - torch.tensor(mean).reshape(shape)) / torch.tensor(std).reshape(shape)
    torch.testing.assert_close(scaled, expected, atol=1e-5, rtol=0)
    mask = torch.tensor([[True, False, True], [False, True, True]])
    masked = to_rgb(tensor, matrix, Finish(dtype="float32", mean=mean, std=std), mask)
    assert torch.equal(masked[mask], scaled[mask]) and not masked[~mask].any()


def test_planes_of_another_shape_are_refused() -> None:
    with pytest.raises(gl.FieldError, match="I420"):
        to_rgb(torch.zeros(1, 1, 7, 8, dtype=torch.uint8), torch.zeros(1, 3, 4))


def test_close_to_the_hosts_own_conversion(sample: Path) -> None:
    fields = {
        "host": gl.Video("camera-rgb", rate=10, size=(224, 224)),
        "device": gl.Video("camera-rgb", rate=10, size=(224, 224), color="device"),
    }
    windows = gl.Windows(sample, over=["camera-rgb"], duration=1.0)
    with gl.Loader(windows, fields, batch_size=4) as loader:
        for batch in loader:
            assert batch["device"].shape == batch["host"].shape
            assert batch["device"].dtype == torch.uint8
            error = (batch["device"].float() - batch["host"].float()).square().mean()
            assert 10 * torch.log10(255**2 / error) > 35  # chroma is not interpolated


def test_read_and_loader_agree_and_masked_frames_are_zero(sample: Path) -> None:
    field = gl.Video(
        "camera-rgb",
        rate=10,
        size=(64, 64),
        color="device",
        dtype="float32",
        normalize=((0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
    )
    with gl.open(sample) as recording:
        start_ns = recording.start_ns - 300_000_000
        one = recording.read({"x": field}, start_ns, 1.0)
        clips = gl.Windows.at([(sample, start_ns, 1.0)])
        with gl.Loader(clips, {"x": field}, batch_size=1) as loader:
            batch = next(iter(loader))
    assert not one.mask["x"].all() and one.mask["x"].any()
    np.testing.assert_array_equal(batch["x"][0].numpy(), one["x"])
    assert not one["x"][~one.mask["x"]].any()


def test_half_the_bytes_cross() -> None:
    rgb = gl.Video("v", size=(224, 224)).format.frame_shape((720, 1280))
    planes = gl.Video("v", size=(224, 224), color="device").format.frame_shape((720, 1280))
    assert 2 * np.prod(planes) == np.prod(rgb)


@pytest.mark.parametrize(
    "options",
    [
        {"color": "device", "size": (225, 224)},
        {"color": "device", "dtype": "uint16"},
        {"color": "rgb", "flip": True},
        {"color": "rgb", "dtype": "bfloat16"},
        {"color": "device", "normalize": ((0, 0, 0), (1, 1, 0)), "dtype": "float32"},
        {"color": "device", "normalize": ((0, 0, 0), (1, 1, 1))},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(gl.FieldError):
        gl.Video("v", **options)


def test_pictures_that_are_no_video_are_refused(real: Path) -> None:
    field = {"x": gl.Video("color", color="device", size=(64, 64))}
    folder = real / "rgbd-redwood" / "color"
    with (
        gl.open(folder, streams={"color": {"time": {"rate": 30.0}}}) as recording,
        pytest.raises(gl.FieldError, match="coded video"),
    ):
        recording.read(field, 0, 0.1)


@pytest.mark.parametrize("rotated", ["v04_rot270.mp4", "v04_rot180.mp4"])
def test_turned_videos_are_upright(cases: Path, rotated: str) -> None:
    fields = {
        "host": gl.Video("video", color="rgb"),
        "device": gl.Video("video", color="device"),
    }
    with gl.open(cases / "inputs" / rotated) as recording:
        sample = recording.read(fields, recording.start_ns, 0.05)
    middles = (slice(None), slice(8, None, 32), slice(8, None, 32))
    difference = sample["host"][0][middles].astype(int) - sample["device"][0][middles]
    assert np.abs(difference).max() <= 3
