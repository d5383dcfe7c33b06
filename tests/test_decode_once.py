"""Windows that overlap: the same values with and without a cache, and each packet decoded once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import genlock as gl
from genlock._decoder_pool import PATIENCE, DecoderPool

FIELDS = {
    "rgb": gl.Video("camera-rgb", rate=10, size=(32, 32)),
    "depth": gl.Depth("depth", rate=5, size=(12, 16)),
}
LANES, BLOCK = 2, 16


def windows(sample: Path, **options: Any) -> gl.Windows:
    defaults = {"duration": 1.0, "stride": 0.2, "lanes": LANES, "block": BLOCK, "seed": 5}
    return gl.Windows(sample, over=["camera-rgb", "depth"], **(defaults | options))


def values(loader: gl.Loader) -> dict[int, tuple[bytes, ...]]:
    """What each window holds, by its index."""
    found = {}
    for batch in loader:
        arrays = batch.numpy()
        for i, window in enumerate(batch.windows):
            masks = (batch.mask[name][i].numpy() for name in FIELDS)
            parts = [*(arrays[name][i] for name in FIELDS), *masks]
            found[window.index] = tuple(np.ascontiguousarray(part).tobytes() for part in parts)
    return found


@pytest.fixture(scope="module")
def plain(sample: Path) -> dict[int, tuple[bytes, ...]]:
    ordered = windows(sample, shuffle=False)
    with gl.Loader(ordered, FIELDS, batch_size=1, cache_bytes=0, threads=1) as loader:
        return values(loader)


@pytest.mark.parametrize("shuffle", [False, True, "blocks"])
@pytest.mark.parametrize(
    "options",
    [
        {"threads": 1},
        {"threads": 4},
        {"threads": 4, "cache_bytes": 40_000},
        {"threads": 4, "cache_bytes": 0, "decoders": 1},
        {"threads": 3, "cache_bytes": 0, "decoders": 8},
    ],
    ids=str,
)
def test_values_do_not_depend_on_the_cache_the_decoders_or_the_threads(
    sample: Path, plain: dict[int, tuple[bytes, ...]], shuffle: Any, options: dict[str, Any]
) -> None:
    chosen = windows(sample, shuffle=shuffle)
    with gl.Loader(chosen, FIELDS, batch_size=1, **options) as loader:
        found = values(loader)
    assert found == plain


def test_an_epoch_in_blocks_decodes_each_packet_about_once(sample: Path) -> None:
    only_rgb = {"rgb": FIELDS["rgb"]}
    chosen = windows(sample, shuffle="blocks")
    with gl.open(sample) as recording:
        packets = len(recording.streams["camera-rgb"].timeline)
    with gl.Loader(chosen, only_rgb, batch_size=2, threads=2) as loader:
        for _ in loader:
            pass
        stats = loader.stats()
    assert stats.frames == 10 * stats.windows
    assert stats.frames_cached >= 0.7 * stats.frames
    assert stats.packets <= 1.3 * packets
    with gl.Loader(chosen, only_rgb, batch_size=2, threads=2, cache_bytes=0) as loader:
        for _ in loader:
            pass
        without = loader.stats()
    assert without.packets > 2 * stats.packets and not without.frames_cached


@pytest.mark.parametrize(("stride", "cached"), [(0.2, True), (0.3, False)])
def test_plain_order_decodes_each_packet_about_once_on_two_threads(
    sample: Path, stride: float, cached: bool
) -> None:
    """One thread goes on where a window ends, the other at the next key frame."""
    chosen = windows(sample, shuffle=False, duration=0.3, stride=stride)
    with gl.open(sample) as recording:
        packets = len(recording.streams["camera-rgb"].timeline)
    for threads in (1, 2):
        fields = {"rgb": gl.Video("camera-rgb", rate=30, size=(32, 32))}
        with gl.Loader(chosen, fields, batch_size=4, threads=threads) as loader:
            for _ in loader:
                pass
            stats = loader.stats()
        assert bool(stats.frames_cached) == cached
        assert stats.packets <= 1.15 * packets


def test_nothing_is_kept_where_windows_do_not_overlap(sample: Path) -> None:
    apart = windows(sample, stride=1.0, shuffle=True)
    assert not apart.overlapping and windows(sample).overlapping
    with gl.Loader(apart, FIELDS, batch_size=2) as loader:
        next(iter(loader))
        assert loader.stats().cache_bytes == 0


def test_who_reads_here_and_there_decodes_no_further_than_each_window(sample: Path) -> None:
    """Where windows follow one another, decoders go on instead."""
    with gl.open(sample) as recording, closing(DecoderPool(4)) as pool:

        def read(row: int, pool: DecoderPool = pool) -> bool:
            out = np.empty((1, 3, 32, 32), np.uint8)
            with pool.lease(recording.opened, "camera-rgb", False, row) as decoder:
                decoder.read(np.array([row]), FIELDS["rgb"].format, out)
                return bool(decoder.leaps)

        rows = len(recording.streams["camera-rgb"].timeline)
        apart = list(range(rows - 3, 0, -4))[: PATIENCE + 3]
        assert [read(row) for row in apart] == [False] * PATIENCE + [True] * 3
        assert not read(apart[-1] + 1) and not read(apart[-1] + 2)
        with closing(DecoderPool(4, lanes=True)) as lanes:
            assert not any(read(row, lanes) for row in apart)


def test_options_are_checked(sample: Path) -> None:
    for wrong in ({"cache_bytes": -1}, {"decoders": 0}):
        with pytest.raises(gl.FieldError, match="at least"):
            gl.Loader(windows(sample), FIELDS, batch_size=2, **wrong)


def test_snapped_windows_start_at_key_frames_and_decode_little(sample: Path) -> None:
    only_rgb = {"rgb": gl.Video("camera-rgb", rate=10, size=(32, 32))}
    with gl.open(sample) as recording:
        times = recording.streams["camera-rgb"].timeline.ns
        units = recording.opened.source.units("camera-rgb")
        table = units.spec.table
        units.close()
    assert table is not None
    keys = times[table.key[table.row_unit]]
    assert 1 < len(keys) < len(times)
    plain, snapped = (
        windows(sample, duration=0.3, stride=0.37, shuffle=True, snap=snap)
        for snap in (None, "keyframe")
    )
    assert len(plain) == len(snapped) and plain.fingerprint() != snapped.fingerprint()
    with gl.Loader(snapped, only_rgb, batch_size=1) as loader:
        for before, batch in zip(plain, loader, strict=True):
            (window,) = batch.windows
            assert window.index == before.index
            earlier = keys[keys <= before.start_ns]
            expected = earlier[-1] if len(earlier) else before.start_ns
            assert window.start_ns == expected == batch.times["rgb"][0, 0]
            assert len(earlier) == 0 or batch.source_times["rgb"][0, 0] == expected


def test_snap_is_checked(sample: Path) -> None:
    with pytest.raises(gl.WindowError, match="snap"):
        windows(sample, snap="second")
    with pytest.raises(gl.WindowError, match="snap"):
        gl.Windows.mix([windows(sample), windows(sample, snap="keyframe")])
