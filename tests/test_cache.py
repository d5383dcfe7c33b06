"""Finished samples kept in memory: the same batches, nothing decoded twice, within bounds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

import genlock as gl
import transforms
from loading import FIELDS, epochs, failing_windows, windows

CachingLoader = partial(gl.Loader, cache="ram", batch_size=6)


def decoded_items(loader: gl.Loader) -> dict[str, int]:
    """Rows that each pool gave, except those from memory."""
    return {s.name: s.items for s in loader.stats().stages if s.name not in ("plan", "cache")}


@pytest.mark.parametrize("process", [False, True])
def test_later_epochs_equal_those_without_a_cache_and_decode_nothing(
    sample: Path, reference: list[list[Any]], process: bool
) -> None:
    every = windows(sample)
    with CachingLoader(every, FIELDS, tail="pad", process=process) as loader:
        first = epochs(loader, 1)
        decoded = decoded_items(loader)
        assert decoded["image"] == 3 * len(every)
        later = epochs(loader, 2)
        assert decoded_items(loader) == decoded
        stats = loader.stats()
    assert (stats.samples_decoded, stats.samples_cached) == (len(every), 2 * len(every))
    with gl.Loader(every, FIELDS, batch_size=6, tail="pad") as plain:
        assert first + later == epochs(plain, 3)
    assert "67% of samples" in str(stats)


def test_what_does_not_fit_is_decoded_again(sample: Path, reference: list[list[Any]]) -> None:
    with CachingLoader(windows(sample), FIELDS) as loader:
        epochs(loader, 2)
        whole = loader.stats().cache_bytes
    assert whole > 0
    with CachingLoader(windows(sample), FIELDS, cache_bytes=whole // 2) as loader:
        assert epochs(loader, 2) == reference
        one = loader.stats()
        epochs(loader, 1)
        two = loader.stats()
    assert whole // 4 < one.cache_bytes <= whole // 2
    assert two.cache_bytes == one.cache_bytes
    assert 0 < two.samples_cached - one.samples_cached < 18
    assert two.samples_cached + two.samples_decoded == 54


def test_a_cache_without_room_keeps_nothing(sample: Path, reference: list[list[Any]]) -> None:
    with CachingLoader(windows(sample), FIELDS, cache_bytes=1) as loader:
        assert epochs(loader, 2) == reference
        assert loader.stats().cache_bytes == loader.stats().samples_cached == 0


def test_transforms_draw_anew_and_do_not_reach_what_is_kept(sample: Path) -> None:
    runs = []
    for cache in (None, "ram"):
        with gl.Loader(
            windows(sample), FIELDS, batch_size=6, transform=transforms.overwrite, cache=cache
        ) as loader:
            runs.append(epochs(loader, 3))
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[0][3]


@pytest.mark.parametrize("on_error", ["skip", "mask"])
def test_failures_are_the_same_in_every_epoch(broken: Path, on_error: Any) -> None:
    assert failing_windows(broken)
    runs = []
    for cache in (None, "ram"):
        with gl.Loader(
            windows(broken), FIELDS, batch_size=6, tail="pad", on_error=on_error, cache=cache
        ) as loader:
            held = epochs(loader, 3)
            runs.append((held, [(f.window, f.field, str(f.error)) for f in loader.failures]))
    assert runs[0] == runs[1] and len(runs[0][1]) >= 3


def test_resuming_fills_the_cache_from_there(sample: Path, reference: list[list[Any]]) -> None:
    with CachingLoader(windows(sample), FIELDS) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with CachingLoader(windows(sample), FIELDS) as fresh:
        fresh.load_state_dict(state)
        assert epochs(fresh, 2) == reference[1:]


def test_a_stopped_epoch_leaves_only_whole_samples(
    sample: Path, reference: list[list[Any]]
) -> None:
    with CachingLoader(windows(sample), FIELDS, prefetch=3, threads=3) as loader:
        for _ in range(6):
            for _ in loader:
                break
        state = {**loader.state_dict(), "epoch": 0, "batch": 0}
        loader.load_state_dict(state)
        assert epochs(loader, 2) == reference


@pytest.mark.parametrize("options", [{"cache": "disk"}, {"cache": "ram", "cache_bytes": -1}])
def test_wrong_options_are_refused(sample: Path, options: dict[str, Any]) -> None:
    with pytest.raises(gl.FieldError, match="cache"):
        gl.Loader(windows(sample), FIELDS, batch_size=2, **options)
