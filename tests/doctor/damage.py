"""Makes recordings with one thing wrong from the sample, so that one check has to speak."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Change = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def copy_of(sample: Path, folder: Path) -> Path:
    """A copy of the sample that a test may damage."""
    return Path(shutil.copytree(sample, folder / "damaged"))


def replace_text(path: Path, old: str, new: str) -> None:
    """Change a file's text; the old one has to be there."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def change_csv(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines below a table's header."""
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *change(rows), ""]))


def scale_columns(path: Path, columns: slice, factor: float) -> None:
    """Multiply columns of a CSV, counted with that of the times."""

    def scaled(row: str) -> str:
        cells = row.split(",")
        cells[columns] = [repr(float(cell) * factor) for cell in cells[columns]]
        return ",".join(cells)

    change_csv(path, lambda rows: [scaled(row) for row in rows])


def change_parquet(path: Path, **changes: Change) -> None:
    """Pass columns of a Parquet file through functions."""
    table = pq.read_table(path)
    columns = {name: table[name].to_numpy() for name in table.column_names}
    columns |= {name: change(columns[name]) for name, change in changes.items()}
    pq.write_table(pa.table(columns), path)
