"""A progress bar for training loops: how far, how fast, how long the loop waits for data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tqdm.auto import tqdm

from genlock.batch import Batch
from genlock.stats import Tally


def with_bar(
    batches: Iterator[Batch], tally: Tally, first: int, total: int, options: dict[str, Any]
) -> Iterator[Batch]:
    """Pass batches on under a bar with windows/s and the share of time spent waiting.

    first: batches of the epoch that were received before. options: of tqdm; by default the bar
    shows on a terminal only.
    """
    shown = {"desc": "training", "unit": "batch", "disable": None, **options}
    windows, waited_s = tally.windows, tally.waited_s
    with tqdm(initial=first, total=total, **shown) as bar:
        for batch in batches:
            yield batch
            elapsed = bar.format_dict["elapsed"] or 0.0
            if elapsed:
                rate = (tally.windows - windows) / elapsed
                share = (tally.waited_s - waited_s) / elapsed
                bar.set_postfix_str(f"{rate:.1f} windows/s, waited {share:.0%}", refresh=False)
            bar.update()
