"""Making the index ahead, for whole data sets and on several processes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context

from tqdm.auto import tqdm

from genlock.collection import recordings
from genlock.errors import GenlockError, OpenError
from genlock.index import Index
from genlock.interfaces import OpenOptions
from genlock.location import Location

WORTH_A_PROCESS = 64
"""Recordings that take as long to open as a process takes to start."""


def index_all(paths: Iterable[str], jobs: int | None = None) -> Iterator[GenlockError]:
    """Open all recordings below paths once, so that the index knows them; gives what fails.

    jobs: processes (default: one for each processor, if there is work for them). With a progress
    bar. Raises OpenError if the index is off or cannot be written.
    """
    folder = Index.of_user().folder
    if folder is None:
        raise OpenError("the index is off: unset GENLOCK_INDEX, or set GENLOCK_CACHE to a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OpenError(f"the index cannot be written: {error}; set GENLOCK_CACHE") from error
    found = [uri for path in paths for uri in recordings(path)]
    wanted = jobs or os.cpu_count() or 1
    with _mapped(found, min(wanted, len(found) // WORTH_A_PROCESS)) as outcomes:
        bar = tqdm(outcomes, "index", len(found), unit="", disable=None)
        yield from (failure for failure in bar if failure is not None)


@contextmanager
def _mapped(uris: list[str], jobs: int) -> Iterator[Iterator[GenlockError | None]]:
    if jobs < 2:
        yield map(index_one, uris)
        return
    with get_context("spawn").Pool(jobs) as pool:
        yield pool.imap_unordered(index_one, uris, chunksize=8)


def index_one(uri: str) -> GenlockError | None:
    """Open one recording with the index; the error if it cannot be opened."""
    try:
        Index.of_user().open(Location(uri), OpenOptions()).close()
    except GenlockError as error:
        return error
    return None
