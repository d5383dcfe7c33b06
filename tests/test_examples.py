"""The examples run, and their own checks hold."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples"
RESUMED = "resumed in mid-epoch with the same losses"
TWO_RANKS = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]


@pytest.mark.parametrize(
    ("script", "launcher", "package", "printed"),
    [
        ("train_ddp.py", TWO_RANKS, "torch", RESUMED),
        ("train_accelerate.py", TWO_RANKS, "accelerate", RESUMED),
        ("train_lightning.py", [], "lightning", RESUMED),
        ("jax_batches.py", [], "jax", "float32"),
    ],
)
def test_example(script: str, launcher: list[str], package: str, printed: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install 'genlock[examples]'")
    command = [sys.executable, *launcher, str(FOLDER / script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr[-3000:]
    assert printed in done.stdout
