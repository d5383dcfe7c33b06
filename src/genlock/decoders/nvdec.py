"""Video in a GPU's decoder (NVDEC), through FFmpeg.

FFmpeg reads the packets, keeps the order of pictures and says which are damaged, as it does in
software; the GPU makes their pixels, which these codecs define exactly. So rows, times and frames
are those of `VideoDecoder`. Frames that are wanted, and no others, come back to host memory, are
laid out as in software, and are converted as there.

A GPU does not notice bytes that were altered inside of a picture, where software does.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, cast

import av
from av.codec.codec import Codec
from av.codec.context import CodecContext
from av.codec.hwaccel import HWAccel, hwdevices_available
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from genlock.decoders._cuda import driver_library, primary_context
from genlock.decoders._packet_decoder import PacketDecoder
from genlock.decoders._scaler import BT601, LIMITED_RANGE
from genlock.errors import DecodeError, FieldError, MissingExtraError
from genlock.interfaces import CodecSpec, Units
from genlock.stream import Stream

DECODED = MappingProxyType(
    {
        "h264": frozenset({"yuv420p", "yuvj420p"}),
        "hevc": frozenset({"yuv420p", "yuvj420p", "yuv420p10le"}),
        "vp9": frozenset({"yuv420p", "yuv420p10le"}),
    }
)
"""Codecs whose every decoder gives the same pixels, in what GPUs decode of them; FFmpeg reads the
packets of AV1 with another decoder in software, and that of older codecs rounds as it likes."""
PLANAR = MappingProxyType({"nv12": "yuv420p", "p010le": "yuv420p10le"})
"""How software lays out what a GPU gives with U and V interleaved."""
CARRIED = (
    "width",
    "height",
    "reorder_depth",
    "color_range",
    "colorspace",
    "color_primaries",
    "color_trc",
)
"""What a container says of a track beside its codec headers, and frames take over."""
SHARED = MappingProxyType({"primary_ctx": "0", "current_ctx": "1"})
"""FFmpeg is to use the context of the thread; it refuses the primary one once torch has made it."""


class NvdecDecoder(PacketDecoder):
    """Frames of a stream of packets, decoded by a GPU. One thread at a time.

    gpu: index of the CUDA device, 0 if None. Other arguments: see `PacketDecoder`. Raises
    FieldError for what GPUs do not decode exactly, and where there is no GPU; MissingExtraError
    where this FFmpeg has no NVDEC.
    """

    doubt = ", or this GPU does not decode them, which decoder='ffmpeg' tells apart"

    def __init__(
        self, units: Units, stream: Stream, max_pixels: int | None = None, gpu: int | None = None
    ) -> None:
        require()
        self._gpu = gpu or 0
        super().__init__(units, stream, max_pixels)

    def _context(self, spec: CodecSpec) -> VideoCodecContext:
        codec = Codec(spec.codec, "r")
        known = spec.context
        _check_offered(codec.name, getattr(known, "pix_fmt", None), spec.options.get("view", 0))
        context = self._on_gpu(codec)
        context.extradata = spec.extradata
        for name in CARRIED if known is not None else ():
            setattr(context, name, getattr(known, name))
        return context

    def _on_gpu(self, codec: Codec) -> VideoCodecContext:
        acceleration = HWAccel(
            "cuda",
            device=str(self._gpu),
            allow_software_fallback=False,
            options=dict(SHARED),
            is_hw_owned=True,  # so that only frames that are wanted cross the bus
        )
        with primary_context(self._gpu):
            context = CodecContext.create(codec, "r", hwaccel=acceleration)
        if not context.is_hwaccel:
            raise DecodeError(f"this FFmpeg does not decode {codec.name} on a GPU")
        return cast(VideoCodecContext, context)

    def _in_memory(self, frame: VideoFrame) -> VideoFrame:
        laid_out: Any = getattr(frame, "sw_format", None)
        if laid_out is None or laid_out.name not in PLANAR:
            kind = frame.format.name if laid_out is None else laid_out.name
            raise DecodeError(
                f"the GPU gave a frame of {kind}, which decoder='nvdec' does not know"
            )
        same = {"src_colorspace": BT601, "dst_colorspace": BT601}
        range_ = {"src_color_range": LIMITED_RANGE, "dst_color_range": LIMITED_RANGE}
        planar = frame.reformat(format=PLANAR[laid_out.name], threads=1, **same, **range_)
        planar.colorspace, planar.color_range = frame.colorspace, frame.color_range
        return planar


def require() -> None:
    """Raise MissingExtraError or FieldError unless this machine has what NVDEC needs."""
    if "cuda" not in hwdevices_available() or not hasattr(VideoFrame, "sw_format"):
        package = f"av>=18 with NVDEC (this is av {av.__version__}; wheels have it)"
        raise MissingExtraError(package, "nvdec", "decoder='nvdec'")
    driver_library()


def _check_offered(codec: str, pixels: str | None, view: int) -> None:
    """Raise FieldError for what a GPU does not decode, or not as software does."""
    problem = None
    if codec not in DECODED:
        problem = f"decodes {', '.join(DECODED)}, not {codec}"
    elif pixels is not None and pixels not in DECODED[codec]:
        problem = f"decodes {codec} of {' or '.join(sorted(DECODED[codec]))}, not of {pixels}"
    elif view:
        problem = "decodes the first view of a track alone"
    if problem is not None:
        raise FieldError(f"decoder='nvdec' {problem}: use decoder='ffmpeg' for this stream")
