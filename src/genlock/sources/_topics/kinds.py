"""The one table of which message type becomes what kind of stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from genlock.sources._topics.calibration import CameraTopic
from genlock.sources._topics.clouds import CloudTopic
from genlock.sources._topics.labels import TextTopic
from genlock.sources._topics.pictures import PictureTopic
from genlock.sources._topics.tables import PoseTopic, TableTopic
from genlock.sources._topics.topic import Topic, TopicSpec
from genlock.sources._topics.transforms import TransformPaths, TransformTopic
from genlock.sources._topics.video import VideoTopic

MakeTopic = Callable[[TopicSpec], Topic]


def _pose(at: str, position: str = "position", orientation: str = "orientation") -> MakeTopic:
    prefix = f"{at}." if at else ""
    return partial(PoseTopic, position=prefix + position, orientation=prefix + orientation)


def _table(**units: str) -> MakeTopic:
    """A table whose columns have units; "__" in a name stands for a dot."""
    stated = {name.replace("__", "."): unit for name, unit in units.items()}
    return partial(TableTopic, units=MappingProxyType(stated))


_TWIST = {"linear": "m/s", "angular": "rad/s"}
_ACCEL = {"linear": "m/s^2", "angular": "rad/s^2"}
_WRENCH = {"force": "N", "torque": "N m"}
_FIX = {"latitude": "deg", "longitude": "deg", "altitude": "m"}


def _nested(name: str, units: Mapping[str, str]) -> dict[str, str]:
    return {f"{name}__{key}": unit for key, unit in units.items()}


_FOXGLOVE_TRANSFORM = TransformPaths(
    "timestamp", "parent_frame_id", "child_frame_id", "translation", "rotation"
)

KINDS: Mapping[str, MakeTopic] = MappingProxyType(
    {
        "sensor_msgs/Image": PictureTopic,
        "foxglove/RawImage": PictureTopic,
        "sensor_msgs/CompressedImage": PictureTopic,
        "foxglove/CompressedImage": PictureTopic,
        "foxglove/CompressedVideo": VideoTopic,
        "ffmpeg_image_transport_msgs/FFMPEGPacket": partial(VideoTopic, format="encoding"),
        "sensor_msgs/CameraInfo": CameraTopic,
        "foxglove/CameraCalibration": CameraTopic,
        "sensor_msgs/PointCloud2": CloudTopic,
        "foxglove/PointCloud": CloudTopic,
        "sensor_msgs/Imu": partial(
            TableTopic,
            units=MappingProxyType({"angular_velocity": "rad/s", "linear_acceleration": "m/s^2"}),
            optional=MappingProxyType(
                {
                    name: f"{name}_covariance"
                    for name in ("orientation", "angular_velocity", "linear_acceleration")
                }
            ),
        ),
        "sensor_msgs/MagneticField": _table(magnetic_field="T"),
        "sensor_msgs/FluidPressure": _table(fluid_pressure="Pa", variance="Pa^2"),
        "sensor_msgs/Temperature": _table(temperature="degC", variance="degC^2"),
        "sensor_msgs/Range": _table(range="m", min_range="m", max_range="m", field_of_view="rad"),
        "sensor_msgs/Illuminance": _table(illuminance="lx", variance="lx^2"),
        "sensor_msgs/NavSatFix": _table(**_FIX),
        "foxglove/LocationFix": _table(**_FIX),
        "geometry_msgs/Twist": _table(**_TWIST),
        "geometry_msgs/TwistStamped": _table(**_nested("twist", _TWIST)),
        "geometry_msgs/TwistWithCovarianceStamped": _table(**_nested("twist__twist", _TWIST)),
        "geometry_msgs/Accel": _table(**_ACCEL),
        "geometry_msgs/AccelStamped": _table(**_nested("accel", _ACCEL)),
        "geometry_msgs/Wrench": _table(**_WRENCH),
        "geometry_msgs/WrenchStamped": _table(**_nested("wrench", _WRENCH)),
        "geometry_msgs/Point": _table(x="m", y="m", z="m"),
        "geometry_msgs/PointStamped": _table(point="m"),
        "geometry_msgs/Pose": _pose(""),
        "geometry_msgs/PoseStamped": _pose("pose"),
        "geometry_msgs/PoseWithCovariance": _pose("pose"),
        "geometry_msgs/PoseWithCovarianceStamped": _pose("pose.pose"),
        "geometry_msgs/Transform": _pose("", "translation", "rotation"),
        "geometry_msgs/TransformStamped": _pose("transform", "translation", "rotation"),
        "nav_msgs/Odometry": _pose("pose.pose"),
        "foxglove/Pose": _pose(""),
        "foxglove/PoseInFrame": _pose("pose"),
        "tf2_msgs/TFMessage": partial(TransformTopic, paths=TransformPaths()),
        "tf/tfMessage": partial(TransformTopic, paths=TransformPaths()),
        "foxglove/FrameTransforms": partial(TransformTopic, paths=_FOXGLOVE_TRANSFORM),
        "foxglove/FrameTransform": partial(
            TransformTopic, paths=_FOXGLOVE_TRANSFORM._replace(many=False)
        ),
        "std_msgs/String": partial(TextTopic, path="data"),
        "rosgraph_msgs/Log": partial(TextTopic, path="msg"),
        "rcl_interfaces/Log": partial(TextTopic, path="msg"),
        "foxglove/Log": partial(TextTopic, path="message"),
    }
)
"""By `Schema.type`. Any other type is a table of its numbers, or labels where it holds none."""


def make_topic(spec: TopicSpec) -> Topic:
    """What collects the messages of a topic."""
    return KINDS.get(spec.type, TableTopic)(spec)
