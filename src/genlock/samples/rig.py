"""The head-mounted device of the sample recording: its streams, clocks and cameras.

The recording clock counts ns from a large epoch; `ZERO_NS` is the instant that all truth
functions call 0 s. A float64 cannot hold such a stamp (it is off by up to 128 ns), which is
deliberate: code that lets an absolute time pass through a float shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from genlock.samples import trajectory
from genlock.samples.trajectory import Floats

Stamps = NDArray[np.int64]

ZERO_NS = 1_700_000_000_123_456_789
"""The recording's zero on the recording clock."""


@dataclass(frozen=True)
class Track:
    """When a stream is sampled: row k at `ZERO_NS + start_ns + round(k * 1e9 / rate)`.

    start_ns: first row, ns after the recording's zero.
    rate: rows per second.
    block: the number of rows is a multiple of this.
    """

    start_ns: int
    rate: int
    block: int = 1


TRACKS: Mapping[str, Track] = MappingProxyType(
    {
        "camera-rgb": Track(40_000_000, 30),
        "depth": Track(48_000_000, 15),
        "imu": Track(5_000_000, 800),
        "pose": Track(12_000_000, 100),
        "gaze": Track(21_000_000, 60),
        # Starts at a whole sample at 48 and at 16 kHz. Ends with a full AAC packet, since programs
        # differ in whether they cut the padding of a part of one.
        "audio": Track(137_000_000, 48_000, block=1024),
    }
)

IMU_CLOCK_SCALE = Fraction(100_004, 100_000)
"""Drift of the IMU's clock, 40 ppm slow: t_recording = offset + scale * t_imu."""

# The IMU has run for an hour, so that leaving out the drift moves it by 144 ms.
IMU_CLOCK_OFFSET_NS = ZERO_NS - 3_600_000_007_777
"""The recording clock when the IMU's clock was 0."""


def stamps_ns(stream: str, seconds: float = 10.0) -> Stamps:
    """Stamps of a stream's rows as a perfect reader has them: recording clock, int64 ns `[N]`.

    stream: a key of `TRACKS`. The rows are those before `ZERO_NS + seconds`, in whole blocks.

    The IMU's file holds whole microseconds of the IMU's clock, so its stamps are up to 500 ns off
    the instants of `sampled_ns`, at which its values were taken.
    """
    if stream == "imu":
        return imu_to_recording_ns(imu_stamps_us(seconds))
    return sampled_ns(stream, seconds)


def sampled_ns(stream: str, seconds: float = 10.0) -> Stamps:
    """Instants at which a stream's values were taken, on the recording clock, int64 ns `[N]`."""
    track = TRACKS[stream]
    span_ns = round(Fraction(str(seconds)) * 10**9) - track.start_ns
    k = np.arange(max(0, -(-span_ns * track.rate // 10**9)) + 1, dtype=np.int64)
    after_start = (2 * k * 10**9 + track.rate) // (2 * track.rate)
    count = np.count_nonzero(after_start < span_ns)
    return ZERO_NS + track.start_ns + after_start[: count - count % track.block]


def seconds_after_zero(stamps: Stamps) -> Floats:
    """Seconds after the recording's zero of stamps on the recording clock; the truth's `t`."""
    return (stamps - ZERO_NS) / 1e9


def imu_stamps_us(seconds: float = 10.0) -> Stamps:
    """Stamps in the IMU's file: whole microseconds of its own clock, int64 `[N]`."""
    since = sampled_ns("imu", seconds) - IMU_CLOCK_OFFSET_NS
    unit = 1000 * IMU_CLOCK_SCALE.numerator
    return (2 * since * IMU_CLOCK_SCALE.denominator + unit) // (2 * unit)


def imu_to_recording_ns(stamps_us: Stamps) -> Stamps:
    """Microseconds of the IMU's clock as ns of the recording clock, exact but for one rounding."""
    scaled = stamps_us * 1000 * IMU_CLOCK_SCALE.numerator
    unit = IMU_CLOCK_SCALE.denominator
    return IMU_CLOCK_OFFSET_NS + (2 * scaled + unit) // (2 * unit)


@dataclass(frozen=True)
class Camera:
    """A pinhole camera without distortion, fixed to the device.

    size: height and width in pixels. focal, center: x and y in pixels, pixel centres at whole
    numbers. position (metres) and quaternion (x, y, z, w): T_device_camera, which takes points of
    the camera's frame (x right, y down, z forward) to the device's.
    """

    size: tuple[int, int]
    focal: tuple[float, float]
    center: tuple[float, float]
    position: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]

    def rays(self, t: float) -> tuple[Floats, Floats]:
        """Origin `[3, 1]` and one direction per pixel `[3, H * W]`, in the world at time `t`.

        A direction has length 1 along the optical axis, so a multiple of it is a depth.
        """
        height, width = self.size
        x = (np.arange(width) - self.center[0]) / self.focal[0]
        y = (np.arange(height) - self.center[1]) / self.focal[1]
        pixels = np.stack([np.tile(x, height), np.repeat(y, width), np.ones(height * width)])
        world_device = trajectory.rotation_matrix(trajectory.quaternion(t))
        device_camera = trajectory.rotation_matrix(np.array(self.quaternion))
        origin = trajectory.position(t) + world_device @ np.array(self.position)
        # Not `@` for the large one: it would wake BLAS threads, which spin and double the cost.
        return origin[:, None], np.einsum("ij,jn->in", world_device @ device_camera, pixels)


def _looking_forward(tilt: float) -> tuple[float, float, float, float]:
    """T_device_camera's quaternion for a camera that looks forward, `tilt` radians downwards."""
    down = np.array([0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])
    x, y, z, w = trajectory.multiply(down, np.array([-0.5, 0.5, -0.5, 0.5])).tolist()
    return x, y, z, w


CAMERAS: Mapping[str, Camera] = MappingProxyType(
    {
        "camera-rgb": Camera(
            size=(480, 640),
            focal=(430.0, 432.0),
            center=(321.5, 238.0),
            position=(0.07, 0.03, 0.01),
            quaternion=_looking_forward(0.12),
        ),
        "depth": Camera(
            size=(240, 320),
            focal=(204.0, 204.0),
            center=(158.75, 121.0),
            position=(0.07, -0.02, 0.012),
            quaternion=_looking_forward(0.10),
        ),
    }
)
