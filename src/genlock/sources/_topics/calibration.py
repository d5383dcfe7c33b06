"""What logs say of cameras and frames, given to the streams that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genlock._messages.cameras import intrinsics
from genlock.errors import DecodeError
from genlock.sources._topics.messages import first_of
from genlock.sources._topics.tables import TableTopic
from genlock.sources._topics.topic import Topic, Track
from genlock.sources._topics.transforms import TransformTopic
from genlock.stream import Extrinsics, Intrinsics


class CameraTopic(TableTopic):
    """Camera calibration: the first message counts. A table where it belongs to no pictures."""

    @property
    def namespace(self) -> str:
        """The topic's name without its last part."""
        return self.spec.name.rpartition("/")[0]

    def intrinsics(self) -> Intrinsics | None:
        """The camera, if it is calibrated."""
        try:
            messages, _ = self.rows(self.spec.name, self.entries)
            return first_of(messages, intrinsics)
        except DecodeError:
            return None


def calibrated(found: Mapping[Topic, Sequence[Track]]) -> list[Track]:
    """The tracks of all topics: those of pictures with their camera, and any with its extrinsics.

    Topics that calibrate pictures are no streams of their own.
    """
    pictures = [track for own in found.values() for track in own if _is_picture(track)]
    wanted = {space for track in pictures for space in _namespaces(track)}
    cameras: dict[str, Intrinsics] = {}
    fixed: dict[str, Extrinsics] = {}
    consumed: set[Topic] = set()
    for topic in found:
        if isinstance(topic, TransformTopic):
            fixed |= topic.fixed
        if isinstance(topic, CameraTopic) and topic.namespace in wanted:
            camera = topic.intrinsics()
            if camera is not None:
                cameras[topic.namespace] = camera
                consumed.add(topic)
    kept = [track for topic, own in found.items() if topic not in consumed for track in own]
    return [_placed(track, cameras, fixed) for track in kept]


def _placed(
    track: Track, cameras: Mapping[str, Intrinsics], fixed: Mapping[str, Extrinsics]
) -> Track:
    """A track with what is known of it. cameras: by namespace. fixed: by child frame."""
    near = (cameras[space] for space in _namespaces(track) if space in cameras)
    camera = next(near, None) if _is_picture(track) else None
    place = fixed.get(track.frame) if track.frame else None
    return replace(track, stream=replace(track.stream, intrinsics=camera, extrinsics=place))


def _is_picture(track: Track) -> bool:
    return track.stream.info.encoding in ("image", "packets")


def _namespaces(track: Track) -> tuple[str, ...]:
    """Where the calibration of a stream of pictures may be, the nearest first.

    image_transport puts it beside the image's topic, which a transport's name may follow: for
    "cam0/image_raw/compressed" it is in "cam0/image_raw" or "cam0".
    """
    parts = track.stream.name.split("/")
    return tuple("/".join(parts[:-count]) for count in (1, 2) if count <= len(parts))
