"""Values are the same with and without the index, and with and without probing, on all files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import av.logging
import numpy as np
import pytest

from genlock._ffmpeg import Media
from genlock.errors import GenlockError
from genlock.index import Index, IndexedSource
from genlock.interfaces import FrameFormat
from genlock.location import Location
from genlock.opened import Opened
from genlock.sources.images import ImageSource
from genlock.sources.media import MediaSource
from genlock.stream import Stream
from shared_inputs import shared_files

MOST_ROWS = 24
SMALL = FrameFormat((48, 64))

FILES = [
    *shared_files("real", "video-*/*", "audio/*", "gopro-gpmf/*", "images/*", "exr/*"),
    *shared_files("real", "aria-mps/*.csv", "hot3d-quest3/*.csv", "*"),
    *shared_files("cases", "inputs/*"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return Index(tmp_path_factory.mktemp("cache"))


def opened(location: Location, index: Index) -> Opened:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Index, "of_user", lambda: index)
        return Opened(location)


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.name}" for path in FILES])
def test_values_are_the_same(path: Path, index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    location = Location(path)
    try:
        plain = opened(location, Index(None))
    except GenlockError as error:
        for _ in range(2):
            with pytest.raises(type(error)) as caught:
                opened(location, index)
            assert str(caught.value) == str(error)
        return
    with closing(plain), monkeypatch.context() as probing:
        probing.setattr(Media, "knowing", lambda location, *_: Media(location))
        expected = list(contents(plain))
    opened(location, index).close()
    with closing(opened(location, index)) as again:
        assert type(again.source) in (IndexedSource, MediaSource, ImageSource)
        for (name, stated, values), (same_name, same_stated, same_values) in zip(
            expected, contents(again), strict=True
        ):
            assert (name, stated) == (same_name, same_stated)
            assert [str(v) for v in values if isinstance(v, Exception)] == [
                str(v) for v in same_values if isinstance(v, Exception)
            ]
            for one, other in zip(values, same_values, strict=True):
                if isinstance(one, np.ndarray):
                    np.testing.assert_array_equal(one, other)


def contents(source: Opened) -> Iterator[tuple[str, Any, list[Any]]]:
    """Of each stream: what is said of it, its times, and some values or why there are none."""
    for name, stream in source.streams.items():
        timeline = stream.timeline
        stated = (stream.info, stream.intrinsics, stream.extrinsics, str(stream.problem))
        times = [timeline.ns[:1000], timeline.ns[-1000:], timeline.durations_ns, timeline.valid]
        try:
            values = list(some_values(source, name, stream))
        except GenlockError as error:
            values = [error]
        yield name, stated, times + values


def some_values(source: Opened, name: str, stream: Stream) -> Iterator[Any]:
    if stream.info.encoding == "columns":
        yield from source.columns(name).values()
        return
    count = len(stream.timeline)
    with closing(source.decoder(name, stream.info.modality == "depth")) as decoder:
        if stream.info.encoding == "samples":
            out = np.zeros((stream.info.shape[0], 3000), np.float32)
            for first in (0, count // 2, max(count - 2000, 0)):
                yield decoder.read(first, int(stream.info.rate or 1), out)  # type: ignore[union-attr,call-arg,arg-type]
                yield out.copy()
            return
        rows = np.unique([*range(min(MOST_ROWS, count)), count // 2, count - 2, count - 1])
        rows = rows[rows >= 0]
        depth = stream.info.modality == "depth"
        shape = SMALL.size if depth else SMALL.frame_shape(stream.info.shape)
        frames = np.zeros((len(rows), *(shape or ())), np.float32 if depth else np.uint8)
        yield decoder.read(rows, SMALL, frames)  # type: ignore[union-attr,call-arg,arg-type]
        yield frames


def test_a_container_that_says_too_little_is_probed(real: Path) -> None:
    """Without probing FFmpeg does not know how far this file's pictures are reordered."""
    location = Location(real / "video-timing" / "test_multires.mkv")
    with closing(Media(location)) as probed, closing(Media(location, probed=False)) as quick:
        known = probed.known(0)
        assert known != quick.known(0)
    with closing(Media.knowing(location, 0, known)) as media:
        assert media.known(0) == known


@pytest.mark.parametrize(
    ("name", "tries"),
    [("video-rotated/video_90.mov", [False]), ("video-codecs/sample_av1.mp4", [False, True])],
)
def test_a_container_that_says_enough_is_not(
    real: Path, name: str, tries: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    location = Location(real / name)
    with closing(Media(location)) as probed:
        known = probed.known(0)
    tried: list[tuple[bool, bool]] = []
    init = Media.__init__

    def noting(self: Media, location: Location, probed: bool = True, decoded: bool = True) -> None:
        tried.append((probed, decoded))
        init(self, location, probed, decoded)

    monkeypatch.setattr(Media, "__init__", noting)
    with closing(Media.knowing(location, 0, known)) as media:
        assert media.known(0) == known
    assert tried == [(False, decoded) for decoded in tries]


def test_no_picture_is_decoded_to_open_what_is_known(real: Path) -> None:
    location = Location(real / "video-rotated" / "video_90.mov")
    with closing(Media(location)) as probed:
        known = probed.known(0)
    with monitored() as probing, closing(Media(location, probed=False)):
        pass
    with monitored() as opening, closing(Media.knowing(location, 0, known)):
        pass
    refused = [any("no frame!" in text for text in said) for said in (probing, opening)]
    assert refused == [False, True]


@contextmanager
def monitored() -> Iterator[list[str]]:
    """All that FFmpeg says meanwhile; its H.264 decoder of packets that gave no picture."""
    said: list[str] = []
    level = av.logging.get_level()
    av.logging.set_level(av.logging.DEBUG)
    try:
        with av.logging.Capture() as captured:
            yield said
            said += [text for _, _, text in captured]
    finally:
        av.logging.set_level(level)
