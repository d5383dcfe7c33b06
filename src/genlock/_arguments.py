"""`work_of`: the arguments of a loader, checked, as `Work`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real
from operator import index
from typing import Any, Literal, get_args

from genlock._field_order import check_fields
from genlock._work import Transform, Work
from genlock.decoders import require_decoders
from genlock.errors import FieldError, WindowError
from genlock.fields import Fields, Video
from genlock.stats import thread_counts
from genlock.windows import Windows

OnError = Literal["raise", "skip", "mask"]


def work_of(
    windows: Windows,
    fields: Fields,
    *,
    batch_size: int,
    transform: Transform | None,
    on_error: OnError,
    threads: Mapping[str, int] | int | None,
    prefetch: int,
    cache_bytes: int,
    decoders: int | None,
    tail: str,
    cache: str | None,
) -> Work:
    """What workers have to know; see `Loader`.

    Raises FieldError, WindowError; warns of windows that make no batch.
    """
    if not isinstance(windows, Windows):
        raise WindowError(f"a loader takes genlock.Windows, not a {type(windows).__name__}")
    batch_size = _at_least("batch_size", batch_size, 1)
    prefetch = _at_least("prefetch", prefetch, 1)
    cache_bytes = _at_least("cache_bytes", cache_bytes, 0)
    if decoders is not None:
        decoders = _at_least("decoders", decoders, 1)
    _check_choices(transform, on_error, tail, cache)
    check_fields(fields)
    require_decoders(decoders_of(fields))
    return Work(
        windows,
        dict(fields),
        batch_size,
        _steps(windows, batch_size * windows.world_size, tail),
        transform,
        on_error,
        thread_counts(threads),
        prefetch,
        cache_bytes,
        cache is not None,
        decoders,
    )


def _check_choices(
    transform: Transform | None, on_error: OnError, tail: str, cache: str | None
) -> None:
    if transform is not None and not callable(transform):
        raise FieldError(f"transform is called with (sample, rng): {transform!r} cannot be")
    if cache not in (None, "ram"):
        raise FieldError(f"cache is None or 'ram', not {cache!r}")
    if on_error not in get_args(OnError):
        raise FieldError(f"on_error {on_error!r} is not one of {get_args(OnError)}")
    if tail not in ("drop", "pad"):
        raise FieldError(f"tail {tail!r} is not 'drop' or 'pad'")


def decoders_of(fields: Fields) -> list[str]:
    """The decoders that fields name."""
    return [field.decoder for field in fields.values() if isinstance(field, Video)]


def check_failures(most: Any) -> None:
    """Raise FieldError for anything but a number of at least 0, or None."""
    if most is not None and not (isinstance(most, Real) and float(most) >= 0):
        raise FieldError(f"max_failures is a number or a fraction of at least 0, not {most!r}")


def _at_least(name: str, value: Any, least: int) -> int:
    """A whole number. Raises FieldError for anything else, and for less."""
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise FieldError(f"{name} is a whole number of at least {least}, not {value!r}")
    return number


def _steps(windows: Windows, size: int, tail: str) -> int:
    """Batches in an epoch; warns where there is none, since a loop over it just ends."""
    whole, rest = divmod(windows.total, size)
    steps = whole + (1 if rest and tail == "pad" else 0)
    if not windows.total:
        why = (
            "there are no windows: recordings are shorter than the duration, their streams have "
            "too little time in common (over=[…] names those that should), or a filter kept none"
        )
    else:
        why = (
            f"{windows.total} windows do not fill one global batch of {size}: ask for smaller "
            "batches, or tail='pad'"
        )
    if not steps:
        warnings.warn(f"this loader has no batch: {why}", stacklevel=4)
    return steps
