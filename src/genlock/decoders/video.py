"""Video in software, by FFmpeg."""

from __future__ import annotations

from typing import cast

from av.codec.context import CodecContext
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from genlock.decoders._packet_decoder import PacketDecoder
from genlock.interfaces import CodecSpec


class VideoDecoder(PacketDecoder):
    """Frames of a stream of packets, decoded on the thread that asks. One thread at a time.

    Arguments and errors: see `PacketDecoder`.
    """

    def _context(self, spec: CodecSpec) -> VideoCodecContext:
        if spec.context is not None:
            return cast(VideoCodecContext, spec.context)
        context = cast(VideoCodecContext, CodecContext.create(spec.codec, "r"))
        context.extradata = spec.extradata
        return context

    def _in_memory(self, frame: VideoFrame) -> VideoFrame:
        return frame
