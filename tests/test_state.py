"""States: what follows a load equals the run that was saved, and nothing else is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import genlock as gl
from loading import FIELDS, IMU, as_bytes, epochs, windows


def test_resumes_after_every_step_of_two_epochs(sample: Path, reference: list[list[Any]]) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=6, threads=2) as loader:
        assert len(loader) == 3
        states = [loader.state_dict()]
        for _ in range(2):
            for _ in loader:
                states.append(loader.state_dict())  # noqa: PERF401 - state inside the loop
    assert len(states) == 7
    for step, state in enumerate(states):
        with gl.Loader(windows(sample), FIELDS, batch_size=6, threads=1 + step % 3) as fresh:
            fresh.load_state_dict(state)
            rest = epochs(fresh, 3)
        assert rest[: len(reference) - step] == reference[step:]


def test_state_counts_what_was_received_not_what_was_prefetched(sample: Path) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=2, prefetch=5) as loader:
        iterator = iter(loader)
        next(iterator)
        next(iterator)
        state = loader.state_dict()
    assert (state["epoch"], state["batch"]) == (0, 2)
    assert all(isinstance(value, int | str) for value in state.values())


def test_a_break_begins_the_next_epoch_and_a_load_continues(sample: Path) -> None:
    with gl.Loader(windows(sample), {"imu": FIELDS["imu"]}, batch_size=6) as loader:
        for _ in loader:
            state = loader.state_dict()
            break
        assert loader.epoch == 0
        second = [batch.windows for batch in loader]
        assert loader.epoch == 1 and len(second) == 3
        loader.load_state_dict(state)
        assert len(list(loader)) == 2
        assert loader.epoch == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"seed": 4}, "another seed: 3, here 4"),
        ({"stride": 0.5}, "windows"),
        ({"fields": {"imu": gl.Sensor("imu", rate=50)}}, "fields"),
        ({"batch_size": 4}, "global batch size"),
    ],
)
def test_a_state_of_something_else_is_refused(
    sample: Path, change: dict[str, Any], named: str
) -> None:
    with gl.Loader(windows(sample), FIELDS, batch_size=6) as loader:
        state = loader.state_dict()
    fields, size = change.pop("fields", FIELDS), change.pop("batch_size", 6)
    with (
        gl.Loader(windows(sample, **change), fields, batch_size=size) as other,
        pytest.raises(gl.StateError, match=named),
    ):
        other.load_state_dict(state)


@pytest.mark.parametrize("shuffle", [False, True, "blocks"])
def test_ranks_share_the_windows_and_resume_on_other_world_sizes(
    sample: Path, shuffle: bool | str
) -> None:
    fields = {"imu": FIELDS["imu"]}
    lanes = {"lanes": 6, "block": 2} if shuffle == "blocks" else {}
    every = windows(sample, stride=0.25, shuffle=shuffle, **lanes)

    def run(world: int, state: dict[str, Any] | None) -> tuple[list[set[int]], dict[str, Any]]:
        """Windows of each global step, and the state after two steps."""
        steps: list[set[int]] = []
        for rank in range(world):
            shard = every.shard(rank, world)
            with gl.Loader(shard, fields, batch_size=12 // world) as loader:
                if state is not None:
                    loader.load_state_dict(state)
                for step, batch in enumerate(loader):
                    if step == len(steps):
                        steps.append(set())
                    indices = {window.index for window in batch.windows}
                    assert not steps[step] & indices
                    steps[step] |= indices
                    if step == 1 and rank == 0:
                        saved = loader.state_dict()
        return steps, saved if state is None else state

    whole, state = run(1, None)
    assert len(set().union(*whole)) == 12 * len(whole) >= 36
    for world in (2, 3):
        assert run(world, None)[0] == whole
        assert run(world, state)[0] == whole[2:]


def test_a_load_ends_the_iteration_that_runs(sample: Path) -> None:
    with gl.Loader(windows(sample), IMU, batch_size=4) as loader:
        running = iter(loader)
        first, second = as_bytes(next(running)), as_bytes(next(running))
        state = loader.state_dict() | {"batch": 0}
        loader.load_state_dict(state)
        with pytest.raises(gl.ClosedError, match="load_state_dict"):
            next(running)
        assert [as_bytes(batch) for batch in loader][:2] == [first, second]


@pytest.mark.parametrize(
    "damage",
    [{"batch": -1}, {"epoch": -1}, {"epoch": 2**80}, {"batch": "2"}, {"epoch": None}],
)
def test_a_damaged_state_is_refused(sample: Path, damage: dict[str, Any]) -> None:
    with gl.Loader(windows(sample), IMU, batch_size=4) as loader:
        state = loader.state_dict()
        with pytest.raises(gl.StateError, match="damaged"):
            loader.load_state_dict(state | damage)
        del state["batch"]
        with pytest.raises(gl.StateError, match="damaged"):
            loader.load_state_dict(state)
        with pytest.raises(gl.StateError, match="list"):
            loader.load_state_dict([state])  # type: ignore[arg-type]
