"""Which code made an entry of the index, so that another version makes its own."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib import metadata
from pathlib import Path

READERS = ("av", "numpy", "soundfile")
"""Packages whose version changes what a file is found to hold."""


@cache
def code() -> str:
    """A name of the code that reads files: this package's, and the versions of its readers."""
    digest = hashlib.blake2b(digest_size=16)
    for folder, folders, files in os.walk(Path(__file__).parents[1]):
        folders.sort()
        for name in sorted(file for file in files if file.endswith(".py")):
            with open(f"{folder}/{name}", "rb", 0) as file:  # noqa: PTH123
                digest.update(file.read())
    for package in READERS:
        digest.update(f"{package} {metadata.version(package)}".encode())
    return digest.hexdigest()
