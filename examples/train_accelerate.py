"""Training with Hugging Face Accelerate: it prepares the model, the loader needs no preparing.

accelerate launch --num-processes 2 --cpu examples/train_accelerate.py
python examples/train_accelerate.py
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from common import FIELDS, Model, Waiting, check_same, make_windows

import genlock as gl

BATCH, CHECKPOINT_AT = 4, 2


def train(
    accelerator: Accelerator, loader: gl.Loader, state: dict[str, Any] | None
) -> tuple[list[float], list[int], dict[str, Any]]:
    """One epoch, or the rest of it after `state`: losses, window indices, a checkpoint."""
    torch.manual_seed(0)
    model = Model()
    if state is not None:
        model.load_state_dict(state["model"])
        loader.load_state_dict(state["loader"])
    model, optimiser = accelerator.prepare(model, torch.optim.SGD(model.parameters(), 0.01))
    losses, seen, checkpoint = [], [], {}
    waiting = Waiting()
    for batch in waiting.over(loader):
        loss = model(batch)
        accelerator.backward(loss)
        optimiser.step()
        optimiser.zero_grad()
        losses.append(loss.item())
        seen += [window.index for window in batch.windows]
        if state is None and len(losses) == CHECKPOINT_AT:
            weights = accelerator.unwrap_model(model).state_dict()
            checkpoint = {"model": copy.deepcopy(weights), "loader": loader.state_dict()}
    accelerator.print(waiting)
    return losses, seen, checkpoint


def main() -> None:
    accelerator = Accelerator()
    rank, world = accelerator.process_index, accelerator.num_processes
    windows = make_windows().shard(rank, world)
    runs = []
    state = None
    for _ in range(2):
        with gl.Loader(windows, FIELDS, batch_size=BATCH, device=accelerator.device) as loader:
            losses, seen, checkpoint = train(accelerator, loader, state)
        runs.append((losses, seen))
        state = state or checkpoint
    (losses, seen), (resumed, _) = runs
    check_same(resumed, losses[CHECKPOINT_AT:])
    steps, union = gather_object([len(losses)]), gather_object(seen)
    assert set(steps) == {len(loader)}, "ranks differ in steps"
    assert len(set(union)) == len(union) == len(loader) * loader.global_batch_size
    accelerator.print(f"{world} ranks, {len(losses)} steps each, {len(union)} windows, each once")
    accelerator.print("resumed in mid-epoch with the same losses")


if __name__ == "__main__":
    main()
