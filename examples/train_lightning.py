"""Training with Lightning: the loader is the dataloader, its state travels in the checkpoint.

python examples/train_lightning.py
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import lightning
import torch
from common import FIELDS, Model, Waiting, check_same, make_windows

import genlock as gl

BATCH, CHECKPOINT_AT = 4, 3


class Module(lightning.LightningModule):
    """The model, and the loader whose state is saved with it."""

    def __init__(self, loader: gl.Loader) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.model = Model()
        self.loader = loader
        self.losses: list[float] = []
        self.seen: list[int] = []

    def training_step(self, batch: gl.Batch, index: int) -> torch.Tensor:
        loss = self.model(batch)
        self.losses.append(loss.item())
        self.seen += [window.index for window in batch.windows]
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), 0.01)


class Checkpoint(lightning.Callback):
    """Saves in mid-epoch; Lightning prefetches a batch, so the count is taken from the step."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.loader_state: dict[str, Any] = {}

    def on_train_batch_end(self, trainer: lightning.Trainer, module: Module, *_: Any) -> None:
        if len(module.losses) == CHECKPOINT_AT:
            self.loader_state = module.loader.state_dict() | {"batch": CHECKPOINT_AT}
            torch.save([module.model.state_dict(), self.loader_state], self.path)


class Batches:
    """One pass over a loader, timed."""

    def __init__(self, loader: gl.Loader, steps: int) -> None:
        self.loader, self.steps, self.waiting = loader, steps, Waiting()

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Any:
        self.waiting = Waiting()
        return self.waiting.over(self.loader)


def fit(module: Module, steps: int, *callbacks: lightning.Callback) -> None:
    trainer = lightning.Trainer(
        accelerator="auto",
        devices=1,
        max_epochs=1,
        callbacks=list(callbacks),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    batches = Batches(module.loader, steps)
    trainer.fit(module, batches)
    print(batches.waiting)


def main() -> None:
    warnings.filterwarnings("ignore", module="lightning")
    windows = make_windows()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint.pt"
        with gl.Loader(windows, FIELDS, batch_size=BATCH) as loader:
            whole = Module(loader)
            fit(whole, len(loader), Checkpoint(path))
        weights, state = torch.load(path)
        with gl.Loader(windows, FIELDS, batch_size=BATCH) as loader:
            loader.load_state_dict(state)
            rest = Module(loader)
            rest.model.load_state_dict(weights)
            fit(rest, len(loader) - CHECKPOINT_AT)
    check_same(rest.losses, whole.losses[CHECKPOINT_AT:])
    assert len(set(whole.seen)) == len(whole.seen) == len(loader) * BATCH
    assert rest.seen == whole.seen[CHECKPOINT_AT * BATCH :]
    print(f"{len(whole.losses)} steps, {len(whole.seen)} windows, each once")
    print("resumed in mid-epoch with the same losses")


if __name__ == "__main__":
    main()
