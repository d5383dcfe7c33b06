"""Peak memory of a loader above the interpreter's, epoch by epoch (goal P9).

    python benchmarks/memory.py [--epochs 4]

Each kind of loader runs in a fresh interpreter. Peak resident memory (VmHWM, reset before each
epoch) of this process and of the child, above that of an interpreter that has imported the same;
memory that both map counts twice. The budget: batches ahead and the one in use, the cache, and
200 MB besides, decoders included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

KINDS: dict[str, dict[str, Any]] = {
    "in process": {},
    "process=True": {"process": True},
    'cache="ram"': {"cache": "ram", "cache_bytes": 200_000_000},
    "both": {"process": True, "cache": "ram", "cache_bytes": 200_000_000},
}


def peak_mb(pid: int | str = "self") -> float:
    """Highest resident memory of a process since `forget_peak`."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e3


def forget_peak(pid: int | str = "self") -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def run(options: dict[str, Any], epochs: int) -> None:
    """Print the peak above the interpreter's in each epoch, and the budget, in MB."""
    import torch  # noqa: F401  # part of the interpreter's memory

    import genlock as gl
    import genlock.device
    from genlock import samples

    fields = {
        "rgb": gl.Video("camera-rgb", rate=10, size=(224, 224)),
        "depth": gl.Depth("depth", at="rgb"),
        "audio": gl.Audio("audio", rate=16_000, channels=1),
        "imu": gl.Sensor("imu", rate=200),
    }
    windows = gl.Windows(samples.sample_folder(), duration=2.0, stride=0.2, shuffle=True)
    own = peak_mb()
    child = "import genlock._child; print(open('/proc/self/status').read())"
    status = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout
    childs = int(status.partition("VmHWM:")[2].split()[0]) / 1e3
    peaks = []
    with gl.Loader(windows, fields, batch_size=4, **options) as loader:
        processes: list[tuple[int, float]] = [(os.getpid(), own)]
        if options.get("process"):
            processes.append((loader._workers.pid, childs))
        for _ in range(epochs):
            for pid, _ in processes:
                forget_peak(pid)
            for batch in loader:
                size = sum(tensor.nbytes for tensor in batch.tensors()) / 1e6
                del batch
            peaks.append(sum(peak_mb(pid) - base for pid, base in processes))
        ahead = size * (loader.stats().queue_capacity + 2) * len(processes)
    cache = options.get("cache_bytes", 0) / 1e6
    print(json.dumps({"peaks": peaks, "budget": ahead + cache + 200}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--kind", choices=KINDS)
    chosen = parser.parse_args()
    if chosen.kind:
        run(KINDS[chosen.kind], chosen.epochs)
        return
    print(f"{'':<14} {'budget MB':>9}  peak MB above the interpreter's, by epoch")
    for kind in KINDS:
        command = [sys.executable, __file__, "--kind", kind, "--epochs", str(chosen.epochs)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        peaks = "  ".join(f"{peak:6.0f}" for peak in found["peaks"])
        print(f"{kind:<14} {found['budget']:>9.0f}  {peaks}", flush=True)


if __name__ == "__main__":
    main()
