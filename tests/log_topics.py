"""One log of every kind of stream, for every storage."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import cv2
import numpy as np

from cloud_messages import cloud, numbered
from log_writers import Recorded, mcap_bytes, write_bag1, write_bag2
from ros_types import ROS1, ROS2, header, make

T0 = 1_700_000_000_000_000_003
MS = 1_000_000
OLD_NS = 1_600_000_000_000_000_000
"""When the files were changed: long ago, so that the index trusts them."""


def topics(store: Any) -> dict[str, Any]:
    """A log of every kind of stream, logged late and out of order."""
    late = np.random.default_rng(5).integers(0, 30 * MS, 40).tolist()
    kinds: dict[str, Callable[[int, Any], Any]] = {
        "/cam/image_raw": lambda k, head: _picture(store, k, head),
        "/cam/jpeg": lambda k, head: _compressed(store, k, head),
        "/cam/camera_info": lambda k, head: _camera(store, head),
        "/imu": lambda k, head: make(
            "sensor_msgs/msg/Imu", store, header=head, angular_velocity={"x": k / 8}
        ),
        "/odom": lambda k, head: make(
            "nav_msgs/msg/Odometry",
            store,
            header=head,
            pose={"pose": {"position": {"x": k}, "orientation": {"w": 1}}},
        ),
        "/tf": lambda k, head: _transform(store, k, head),
        "/lidar": lambda k, head: cloud(T0 + k * 10 * MS, numbered(k, k % 5), store),
        "/depth": lambda k, head: _depth(store, k, head),
        "/at": lambda k, head: make(
            "geometry_msgs/msg/PoseStamped",
            store,
            header=head,
            pose={"position": {"y": k}, "orientation": {"z": np.sin(k / 9), "w": np.cos(k / 9)}},
        ),
        "/text": lambda k, head: make("std_msgs/msg/String", store, data=f"step {k}"),
    }
    if store is ROS1:
        del kinds["/tf"]  # that store has no such type; the real bag has one
    return {
        topic: [
            (T0 + k * 10 * MS + late[k], build(k, header(T0 + k * 10 * MS, "cam")))
            for k in range(20)
        ]
        for topic, build in kinds.items()
    }


def _picture(store: Any, k: int, head: Any) -> Any:
    pixels = np.full(48, k, np.uint8)
    size = {"height": 6, "width": 8, "step": 8, "encoding": "mono8"}
    return make("sensor_msgs/msg/Image", store, header=head, data=pixels, **size)


def _compressed(store: Any, k: int, head: Any) -> Any:
    data = cv2.imencode(".jpg", np.full((16, 16), 10 * k, np.uint8))[1].ravel()
    return make("sensor_msgs/msg/CompressedImage", store, header=head, format="jpeg", data=data)


def _depth(store: Any, k: int, head: Any) -> Any:
    codes = np.arange(48, dtype=np.uint16).reshape(6, 8) * 100 + k
    png = cv2.imencode(".png", codes)[1].tobytes()
    data = np.frombuffer(bytes(12) + png, np.uint8)
    kind = "sensor_msgs/msg/CompressedImage"
    return make(kind, store, header=head, format="16UC1; compressedDepth png", data=data)


def _camera(store: Any, head: Any) -> Any:
    names = ("k", "d") if store is ROS2 else ("K", "D")
    values = {names[0]: [5.0, 0, 4, 0, 5.0, 3, 0, 0, 1], names[1]: [0.1] * 5}
    size = {"height": 6, "width": 8, "distortion_model": "plumb_bob"}
    return make("sensor_msgs/msg/CameraInfo", store, header=head, **size, **values)


def _transform(store: Any, k: int, head: Any) -> Any:
    moves = [
        {
            "header": head,
            "child_frame_id": child,
            "transform": {"translation": {"x": k + offset}, "rotation": {"w": 1}},
        }
        for child, offset in (("base", 0), ("hand", 100))
    ]
    return make("tf2_msgs/msg/TFMessage", store, transforms=moves)


def write(form: str, folder: Path, more: Recorded = MappingProxyType({})) -> Path:
    """A log of all topics. form: "mcap", "ros1", "sqlite3-bag", "mcap-bag". more: in MCAP alone."""
    match form:
        case "mcap":
            path = folder / "a.mcap"
            path.write_bytes(mcap_bytes(topics(ROS2) | dict(more), chunk_size=2000))
        case "ros1":
            path = write_bag1(folder / "b.bag", topics(ROS1), chunk_bytes=2000)
        case _:
            path = write_bag2(folder / "c", topics(ROS2), form.removesuffix("-bag"))
    for one in (path, *(path.iterdir() if path.is_dir() else ())):
        os.utime(one, ns=(OLD_NS, OLD_NS))
    return path
