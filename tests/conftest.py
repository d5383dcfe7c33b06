"""Fixtures that every test may use: where the shared cases and real recordings are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="session")
def reference(sample: Path) -> list[list[Any]]:
    """What two epochs of a loader hold, from one thread."""
    from genlock.loader import Loader  # as it is, whatever a test puts in place of gl.Loader
    from loading import FIELDS, epochs, windows

    with Loader(windows(sample), FIELDS, batch_size=6, threads=1) as loader:
        return epochs(loader, 2)


@pytest.fixture
def broken(sample: Path, tmp_path: Path) -> Iterator[Path]:
    """The sample with two depth files cut short."""
    folder = tmp_path / "broken"
    folder.mkdir()
    for entry in sample.iterdir():
        if entry.name != "depth":
            (folder / entry.name).write_bytes(entry.read_bytes())
    (folder / "depth").mkdir()
    for i, picture in enumerate(sorted((sample / "depth").iterdir())):
        data = picture.read_bytes()
        (folder / "depth" / picture.name).write_bytes(data[: len(data) // 2] if i == 66 else data)
    yield folder
