"""One file per modality: units in, rows out. A stream's encoding picks the decoder."""

from __future__ import annotations

from genlock.decoders.audio import AudioDecoder
from genlock.decoders.depth import DepthDecoder
from genlock.decoders.image import ImageDecoder
from genlock.decoders.table import TableDecoder
from genlock.decoders.video import VideoDecoder
from genlock.errors import StreamError
from genlock.interfaces import Decoder, Units
from genlock.stream import Stream


def make_decoder(units: Units, stream: Stream, depth: bool, max_pixels: int | None) -> Decoder:
    """The decoder that fits a stream's encoding; it owns and closes `units`.

    depth: whether pictures are wanted as depth maps. Raises StreamError for an encoding that
    nothing decodes.
    """
    match stream.info.encoding:
        case "packets":
            return VideoDecoder(units, stream, max_pixels)
        case "image" if depth:
            return DepthDecoder(units, stream, max_pixels)
        case "image":
            return ImageDecoder(units, stream, max_pixels)
        case "samples":
            return AudioDecoder(units, stream)
        case "columns":
            return TableDecoder(units, stream)
        case other:
            raise StreamError(f"nothing decodes units of kind {other!r}", stream=stream.name)
