"""P9: memory over epochs: within the budgets, and flat from the second epoch on."""

from __future__ import annotations

import psutil

import inputs
import peers
from harness import Batches

TITLE = "peak memory of three epochs of the whole job, 64 MB cache, 16 decoders"
UNIT = "windows"
CACHE, DECODERS, DECODER_MB, PREFETCH = 64 * 10**6, 16, 20, 2


def prepare(quick: bool) -> list[str]:
    return [str(path) for path in inputs.recordings(2, 60)]


def genlock(work: list[str], extra: dict[str, float]) -> Batches:
    import genlock as gl

    fields = {
        "rgb": gl.Video("rgb", rate=10, size=(224, 224)),
        "audio": gl.Audio("mic", rate=16_000, channels=1),
        "imu": gl.Sensor("imu", rate=200),
    }
    windows = gl.Windows(work, duration=2.0, stride=0.5, shuffle="blocks", lanes=8, block=16)
    options = {"cache_bytes": CACHE, "decoders": DECODERS, "prefetch": PREFETCH}
    own = psutil.Process()
    before = own.memory_info().rss
    yield peers.BATCH, None
    with gl.Loader(windows, fields, batch_size=peers.BATCH, **options) as loader:
        peaks = []
        for _ in range(3):
            peaks.append(0)
            for batch in loader:
                peaks[-1] = max(peaks[-1], own.memory_info().rss - before)
                nbytes = sum(tensor.nbytes for tensor in batch.tensors())
                budget = CACHE + DECODERS * DECODER_MB * 10**6 + (PREFETCH + 2) * nbytes
                extra["over the budget MB"] = (max(peaks) - budget) / 1e6
                if len(peaks) == 3:
                    extra["third epoch over second MB"] = (peaks[2] - peaks[1]) / 1e6
                yield len(batch.windows), None


def _extra(name: str) -> object:
    return lambda results: (results["genlock"].extra or {})[name]


CONTESTANTS = {"genlock": genlock}
LONGER = {"genlock": 40.0}
GOALS = [
    ("MB over the budgets, at most 200", _extra("over the budget MB"), 200.0),
    ("MB that the third epoch adds, at most 20", _extra("third epoch over second MB"), 20.0),
]
