"""Distributed data-parallel training; each rank loads its own share of every global batch.

    torchrun --nproc-per-node 2 examples/train_ddp.py

On CPUs it uses gloo, on GPUs nccl with one process for each. It checks that the ranks' windows
are disjoint and complete, that all take the same number of steps, and that a checkpoint taken in
the middle of an epoch resumes with the same losses.
"""

from __future__ import annotations

import copy
import os
from typing import Any

import torch
import torch.distributed as dist
from common import FIELDS, Model, Waiting, check_same, make_windows
from torch.nn.parallel import DistributedDataParallel

import genlock as gl

BATCH, CHECKPOINT_AT = 4, 2


def train(
    loader: gl.Loader, state: dict[str, Any] | None, device: torch.device
) -> tuple[list[float], list[int], dict[str, Any]]:
    """One epoch, or the rest of it after `state`: losses, window indices, a checkpoint."""
    torch.manual_seed(0)
    model = DistributedDataParallel(Model().to(device))
    optimiser = torch.optim.SGD(model.parameters(), 0.01)
    if state is not None:
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        loader.load_state_dict(state["loader"])
    losses, seen, checkpoint = [], [], {}
    waiting = Waiting()
    for batch in waiting.over(loader):
        loss = model(batch)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        seen += [window.index for window in batch.windows]
        if state is None and len(losses) == CHECKPOINT_AT:
            parts = {"model": model, "optimiser": optimiser, "loader": loader}
            checkpoint = {k: copy.deepcopy(part.state_dict()) for k, part in parts.items()}
    if dist.get_rank() == 0:
        print(waiting)
    return losses, seen, checkpoint


def main() -> None:
    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    windows = make_windows().shard()
    with gl.Loader(windows, FIELDS, batch_size=BATCH, device=device) as loader:
        losses, seen, checkpoint = train(loader, None, device)
    with gl.Loader(windows, FIELDS, batch_size=BATCH, device=device) as loader:
        resumed, _, _ = train(loader, checkpoint, device)
    check_same(resumed, losses[CHECKPOINT_AT:])
    everyone: list[Any] = [None] * world
    dist.all_gather_object(everyone, seen)
    union = [index for part in everyone for index in part]
    assert len(set(union)) == len(union), "two ranks loaded the same window"
    assert {len(part) for part in everyone} == {len(loader) * BATCH}, "ranks differ in steps"
    assert len(union) == len(loader) * loader.global_batch_size
    if rank == 0:
        print(f"{world} ranks, {len(losses)} steps each, {len(union)} windows, each once")
        print("resumed in mid-epoch with the same losses")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
