"""One file per modality: units in, rows out. A stream's encoding picks the decoder, and of those
that fit it the field may name one.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any, cast

from genlock._recent import Budget
from genlock.errors import FieldError, StreamError
from genlock.interfaces import Decoder, Units
from genlock.stream import Stream

DECODERS = {
    ("packets", False): {
        "auto": "video.VideoDecoder",
        "ffmpeg": "video.VideoDecoder",
        "nvdec": "nvdec.NvdecDecoder",
    },
    ("packets", True): {"auto": "video.VideoDecoder"},
    ("image", False): {"auto": "image.ImageDecoder", "dali": "dali.DaliDecoder"},
    ("image", True): {"auto": "depth.DepthDecoder"},
    ("samples", False): {"auto": "audio.AudioDecoder"},
    ("columns", False): {"auto": "table.TableDecoder"},
    ("points", False): {"auto": "points.CloudDecoder"},
}
"""(encoding, whether pictures are wanted as depth maps) → by name, as `Video.decoder`, module and
class of this package. "auto" is what measurements say is best."""

OPTIONAL = {"dali": "dali", "nvdec": "nvdec"}
"""Decoders that not every machine has → module, whose `require` raises where it is missing."""


def make_decoder(
    units: Units,
    stream: Stream,
    depth: bool,
    max_pixels: int | None,
    kept: Budget | None = None,
    name: str = "auto",
    gpu: int | None = None,
) -> Decoder:
    """The decoder that fits a stream's encoding; it owns and closes `units`.

    name: which, as `Video.decoder`. gpu: index of the one that batches go to, if any. Imports the
    decoder's module, and with it the third-party reader, when it is first needed. Raises
    StreamError for an encoding that nothing decodes, FieldError for a decoder that is not offered
    for it, MissingExtraError for one whose package is absent.
    """
    encoding = stream.info.encoding
    offered = DECODERS.get((encoding, depth))
    if offered is None:
        raise StreamError(f"nothing decodes units of kind {encoding!r}", stream=stream.name)
    if name not in offered:
        raise FieldError(
            f"decoder={name!r} is not offered for units of kind {encoding!r}: take "
            f"{' or '.join(map(repr, offered))}",
            stream=stream.name,
        )
    module, _, decoder = offered[name].partition(".")
    kind = getattr(import_module(f"{__name__}.{module}"), decoder)
    options: dict[str, Any] = {}
    if encoding in ("packets", "image"):
        options["max_pixels"] = max_pixels
    elif encoding == "samples":
        options["kept"] = kept
    if name in OPTIONAL:
        options["gpu"] = gpu
    return cast(Decoder, kind(units, stream, **options))


def require_decoders(names: Iterable[str]) -> None:
    """Raise MissingExtraError or FieldError unless this machine has what these decoders need.

    names: as `Video.decoder`; those that are always there are fine.
    """
    for name in names:
        if name in OPTIONAL:
            import_module(f"{__name__}.{OPTIONAL[name]}").require()


def uses_gpu(names: Iterable[str]) -> bool:
    """Whether any of these decoders, named as `Video.decoder`, takes a GPU."""
    return not OPTIONAL.keys().isdisjoint(names)
