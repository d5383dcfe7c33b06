"""Genlock loads AR/VR recordings for training: decoded on threads, aligned in time, batched.

import genlock as gl

recording = gl.open("session/")
windows = gl.Windows(["session/"], duration=2.0)
loader = gl.Loader(windows, {"rgb": gl.Video("camera-rgb", rate=10)}, batch_size=8)
"""

from genlock.batch import Batch, Sample
from genlock.clock import ClockMap
from genlock.collection import recordings
from genlock.errors import (
    ClockError,
    ClosedError,
    DecodeError,
    FieldError,
    FieldNameError,
    GenlockError,
    LayoutError,
    LimitError,
    MissingExtraError,
    OpenError,
    StateError,
    StreamError,
    TimeUnitError,
    WindowError,
)
from genlock.fields import Audio, Depth, Labels, Points, Pose, Sensor, Video
from genlock.loader import Loader
from genlock.recording import Recording, open
from genlock.spans import Windows
from genlock.stream import Extrinsics, Intrinsics, Label, Span, Stream, StreamInfo
from genlock.timeline import Timeline
from genlock.windows import Window

__all__ = [
    "Audio",
    "Batch",
    "ClockError",
    "ClockMap",
    "ClosedError",
    "DecodeError",
    "Depth",
    "Extrinsics",
    "FieldError",
    "FieldNameError",
    "GenlockError",
    "Intrinsics",
    "Label",
    "Labels",
    "LayoutError",
    "LimitError",
    "Loader",
    "MissingExtraError",
    "OpenError",
    "Points",
    "Pose",
    "Recording",
    "Sample",
    "Sensor",
    "Span",
    "StateError",
    "Stream",
    "StreamError",
    "StreamInfo",
    "TimeUnitError",
    "Timeline",
    "Video",
    "Window",
    "WindowError",
    "Windows",
    "open",
    "recordings",
]
