"""Alignment: which rows of a stream serve which grid times, and the values that come of it.

    grid()        field, window ─► the times to sample at
    plan()        grid, timeline ─► rows, weights, mask: nothing is decoded
    apply()       plan, rows' values ─► values at the grid times (apply_pose() for poses)
    plan_audio()  field, window ─► the run of samples that a window holds

Everything here is a pure function of its arguments on NumPy arrays, and thread-safe.
"""

from genlock.align._rows import (
    FOREVER_NS,
    Plan,
    grid,
    plan,
    plan_at,
    plan_field,
    plan_fields,
    together,
)
from genlock.align._sound import AudioPlan, plan_audio
from genlock.align._values import apply, apply_pose

__all__ = [
    "FOREVER_NS",
    "AudioPlan",
    "Plan",
    "apply",
    "apply_pose",
    "grid",
    "plan",
    "plan_at",
    "plan_audio",
    "plan_field",
    "plan_fields",
    "together",
]
