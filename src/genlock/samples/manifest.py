"""The sample's recording.toml: how its files are one recording."""

from __future__ import annotations

from genlock.samples import rig

RECORDING_FILE = "recording.toml"
RGB_FILE = "camera-rgb.mp4"
DEPTH_FOLDER = "depth"
IMU_FILE, IMU_COLUMNS = "imu.csv", ("gx", "gy", "gz", "ax", "ay", "az")
POSE_FILE, POSE_COLUMNS = "pose.parquet", ("tx", "ty", "tz", "qw", "qx", "qy", "qz")
GAZE_FILE, GAZE_COLUMNS = "gaze.csv", ("yaw", "pitch")
AUDIO_FILE = "audio.m4a"
LABELS_FILE = "labels.csv"


def recording_toml() -> str:
    """Text of the recording.toml. Floats are written so that they read back exactly."""
    return f"""\
# A head-mounted device in a furnished room: made by genlock.samples, with known truth.

[recording]
clock = "device"

[streams.camera-rgb]
kind = "video"
path = "{RGB_FILE}"
zero_ns = {_first_ns("camera-rgb")}
{_camera("camera-rgb")}
[streams.depth]
kind = "depth"
path = "{DEPTH_FOLDER}/*.png"
time = {{ from = "name", unit = "ns" }}
depth = {{ scale = 0.001, invalid = 0 }}
{_camera("depth")}
[streams.imu]
kind = "sensor"
path = "{IMU_FILE}"
time = {{ column = "t_us", unit = "us" }}
columns = {_strings(IMU_COLUMNS)}
clock = "imu"

[streams.imu.extrinsics]
parent = "device"
position = [0.0, 0.0, 0.0]
quaternion = [0.0, 0.0, 0.0, 1.0]

[streams.pose]
kind = "pose"
path = "{POSE_FILE}"
time = {{ column = "t_ns", unit = "ns" }}
position = ["tx", "ty", "tz"]
quaternion = ["qx", "qy", "qz", "qw"]
frames = {{ parent = "world", child = "device" }}

[streams.gaze]
kind = "sensor"
path = "{GAZE_FILE}"
time = {{ column = "t_ms", unit = "ms" }}
columns = {_strings(GAZE_COLUMNS)}

[streams.audio]
kind = "audio"
path = "{AUDIO_FILE}"
zero_ns = {_first_ns("audio")}

[streams.labels]
kind = "labels"
path = "{LABELS_FILE}"
start = "start_ns"
end = "end_ns"
value = "text"
time = {{ unit = "ns" }}

[clocks.imu]
offset_ns = {rig.IMU_CLOCK_OFFSET_NS}
scale = {float(rig.IMU_CLOCK_SCALE)!r}
"""


def _first_ns(stream: str) -> int:
    return rig.ZERO_NS + rig.TRACKS[stream].start_ns


def _camera(stream: str) -> str:
    camera = rig.CAMERAS[stream]
    return f"""
[streams.{stream}.calibration]
model = "pinhole"
size = {list(camera.size)}
focal = {list(camera.focal)}
center = {list(camera.center)}
distortion = []

[streams.{stream}.extrinsics]
parent = "device"
position = {list(camera.position)}
quaternion = {list(camera.quaternion)}
"""


def _strings(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
