"""What logs say of cameras and frames, given to the streams that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genlock._messages.cameras import intrinsics
from genlock.sources._topics.tables import TableTopic
from genlock.sources._topics.topic import Track, first_of
from genlock.stream import Extrinsics, Intrinsics


class CameraTopic(TableTopic):
    """Camera calibration: the first message's counts; a table where it is of no picture stream."""

    def intrinsics(self) -> Intrinsics | None:
        """The camera, if it is calibrated. Raises DecodeError."""
        messages, _ = self.rows(self.spec.name, self.entries)
        return first_of(messages, intrinsics)


def namespaces(picture: str) -> tuple[str, ...]:
    """Where the calibration of a stream of pictures may be, the nearest first.

    image_transport puts it beside the image's topic, which a transport's name may follow:
    "cam0/image_raw/compressed" → "cam0/image_raw", "cam0".
    """
    parts = picture.split("/")
    return tuple("/".join(parts[:-count]) for count in (1, 2) if count <= len(parts))


def calibrated(
    tracks: Sequence[Track], cameras: Mapping[str, Intrinsics], fixed: Mapping[str, Extrinsics]
) -> list[Track]:
    """Tracks with what is known of them. cameras: by namespace. fixed: by child frame."""
    return [
        replace(
            track,
            stream=replace(
                track.stream,
                intrinsics=_camera_of(track, cameras),
                extrinsics=fixed.get(track.frame) if track.frame else None,
            ),
        )
        for track in tracks
    ]


def _camera_of(track: Track, cameras: Mapping[str, Intrinsics]) -> Intrinsics | None:
    if track.stream.info.encoding not in ("image", "packets"):
        return None
    found = (cameras.get(namespace) for namespace in namespaces(track.stream.name))
    return next((camera for camera in found if camera is not None), None)
