"""What a stream of pictures is: by its declaration, its first header, and its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from genlock._depth_encoding import DepthEncoding
from genlock._pictures import PictureHeader
from genlock.errors import LayoutError
from genlock.stream import Modality, StreamInfo


def picture_info(
    names: Sequence[str], declaration: Mapping[str, Any], header: PictureHeader | None
) -> tuple[StreamInfo, list[str]]:
    """The stream's info, and sentences on what was guessed.

    names: the stream's, its folder's, a lone file's: "depth" in one of them makes pictures of one
    channel and more than 8 bits a depth stream, unless declared. Raises LayoutError.
    """
    modality, notes = _modality(names, declaration, header)
    depth = None
    if "depth" in declaration:
        depth = str(DepthEncoding.declared(declaration["depth"]))
    if header is None:
        notes.append("no file with a readable header was found")
        return StreamInfo(modality, "image", depth=depth), notes
    if modality == "depth" and depth is None and header.white == 1:
        depth = "metres"
        notes.append("depth is taken as metres, since it is floating point")
    info = StreamInfo(
        modality,
        "image",
        codec=header.codec,
        shape=header.shape,
        dtype=header.dtype,
        depth=depth,
        rotation=header.orientation.rotation,
        flipped=header.orientation.flipped,
        bits=header.bits,
    )
    return info, notes


def is_called_depth(*names: str) -> bool:
    """Whether a name has a word that starts with "depth"."""
    return any(re.search(r"(?:^|[^a-z])depth", name.lower()) for name in names)


def _modality(
    names: Sequence[str], declaration: Mapping[str, Any], header: PictureHeader | None
) -> tuple[Modality, list[str]]:
    kind = declaration.get("kind", "depth" if "depth" in declaration else None)
    if kind is not None:
        if kind not in ("video", "depth"):
            raise LayoutError(f'kind = {kind!r}: pictures are "video" or "depth"')
        return kind, []
    deep = header is not None and header.channels == 1 and header.dtype != "uint8"
    if deep and is_called_depth(*names):
        return "depth", ['taken for depth because of its name: declare kind = "depth" or "video"']
    return "video", []
