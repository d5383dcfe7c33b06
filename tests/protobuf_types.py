"""Protobuf types made on the spot, among them those of Foxglove's schemas that are read."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

from genlock._messages import Schema

_Field = descriptor_pb2.FieldDescriptorProto
FLOAT = _Field(type=_Field.TYPE_DOUBLE)
UINT = _Field(type=_Field.TYPE_FIXED32)
STRING = _Field(type=_Field.TYPE_STRING)
BYTES = _Field(type=_Field.TYPE_BYTES)
FLOATS = _Field(type=_Field.TYPE_DOUBLE, label=_Field.LABEL_REPEATED)


def message_field(name: str, repeated: bool = False) -> Any:
    label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    return _Field(type=_Field.TYPE_MESSAGE, type_name=f".{name}", label=label)


class ProtoType:
    """A message type of these fields; needs: the types that its fields are of."""

    def __init__(self, name: str, /, needs: tuple[ProtoType, ...] = (), **fields: Any) -> None:
        package, _, own = name.rpartition(".")
        file = descriptor_pb2.FileDescriptorProto(
            name=f"{name}.proto", package=package, syntax="proto3"
        )
        file.dependency.append("google/protobuf/timestamp.proto")
        file.dependency.extend(need.file.name for need in needs)
        message = file.message_type.add(name=own)
        for number, (key, field) in enumerate(fields.items(), 1):
            added = message.field.add()
            added.CopyFrom(field)
            added.name, added.number = key, number
            added.label = field.label or _Field.LABEL_OPTIONAL
        self.file = file
        self.all: tuple[Any, ...] = (*(f for need in needs for f in need.all), file)
        times = descriptor_pb2.FileDescriptorProto()
        timestamp_pb2.DESCRIPTOR.CopyToProto(times)
        pool = descriptor_pool.DescriptorPool()
        for one in {one.name: one for one in (times, *self.all)}.values():
            pool.Add(one)
        self.make = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        unique = {one.name: one for one in (times, *self.all)}
        definition = descriptor_pb2.FileDescriptorSet(file=unique.values()).SerializeToString()
        self.schema = Schema(name, "protobuf", "protobuf", definition)


_TIME = message_field("google.protobuf.Timestamp")
VECTOR3 = ProtoType("foxglove.Vector3", x=FLOAT, y=FLOAT, z=FLOAT)
QUATERNION = ProtoType("foxglove.Quaternion", x=FLOAT, y=FLOAT, z=FLOAT, w=FLOAT)
POSE = ProtoType(
    "foxglove.Pose",
    position=message_field("foxglove.Vector3"),
    orientation=message_field("foxglove.Quaternion"),
    needs=(VECTOR3, QUATERNION),
)
POSE_IN_FRAME = ProtoType(
    "foxglove.PoseInFrame",
    timestamp=_TIME,
    frame_id=STRING,
    pose=message_field("foxglove.Pose"),
    needs=(POSE,),
)
FRAME_TRANSFORM = ProtoType(
    "foxglove.FrameTransform",
    timestamp=_TIME,
    parent_frame_id=STRING,
    child_frame_id=STRING,
    translation=message_field("foxglove.Vector3"),
    rotation=message_field("foxglove.Quaternion"),
    needs=(VECTOR3, QUATERNION),
)
COMPRESSED_VIDEO = ProtoType(
    "foxglove.CompressedVideo", timestamp=_TIME, frame_id=STRING, data=BYTES, format=STRING
)
COMPRESSED_IMAGE = ProtoType(
    "foxglove.CompressedImage", timestamp=_TIME, frame_id=STRING, data=BYTES, format=STRING
)
RAW_IMAGE = ProtoType(
    "foxglove.RawImage",
    timestamp=_TIME,
    frame_id=STRING,
    width=UINT,
    height=UINT,
    encoding=STRING,
    step=UINT,
    data=BYTES,
)
CALIBRATION = ProtoType(
    "foxglove.CameraCalibration",
    timestamp=_TIME,
    frame_id=STRING,
    width=UINT,
    height=UINT,
    distortion_model=STRING,
    D=FLOATS,
    K=FLOATS,
    R=FLOATS,
    P=FLOATS,
)
PACKED_FIELD = ProtoType("foxglove.PackedElementField", name=STRING, offset=UINT, type=UINT)
POINT_CLOUD = ProtoType(
    "foxglove.PointCloud",
    timestamp=_TIME,
    frame_id=STRING,
    pose=message_field("foxglove.Pose"),
    point_stride=UINT,
    fields=message_field("foxglove.PackedElementField", repeated=True),
    data=BYTES,
    needs=(POSE, PACKED_FIELD),
)


def timestamp(ns: int) -> dict[str, int]:
    return {"seconds": ns // 10**9, "nanos": ns % 10**9}
