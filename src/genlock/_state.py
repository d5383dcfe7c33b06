"""Where a training loop is, as it is saved: a place in the order, and what decides the order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from operator import index
from typing import Any, NamedTuple

from genlock._numbers import whole_number
from genlock.errors import StateError, WindowError
from genlock.fields import Fields
from genlock.windows import Windows

STATE_VERSION = 1


class Position(NamedTuple):
    """How many batches of which epoch the user has received."""

    epoch: int
    batch: int


def identity(windows: Windows, fields: Fields, global_batch_size: int) -> dict[str, Any]:
    """Everything that decides which batches come: two loaders that share it can take turns."""
    text = repr([(name, field.fingerprint()) for name, field in fields.items()])
    return {
        "seed": windows.seed,  # first, since the fingerprint of windows holds it too
        "global_batch_size": global_batch_size,
        "fields": hashlib.sha256(text.encode()).hexdigest()[:16],
        "windows": windows.fingerprint(),
    }


def saved(position: Position, failures: int, identity: Mapping[str, Any]) -> dict[str, Any]:
    """A state, as `restored` reads it."""
    return {
        "version": STATE_VERSION,
        "epoch": position.epoch,
        "batch": position.batch,
        "failures": failures,
        **identity,
    }


def restored(state: Any, identity: Mapping[str, Any], steps: int) -> Position:
    """The place in a state; after the last of an epoch's `steps` batches, the next epoch.

    Raises StateError naming what differs from the loader that saved it.
    """
    if not isinstance(state, Mapping):
        raise StateError(f"a state is what state_dict gave, not a {type(state).__name__}")
    if state.get("version") != STATE_VERSION:
        raise StateError(f"state of version {state.get('version')}, expected {STATE_VERSION}")
    for name, value in identity.items():
        if state.get(name) != value:
            raise StateError(
                f"the state was saved with another {name.replace('_', ' ')}: "
                f"{state.get(name)}, here {value}"
            )
    epoch, batch = (_count_in(state, name) for name in ("epoch", "batch"))
    done = batch >= steps
    return Position(epoch + 1, 0) if done else Position(epoch, batch)


def _count_in(state: Mapping[str, Any], name: str) -> int:
    try:
        return whole_number(name, index(state[name]), 0)
    except (KeyError, TypeError, WindowError) as error:
        raise StateError(f"the state is damaged: its {name} is {state.get(name)!r}") from error
