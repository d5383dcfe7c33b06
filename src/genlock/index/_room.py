"""A bound on what the index takes: the entries that were used longest ago go.

Entries lie in 256 folders by their hash, so each folder may hold its part of the bytes, and only
the one that an entry is written to need be looked through. When an entry was used is its time of
change, which is renewed once a day.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 4 << 30
"""Unless GENLOCK_INDEX_BYTES says otherwise. An hour of video at 30 fps takes some 5 MB."""
FOLDERS = 256
DAY_S = 86_400


def note_use(file: str | Path) -> None:
    """Note that an entry was used today."""
    with suppress(OSError):  # another process removed it, or may write and this one not
        if time.time() - os.stat(file).st_mtime > DAY_S:  # noqa: PTH116
            os.utime(file)


def make_room(file: Path) -> None:
    """Remove what was used longest ago beside an entry until the folder is within its part.

    The entry itself stays, whatever its size. Safe between processes.
    """
    stated = os.environ.get("GENLOCK_INDEX_BYTES", "")
    limit = int(stated) if stated.isdecimal() else MOST_BYTES
    found = []
    with suppress(OSError), os.scandir(file.parent) as entries:
        stats = [(entry.stat(), entry.path) for entry in entries if entry.name.endswith(".index")]
        found = [(stat.st_mtime_ns, stat.st_size, path) for stat, path in stats]
    excess = sum(size for _, size, _ in found) - limit // FOLDERS
    for _, size, path in sorted(found):
        if excess > 0 and path != str(file):
            with suppress(OSError):
                Path(path).unlink()
            excess -= size
