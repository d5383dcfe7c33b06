"""Stereo in one HEVC track (MV-HEVC): whether a track codes a second view beside its base view."""

from __future__ import annotations

from typing import cast

from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from genlock._ffmpeg import Media, prepare

SECOND_VIEW = 1
"""The view beside the base view, as FFmpeg's `view_ids` counts them (ITU-T H.265, annex G)."""

PROBED_PACKETS = 16


def states_views(first: VideoFrame | None) -> bool:
    """Whether a picture says which view it is, as those of a track with several do.

    PyAV has no name for that side data, and refuses to read any of the frame's.
    """
    if first is None:
        return False
    try:
        first.side_data.get("DISPLAYMATRIX")
    except ValueError:
        return True
    return False


def has_second_view(media: Media, index: int, max_pixels: int) -> bool:
    """Decode the first packets of a track for its second view; says whether there is one."""
    track = cast(VideoStream, media.container.streams[index])
    context = track.codec_context
    prepare(context, max_pixels, SECOND_VIEW)
    for count, packet in enumerate(media.packets([track])):
        try:
            if context.decode(packet):
                return True
        except FFmpegError:
            return False
        if count == PROBED_PACKETS:
            break
    return False
