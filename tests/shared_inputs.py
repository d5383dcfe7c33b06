"""Where the shared cases and real recordings are."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def shared_folder(part: str) -> Path:
    return Path(os.environ.get("GENLOCK_SHARED", ROOT.parent / "shared")) / part


def shared_files(part: str, *patterns: str) -> list[Path]:
    """Files and folders of "real" or "cases" by patterns, to parametrize tests; [] without them."""
    return [path for pattern in patterns for path in sorted(shared_folder(part).glob(pattern))]
