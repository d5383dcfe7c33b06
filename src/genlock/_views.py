"""What recordings and samples show of themselves: the one door upwards, to `genlock.notebook`.

Drawing stands on top of what it draws, so this module imports it only when something is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from genlock._nanoseconds import Seconds
from genlock.fields import Fields

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from genlock.batch import Sample
    from genlock.notebook import Player
    from genlock.recording import Recording


class SampleViews:
    """How a `Sample` shows itself."""

    def plot(self) -> Figure:
        """Everything on one time axis with grid times and masks: `genlock.notebook.plot`."""
        from genlock import notebook

        return notebook.plot(cast("Sample", self))

    def play(self) -> Player:
        """Its pictures with sound over its traces: `genlock.notebook.play`."""
        from genlock import notebook

        return notebook.play(cast("Sample", self))

    def _repr_html_(self) -> str | None:
        from genlock import notebook

        return notebook.sample_html(cast("Sample", self))


class RecordingViews:
    """How a `Recording` shows itself."""

    def browse(
        self,
        fields: Fields | None = None,
        *,
        duration: Seconds = 2.0,
        stride: Seconds | None = None,
        start_ns: int | None = None,
        limit: int = 12,
    ) -> Player:
        """Windows to move through: `genlock.notebook.browse` says how."""
        from genlock import notebook

        recording = cast("Recording", self)
        return notebook.browse(
            recording, fields, duration=duration, stride=stride, start_ns=start_ns, limit=limit
        )

    def _repr_html_(self) -> str:
        from genlock import notebook

        return notebook.recording_html(cast("Recording", self))
