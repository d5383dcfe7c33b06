"""Fixtures that every test may use: where the shared cases and real recordings are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from shared_inputs import shared_folder

# A busy machine must not fail a property.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def _shared(part: str) -> Path:
    folder = shared_folder(part)
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"{folder} is missing: CI needs the shared recordings")
        pytest.skip(f"{folder} is not on this machine (set GENLOCK_SHARED to where it is)")
    return folder


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An index of the run's own, so that no test meets what another run has kept."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GENLOCK_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def real() -> Path:
    """Folder of real recordings."""
    return _shared("real")


@pytest.fixture(scope="session")
def cases() -> Path:
    """Folder of small inputs with known right values."""
    return _shared("cases")


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample recording, written once per run."""
    from genlock import samples

    return samples.write(tmp_path_factory.mktemp("recordings") / "sample")
