"""Camera calibration of `sensor_msgs/CameraInfo` and Foxglove's CameraCalibration."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from genlock._messages.codec import Message
from genlock.stream import Intrinsics

MODELS: Mapping[str, str] = MappingProxyType(
    {
        "": "pinhole",
        "plumb_bob": "pinhole",
        "rational_polynomial": "pinhole",
        "equidistant": "kannala-brandt",
        "fisheye": "kannala-brandt",
        "kannala_brandt": "kannala-brandt",
    }
)
"""ROS's names of distortion models; their coefficients are in OpenCV's order."""


def intrinsics(message: Message) -> Intrinsics | None:
    """The camera that a message describes; None where it is not calibrated (a focal length of 0).

    Of the images as they are recorded: K and D, not the rectified P.
    """
    values = {path.lower(): path for path in message}
    matrix = np.asarray(message[values["k"]], np.float64) if "k" in values else np.zeros(0)
    if matrix.size != 9 or matrix[0] <= 0 or matrix[4] <= 0:
        return None
    distortion = message[values["d"]] if "d" in values else ()
    model = str(message.get("distortion_model", ""))
    return Intrinsics(
        MODELS.get(model, model),
        size=(int(message["height"]), int(message["width"])),
        focal=(float(matrix[0]), float(matrix[4])),
        center=(float(matrix[2]), float(matrix[5])),
        distortion=tuple(float(value) for value in distortion),
    )
