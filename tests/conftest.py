"""Fixtures that every test may use: where the shared cases and real recordings are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine must not fail a property.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parent.parent


def _shared(part: str) -> Path:
    folder = Path(os.environ.get("GENLOCK_SHARED", ROOT.parent / "shared")) / part
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"{folder} is missing: CI needs the shared recordings")
        pytest.skip(f"{folder} is not on this machine (set GENLOCK_SHARED to where it is)")
    return folder


@pytest.fixture(scope="session")
def real() -> Path:
    """Folder of real recordings."""
    return _shared("real")


@pytest.fixture(scope="session")
def cases() -> Path:
    """Folder of small inputs with known right values."""
    return _shared("cases")
