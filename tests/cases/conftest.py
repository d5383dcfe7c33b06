"""What the tests of cases share: the inputs, their truth reader, the marker that names a row."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "case(*ids): the rows of CASES.tsv that a test asserts")


@pytest.fixture(scope="session")
def inputs(cases: Path) -> Path:
    """Folder of the shared small files."""
    return cases / "inputs"


@pytest.fixture(scope="session")
def truth(cases: Path) -> ModuleType:
    """The reader of what is drawn into pictures and sound: `frame_index`, `chirp_starts`."""
    spec = importlib.util.spec_from_file_location("cases_truth", cases / "truth.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
