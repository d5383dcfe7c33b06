"""One file per modality: units in, rows out. A stream's encoding picks the decoder."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

from genlock._recent import Budget
from genlock.errors import StreamError
from genlock.interfaces import Decoder, Units
from genlock.stream import Stream

DECODERS = {
    ("packets", False): "video.VideoDecoder",
    ("packets", True): "video.VideoDecoder",
    ("image", False): "image.ImageDecoder",
    ("image", True): "depth.DepthDecoder",
    ("samples", False): "audio.AudioDecoder",
    ("columns", False): "table.TableDecoder",
    ("points", False): "points.CloudDecoder",
}
"""(encoding, whether pictures are wanted as depth maps) → module and class of this package."""


def make_decoder(
    units: Units,
    stream: Stream,
    depth: bool,
    max_pixels: int | None,
    kept: Budget | None = None,
) -> Decoder:
    """The decoder that fits a stream's encoding; it owns and closes `units`.

    Imports the decoder's module, and with it the third-party reader, when it is first needed.
    Raises StreamError for an encoding that nothing decodes.
    """
    name = DECODERS.get((stream.info.encoding, depth))
    if name is None:
        message = f"nothing decodes units of kind {stream.info.encoding!r}"
        raise StreamError(message, stream=stream.name)
    module, _, decoder = name.partition(".")
    kind = getattr(import_module(f"{__name__}.{module}"), decoder)
    options: dict[str, Any] = {}
    if stream.info.encoding in ("packets", "image"):
        options["max_pixels"] = max_pixels
    elif stream.info.encoding == "samples":
        options["kept"] = kept
    return cast(Decoder, kind(units, stream, **options))
