"""One short sample recording, shared by the tests of its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from genlock import samples

SECONDS = 3.4


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample of `SECONDS`, written once."""
    return samples.write(tmp_path_factory.mktemp("samples") / "walk", seconds=SECONDS)


@pytest.fixture
def seconds() -> float:
    """Length of `sample`."""
    return SECONDS
