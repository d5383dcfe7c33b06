"""A small head-mounted recording with known truth, made on this machine.

A camera is carried through a furnished room. Every stream derives from one closed-form
trajectory, every frame carries its index, and the sound tells the second, so whatever is read
back can be compared with what it should be.

| module          | holds                                                                         |
|-----------------|-------------------------------------------------------------------------------|
| `trajectory.py` | position, rotation, angular velocity, specific force at any time              |
| `gaze.py`       | where the eyes look, when they blink                                          |
| `rig.py`        | the streams' stamps, the IMU's clock, the cameras                             |
| `room.py`       | the room's shape: depths, what is faced                                       |
| `textures.py`   | how its surfaces are painted                                                  |
| `scene.py`      | the painted room: pictures                                                    |
| `marks.py`      | the index drawn into frames and read from them                                |
| `sound.py`      | the sound, and how to find its chirps                                         |
| `manifest.py`   | recording.toml                                                                |
| `writer.py`     | the files                                                                     |

Truth is a function of `t`: seconds on the recording clock after `ZERO_NS`.
"""

from __future__ import annotations

from genlock.samples import trajectory
from genlock.samples.gaze import blinking, gaze
from genlock.samples.marks import depth_index, frame_index
from genlock.samples.rig import CAMERAS, TRACKS, ZERO_NS, sampled_ns, seconds_after_zero, stamps_ns
from genlock.samples.room import depth, facing
from genlock.samples.scene import Scene
from genlock.samples.sound import chirp, chirp_second, chirp_starts
from genlock.samples.writer import sample_folder, write

__all__ = [
    "CAMERAS",
    "TRACKS",
    "ZERO_NS",
    "Scene",
    "blinking",
    "chirp",
    "chirp_second",
    "chirp_starts",
    "depth",
    "depth_index",
    "facing",
    "frame_index",
    "gaze",
    "sample_folder",
    "sampled_ns",
    "seconds_after_zero",
    "stamps_ns",
    "trajectory",
    "write",
]
