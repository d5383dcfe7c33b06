"""Writes the sample recording: one function per stream, then the whole folder at once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import NoReturn

import av
import cv2
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from av.video.reformatter import ColorRange, Colorspace
from numpy.typing import NDArray
from tqdm import tqdm

from genlock.errors import GenlockError
from genlock.samples import manifest, rig, room, trajectory
from genlock.samples.gaze import blinking, gaze
from genlock.samples.marks import DEPTH_BAND, MAX_FRAMES, RGB_BAND
from genlock.samples.scene import Scene
from genlock.samples.sound import soundtrack

EDITION = 1
"""Goes up whenever the files' content changes, so that caches are made anew."""

MIN_SECONDS = 3.0
_LABEL_STEP_NS = 1_000_000


def sample_folder(*, seconds: float = 10.0, seed: int = 0, progress: bool = False) -> Path:
    """Folder of the sample recording in the cache, written on first use.

    The cache is `GENLOCK_CACHE`, else `genlock` in the user's cache folder. Safe in several
    threads and processes at once: each may write its own copy, and the first one finished is
    kept. Arguments and errors as in `write`.
    """
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "genlock"
    cache = Path(os.environ.get("GENLOCK_CACHE") or default) / f"samples-{EDITION}"
    folder = cache / f"{seconds:.9g}s-seed{seed}"
    if not folder.is_dir():
        try:
            write(folder, seconds=seconds, seed=seed, progress=progress)
        except GenlockError:
            if not folder.is_dir():  # else another one was faster
                raise
    return folder


def write(
    folder: str | Path, *, seconds: float = 10.0, seed: int = 0, progress: bool = False
) -> Path:
    """Write the sample recording into a new folder and return its path.

    seconds: length on the recording clock, at least 3; about 270 s is the most that the frames'
    index can count. seed: decides how the room is painted and the noise of the sound, nothing
    else. progress: shows a bar. The same arguments give the same bytes for the same versions of
    the libraries on the same kind of CPU. The folder appears once it is complete.

    Raises GenlockError if `folder` holds anything already, or for a length that cannot be.
    """
    folder = Path(folder)
    most = MAX_FRAMES / rig.TRACKS["camera-rgb"].rate
    if not MIN_SECONDS <= seconds <= most:
        raise GenlockError(f"a sample lasts {MIN_SECONDS:g} to {most:.0f} s, not {seconds!r}")
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise GenlockError(f"{folder} exists: name a new folder for the sample")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        partial = Path(scratch) / folder.name
        partial.mkdir()
        _write_streams(partial, seconds, seed, progress)
        try:
            partial.replace(folder)
        except OSError as error:
            raise GenlockError(f"{folder} was made by another meanwhile: {error}") from error
    return folder


def _write_streams(folder: Path, seconds: float, seed: int, progress: bool) -> None:
    frames = len(rig.stamps_ns("camera-rgb", seconds)) + len(rig.stamps_ns("depth", seconds))
    with tqdm(total=frames, desc="sample recording", unit="frame", disable=not progress) as bar:
        _write_video(folder / manifest.RGB_FILE, seconds, seed, bar)
        _write_depth(folder / manifest.DEPTH_FOLDER, seconds, bar)
    _write_imu(folder / manifest.IMU_FILE, seconds)
    _write_pose(folder / manifest.POSE_FILE, seconds)
    _write_gaze(folder / manifest.GAZE_FILE, seconds)
    _write_audio(folder / manifest.AUDIO_FILE, seconds, seed)
    _write_labels(folder / manifest.LABELS_FILE, seconds)
    (folder / manifest.RECORDING_FILE).write_text(manifest.recording_toml(), encoding="utf-8")


def _write_video(path: Path, seconds: float, seed: int, bar: tqdm[NoReturn]) -> None:
    """H.264 with B-frames and a key frame every 2 s, BT.601 in limited range."""
    scene = Scene(seed)
    camera, rate = rig.CAMERAS["camera-rgb"], rig.TRACKS["camera-rgb"].rate
    with av.open(path, "w", options={"movflags": "faststart", "fflags": "bitexact"}) as container:
        stream = container.add_stream("libx264", rate=rate)
        stream.height, stream.width = camera.size
        stream.pix_fmt = "yuv420p"
        # One thread: what x264 writes depends on how many there are.
        stream.options = {"preset": "veryfast", "crf": "21", "threads": "1", "bf": "3"}
        stream.options |= {"g": f"{2 * rate}", "sc_threshold": "0", "b_strategy": "0"}
        stream.codec_context.colorspace = Colorspace.ITU601
        stream.codec_context.color_range = ColorRange.MPEG
        stamps = rig.stamps_ns("camera-rgb", seconds)
        for index, t in enumerate(rig.seconds_after_zero(stamps).tolist()):
            image = scene.image(t)
            RGB_BAND.paint(image, index)
            frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(
                format="yuv420p",
                dst_colorspace=Colorspace.ITU601,
                dst_color_range=ColorRange.MPEG,
            )
            frame.pts, frame.time_base = index, Fraction(1, rate)
            container.mux(stream.encode(frame))
            bar.update()
        container.mux(stream.encode(None))


def _write_depth(folder: Path, seconds: float, bar: tqdm[NoReturn]) -> None:
    """One 16-bit PNG of millimetres per frame, named by its stamp in ns."""
    folder.mkdir()
    stamps = rig.stamps_ns("depth", seconds)
    for index, (stamp, t) in enumerate(zip(stamps, rig.seconds_after_zero(stamps), strict=True)):
        millimetres = np.rint(1000 * room.depth(float(t))).astype(np.uint16)
        DEPTH_BAND.paint(millimetres, index)
        _, png = cv2.imencode(".png", millimetres, (cv2.IMWRITE_PNG_COMPRESSION, 6))
        (folder / f"{stamp}.png").write_bytes(png.tobytes())
        bar.update()


def _write_imu(path: Path, seconds: float) -> None:
    """Gyroscope in rad/s and accelerometer in m/s^2, stamped on the IMU's own clock."""
    t = rig.seconds_after_zero(rig.sampled_ns("imu", seconds))
    values = np.concatenate([trajectory.angular_velocity(t), trajectory.specific_force(t)], axis=1)
    stamps = map(str, rig.imu_stamps_us(seconds).tolist())
    _write_csv(path, ("t_us", *manifest.IMU_COLUMNS), stamps, values)


def _write_gaze(path: Path, seconds: float) -> None:
    """Angles in radians, NaN in a blink. The stamps' decimals are exact: six of a millisecond."""
    stamps = rig.stamps_ns("gaze", seconds)
    t = rig.seconds_after_zero(stamps)
    values = np.where(blinking(t)[:, None], np.nan, gaze(t))
    texts = (f"{ns // 10**6}.{ns % 10**6:06d}" for ns in stamps.tolist())
    _write_csv(path, ("t_ms", *manifest.GAZE_COLUMNS), texts, values)


def _write_pose(path: Path, seconds: float) -> None:
    """T_world_device. The quaternion is w first and has w >= 0, so its sign flips on the way."""
    stamps = rig.stamps_ns("pose", seconds)
    t = rig.seconds_after_zero(stamps)
    xyzw = trajectory.quaternion(t)
    wxyz = np.roll(xyzw * np.copysign(1.0, xyzw[:, 3:]), 1, axis=1)
    values = np.concatenate([trajectory.position(t), wxyz], axis=1)
    columns = dict(zip(manifest.POSE_COLUMNS, values.T, strict=True))
    pq.write_table(pa.table({"t_ns": stamps, **columns}), path)


def _write_audio(path: Path, seconds: float, seed: int) -> None:
    """AAC, whose priming the container's edit list takes away."""
    rate = rig.TRACKS["audio"].rate
    first = rig.TRACKS["audio"].start_ns * rate // 10**9
    sound = soundtrack(first, len(rig.stamps_ns("audio", seconds)), rate, seed)
    with av.open(path, "w", options={"fflags": "bitexact"}) as container:
        stream = container.add_stream("aac", rate=rate, layout="stereo", bit_rate=128_000)
        frame = av.AudioFrame.from_ndarray(sound, format="fltp", layout="stereo")
        frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _write_labels(path: Path, seconds: float) -> None:
    """What the head faces, as intervals that follow one another without gaps."""
    end = round(Fraction(str(seconds)) * 10**9)
    steps = np.arange(0, end, _LABEL_STEP_NS)
    texts = np.array(room.facing(steps / 1e9))
    starts = steps[np.flatnonzero(np.concatenate([[True], texts[1:] != texts[:-1]]))]
    ends = [*starts[1:].tolist(), end]
    rows = [
        f"{rig.ZERO_NS + start},{rig.ZERO_NS + stop},{texts[start // _LABEL_STEP_NS]}\n"
        for start, stop in zip(starts.tolist(), ends, strict=True)
    ]
    path.write_text("start_ns,end_ns,text\n" + "".join(rows), encoding="utf-8")


def _write_csv(
    path: Path, header: tuple[str, ...], stamps: Iterable[str], values: NDArray[np.float64]
) -> None:
    lines = (
        ",".join([stamp, *(f"{value:.9g}" for value in row)])
        for stamp, row in zip(stamps, values.tolist(), strict=True)
    )
    path.write_text("\n".join([",".join(header), *lines, ""]), encoding="utf-8")
