"""Which decoder a field gets: by name, of those that fit the stream's units."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from picture_units import MemoryUnits, encode, quadrants, stream_of

import genlock as gl
from genlock import decoders
from genlock.decoders.image import ImageDecoder
from genlock.decoders.video import VideoDecoder
from genlock.errors import FieldError, MissingExtraError
from media_clips import open_media

OVER = ["camera-rgb"]


def test_auto_is_software(cases: Path) -> None:
    source = open_media(cases / "inputs/v08_drain7.mp4")
    for name in ("auto", "ffmpeg"):
        units, stream = source.units("video"), source.streams["video"]
        decoder = decoders.make_decoder(units, stream, False, None, name=name)
        assert type(decoder) is VideoDecoder
        decoder.close()
    picture = [encode(quadrants(), "JPEG")]
    made = decoders.make_decoder(MemoryUnits(picture), stream_of(picture), False, None)
    assert type(made) is ImageDecoder


@pytest.mark.parametrize("name", ["ffmpeg", "nvdec"])
def test_decoders_of_video_are_not_offered_for_pictures(name: str) -> None:
    picture = [encode(quadrants(), "JPEG")]
    with pytest.raises(FieldError, match=r"not offered .*'image': take 'auto' or 'dali'"):
        decoders.make_decoder(MemoryUnits(picture), stream_of(picture), False, None, name=name)


def test_dali_is_not_offered_for_video(cases: Path) -> None:
    with gl.open(cases / "inputs/v08_drain7.mp4") as recording:
        field = {"rgb": gl.Video("video", rate=5, decoder="dali")}
        with pytest.raises(FieldError, match="take 'auto' or 'ffmpeg' or 'nvdec'") as caught:
            recording.read(field, start_ns=recording.start_ns, duration=0.2)
        assert caught.value.stream == "video"


class Recorded(VideoDecoder):
    """Software that notes which GPU it was to use."""

    gpus: ClassVar[list[Any]] = []

    def __init__(self, *arguments: Any, gpu: int | None, **options: Any) -> None:
        self.gpus.append(gpu)
        super().__init__(*arguments, **options)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """ "nvdec" is software that notes its GPU, and this module is where it lives."""
    monkeypatch.setitem(sys.modules, "genlock.decoders.recorded", sys.modules[__name__])
    offered = {**decoders.DECODERS["packets", False], "nvdec": "recorded.Recorded"}
    monkeypatch.setitem(decoders.DECODERS, ("packets", False), offered)
    monkeypatch.setattr(decoders, "OPTIONAL", {"nvdec": "recorded"})
    monkeypatch.setattr(Recorded, "gpus", [])
    yield Recorded.gpus


def require() -> None:
    """The stand-in is always there."""


@pytest.mark.parametrize("gpu", [None, 3])
def test_decoders_work_on_the_gpu_that_batches_go_to(
    sample: Path, recorded: list[Any], monkeypatch: pytest.MonkeyPatch, gpu: int | None
) -> None:
    from genlock.device import HostBackend

    monkeypatch.setattr(HostBackend, "gpu", gpu)
    windows = gl.Windows(sample, over=OVER, duration=0.5, stride=0.5)
    fields = {"rgb": gl.Video("camera-rgb", rate=8, size=(16, 16), decoder="nvdec")}
    with gl.Loader(windows, fields, batch_size=2, threads=1) as loader:
        next(iter(loader))
    assert set(recorded) == {gpu}


def test_fields_share_frames_only_if_one_decoder_made_them(
    sample: Path, recorded: list[Any]
) -> None:
    fields = {
        name: gl.Video("camera-rgb", rate=8, size=(16, 16), decoder=name)
        for name in ("ffmpeg", "nvdec")
    }
    windows = gl.Windows(sample, over=OVER, duration=0.5, stride=0.25)
    with gl.Loader(windows, fields, batch_size=1, threads=1) as loader:
        for batch in loader:
            assert (batch["ffmpeg"] == batch["nvdec"]).all()
        stats = loader.stats()
    assert recorded  # it decoded too, and did not take frames that the other had made
    assert stats.frames_cached < stats.frames / 2 + 1


def test_a_loader_says_at_once_what_is_missing(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "nvidia", None)  # as if it were not installed
    windows = gl.Windows(sample, over=OVER, duration=0.5)
    fields = {"rgb": gl.Video("camera-rgb", rate=8, decoder="dali")}
    with pytest.raises(MissingExtraError, match=r"pip install 'genlock\[dali\]'"):
        gl.Loader(windows, fields, batch_size=1)
