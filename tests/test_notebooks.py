"""The notebooks run from top to bottom, and are committed without outputs."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code), "clear the outputs"
    NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
    shown = {kind for cell in code for output in cell.outputs for kind in output.get("data", {})}
    assert {"text/plain", "text/html"} <= shown


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS
