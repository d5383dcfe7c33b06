"""Project Aria: what the streams of its glasses mean, first generation ("Aria") and second
("Oatmeal").

Names are the labels of Aria's own tools and calibration. Every time is on the device's clock, in
ns, taken from the records' own fields; pictures are stamped in the middle of their exposure.
Source: data_provider and its data_layout of github.com/facebookresearch/projectaria_tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from genlock._vrs.chunks import Chunks
from genlock._vrs.file import VrsFile
from genlock._vrs.stream import VrsStream
from genlock.clock import ClockMap
from genlock.sources._adt import Instances
from genlock.sources._aria_calibration import AriaCalibration
from genlock.sources._aria_folder import INSTANCES
from genlock.sources._vrs_profile import RECORD_TIME, PictureSpec, Plain, TableSpec
from genlock.stream import Extrinsics, Intrinsics
from genlock.timeline import settle

GEN1, GEN2 = "device/aria", "device/oatmeal"
COMMON = {
    "214-1": "camera-rgb", "1203-1": "mag0", "247-1": "baro0", "231-1": "mic", "281-1": "gps",
    "281-2": "gps-app", "282-1": "wps", "283-1": "bluetooth",
}  # fmt: skip
NAMES: Mapping[str, Mapping[str, str]] = {
    GEN1: COMMON | {
        "1201-1": "camera-slam-left", "1201-2": "camera-slam-right", "211-1": "camera-et",
        "1202-1": "imu-right", "1202-2": "imu-left",
    },
    GEN2: COMMON | {
        "1201-1": "slam-front-left", "1201-2": "slam-front-right", "1201-3": "slam-side-left",
        "1201-4": "slam-side-right", "211-1": "camera-et-left", "211-2": "camera-et-right",
        "1202-1": "imu-left", "1202-2": "imu-right", "246-1": "temperature", "248-1": "ppg",
        "500-1": "als", "373-1": "eyegaze",
    },
}  # fmt: skip
FLAVORS = {
    f"{GEN2}/hand": "handtracking",
    f"{GEN2}/vio": "vio",
    f"{GEN2}/vio_high_frequency": "vio_high_frequency",
}
IMU, MAGNETOMETER, BAROMETER, GPS, WIFI, BLUETOOTH = 1202, 1203, 247, 281, 282, 283
TEMPERATURE, PPG, TIME_SYNC, POSE, GAZE, LIGHT = 246, 248, 285, 371, 373, 500
DEPTH, ANNOTATION = 345, 400
FAR_NS = 10**18
"""Beyond its first and last entry, a map between clocks goes on without drift this far."""

BEACONS = TableSpec("labels", time="board_timestamp_ns")
TABLES: Mapping[int, TableSpec] = MappingProxyType(
    {
        IMU: TableSpec(
            fields=("accelerometer", "gyroscope"),
            units={"accelerometer": "m/s^2", "gyroscope": "rad/s"},
            valid={"accelerometer_valid": "accelerometer", "gyroscope_valid": "gyroscope"},
        ),
        MAGNETOMETER: TableSpec(
            fields=("magnetometer",),
            units={"magnetometer": "T"},
            valid={"magnetometer_valid": "magnetometer"},
        ),
        BAROMETER: TableSpec(
            fields=("pressure", "temperature"), units={"pressure": "Pa", "temperature": "degC"}
        ),
        GPS: TableSpec(
            fields=(
                "latitude", "longitude", "altitude", "accuracy", "vertical_accuracy", "speed",
                "utc_time_ms",
            ),
            units={
                "latitude": "deg", "longitude": "deg", "altitude": "m", "accuracy": "m",
                "vertical_accuracy": "m", "speed": "m/s", "utc_time_ms": "ms",
            },
        ),
        WIFI: BEACONS,
        BLUETOOTH: BEACONS,
        TEMPERATURE: TableSpec(
            fields=("temperature_celsius",), units={"temperature_celsius": "degC"}, by="sensor_name"
        ),
        PPG: TableSpec(units={"led_current_ma": "mA", "integration_time_us": "us"}),
        LIGHT: TableSpec(units={"exposure_time_us": "us", "cct": "K", "lux": "lx"}),
    }
)  # fmt: skip
HANDS = TableSpec(
    valid={"left_hand/hand_valid": "left_hand/", "right_hand/hand_valid": "right_hand/"}
)
VIO = TableSpec(
    "pose",
    fields=(
        "txyz_odometry_bodyimu", "qxyzw_odometry_bodyimu", "txyz_bodyimu_device",
        "qxyzw_bodyimu_device", "linear_velocity_odometry", "angular_velocity_bodyimu",
        "gravity_vec_odometry", "status", "reset_status", "is_tracker_healthy",
        "is_map_tracking_healthy",
    ),
    units={"linear_velocity_odometry": "m/s", "angular_velocity_bodyimu": "rad/s"},
    pose=("txyz_odometry_bodyimu", "qxyzw_odometry_bodyimu"),
    frames=("odometry", "bodyimu"),
)  # fmt: skip
VIO_HIGH_FREQUENCY = TableSpec(
    "pose",
    fields=(
        "txyz_odometry_device", "qxyzw_odometry_device", "linear_velocity_odometry",
        "angular_velocity_device", "gravity_vec_odometry", "quality_score",
    ),
    units={"linear_velocity_odometry": "m/s", "angular_velocity_device": "rad/s"},
    pose=("txyz_odometry_device", "qxyzw_odometry_device"),
    frames=("odometry", "device"),
)  # fmt: skip
BY_NAME = {"handtracking": HANDS, "vio": VIO, "vio_high_frequency": VIO_HIGH_FREQUENCY}
MICROTESLA = 1e-6


class Aria(Plain):
    """A recording of Aria glasses, or ground truth made for one. See `Profile`."""

    clock = "device"

    def __init__(
        self, generation: str, calibration: AriaCalibration, instances: Instances | None = None
    ) -> None:
        self._generation = generation
        self._calibration = calibration
        self._instances = instances

    def name(self, stream: VrsStream) -> str:
        of = stream.configuration.get("description", "")
        camera = NAMES[self._generation].get(str(of))
        if stream.id.type == DEPTH and camera:
            return f"depth-{camera}"
        if stream.id.type == ANNOTATION and camera:
            return f"segmentation-{camera}"
        named = FLAVORS.get(stream.tags.flavor) or NAMES[self._generation].get(str(stream.id))
        return named or super().name(stream)

    def table(self, stream: VrsStream) -> TableSpec:
        if stream.id.type == POSE:
            return BY_NAME.get(self.name(stream), TableSpec())
        if stream.id.type == GAZE:
            flags = [f for f in stream.layout.fixed.names or () if f.endswith("_valid")]
            valid = {flag: flag.removesuffix("_valid") for flag in flags}
            fields = self._measured(stream, {*flags, "tracker_timestamp_ns", "system_timestamp_ns"})
            return TableSpec(fields=fields, valid=valid, time="system_timestamp_ns")
        spec = TABLES.get(stream.id.type, TableSpec())
        if stream.id.type == MAGNETOMETER and self._generation == GEN1:
            # the first generation wrote microtesla, though its layout says tesla
            return replace(spec, scale={"magnetometer": MICROTESLA})
        if spec is BEACONS and self._generation == GEN1:
            # its radio counted from the Unix epoch: when a sighting was recorded has to do
            return replace(spec, time=RECORD_TIME)
        return spec

    def _measured(self, stream: VrsStream, others: set[str]) -> tuple[str, ...]:
        return tuple(name for name in stream.layout.fixed.names or () if name not in others)

    def pictures(self, stream: VrsStream) -> PictureSpec:
        spec = stream.content.image
        pixels = "" if spec is None else spec.completed(stream.configuration).pixels
        if stream.id.type == DEPTH:
            return PictureSpec("depth", "mid", "metres" if pixels == "depth32f" else "mm")
        if stream.id.type != ANNOTATION or pixels != "scalar64F":
            return PictureSpec(stamp="mid")
        if self._instances is None:
            problem = f"its pixels are 64-bit numbers: {INSTANCES} beside it would say which"
            return PictureSpec(stamp="mid", problem=problem)
        # a scale of 1, so that a `Depth` field gives the codes, resized without blending
        return PictureSpec("video", "mid", "metres", self._instances.codes)

    def calibration(
        self, name: str, shape: tuple[int, ...]
    ) -> tuple[Intrinsics | None, Extrinsics | None]:
        sensor = name.removeprefix("depth-").removeprefix("segmentation-")
        if shape:
            return self._calibration.camera(sensor, shape)
        return None, self._calibration.imu(sensor)

    def is_clock(self, stream: VrsStream) -> bool:
        return stream.id.type == TIME_SYNC


def generation(file: VrsFile) -> str | None:
    """Which generation of glasses a file is from, None for any other VRS file."""
    flavors = [tags.flavor for tags in file.streams.values()]
    for flavor in (GEN1, GEN2):
        if any(f == flavor or f.startswith(f"{flavor}/") for f in flavors):
            return flavor
    return {"Aria": GEN1, "Oatmeal": GEN2}.get(file.tags.get("device_type", ""))


def calibration_of(file: VrsFile, streams: Iterable[VrsStream]) -> AriaCalibration:
    """The factory calibration that a file's tags hold, else its streams' configurations."""
    texts = [file.tags.get("calib_json", "")]
    texts += [str(stream.configuration.get("factory_calibration", "")) for stream in streams]
    try:
        stated: dict[str, Any] = json.loads(next(filter(None, texts), "{}"))
    except ValueError:
        stated = {}
    return AriaCalibration(stated)


def clock_maps(streams: Iterable[VrsStream], chunks: Chunks) -> dict[str, ClockMap]:
    """Maps to the device's clock from those of its time synchronisation, by mode in lower case:
    "tic_sync" and "subghz" (other glasses), "timecode" (an external server), "utc".
    """
    maps = {}
    for stream in streams:
        rows = stream.rows(chunks)
        names = rows.dtype.names or ()
        if not {"monotonic_timestamp_ns", "real_timestamp_ns"} <= set(names):
            continue
        kept, _ = settle(rows["real_timestamp_ns"].astype(np.int64))
        real = rows["real_timestamp_ns"][kept].astype(np.int64)
        device = rows["monotonic_timestamp_ns"][kept].astype(np.int64)
        known = device >= 0
        real, device = real[known], device[known]
        rising = np.append(True, np.diff(real) > 0) & np.append(
            True, np.diff(np.maximum.accumulate(device)) > 0
        )
        knots = list(zip(real[rising].tolist(), device[rising].tolist(), strict=True))
        if knots:
            before = [(t - FAR_NS, d - FAR_NS) for t, d in knots[:1]]
            after = [(t + FAR_NS, d + FAR_NS) for t, d in knots[-1:]]
            mode = str(stream.configuration.get("mode") or stream.id).lower()
            maps[mode] = ClockMap(knots=(*before, *knots, *after))
    return maps
