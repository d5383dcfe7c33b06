"""Delivery to a GPU: bytes, bandwidth, overlap, step time. Run with `make bench-gpu`.

Prints, with device, driver and date: bytes over the bus per batch for RGB and YUV; the copy's
bandwidth against a plain pinned copy of the same size; the share of copy time hidden behind steps
of 20, 50 and 100 ms; the step time against one cached batch, pinned and pageable; the calls within
`next` that make the host wait, from a profiler's trace; the time of colour on the device; and
what decoding in software and on the GPU delivers, with the CPU that it takes.
"""

from __future__ import annotations

import datetime
import itertools
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import torch

import genlock as gl
from genlock import samples
from genlock.color import to_rgb
from gpu_waits import waits_of

SIZE, STEPS, BATCH = (224, 224), 16, 8


def fields(color: str) -> dict[str, gl.Video]:
    return {"rgb": gl.Video("camera-rgb", rate=STEPS, size=SIZE, color=color)}  # type: ignore[arg-type]


def windows() -> gl.Windows:
    path = samples.sample_folder()
    return gl.Windows(path, over=["camera-rgb"], duration=1.0, stride=0.05, shuffle=True)


def busy_step(milliseconds: float) -> Callable[[], None]:
    """Work on the current stream that takes about this long."""
    a = torch.randn(2048, 2048, device="cuda")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(20):
        torch.mm(a, a)
    start.record()
    for _ in range(50):
        torch.mm(a, a)
    end.record()
    end.synchronize()
    count = max(1, round(milliseconds / (start.elapsed_time(end) / 50)))

    def step() -> None:
        for _ in range(count):
            torch.mm(a, a)

    return step


def timed(run: Callable[[], None], repeats: int = 30) -> float:
    """Median milliseconds of `run`, the device included."""
    samples_ms = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        samples_ms.append((time.perf_counter() - start) * 1e3)
    return statistics.median(samples_ms)


def plain_copy_ms(nbytes: int, pinned: bool) -> float:
    host = torch.empty(nbytes, dtype=torch.uint8, pin_memory=pinned)
    device = torch.empty(nbytes, dtype=torch.uint8, device="cuda")
    return timed(lambda: device.copy_(host, non_blocking=True))


def print_waits(color: str) -> None:
    """The host's waits per batch, once memory of every size has been made."""
    batches, warm = 20, 5
    with gl.Loader(windows(), fields(color), batch_size=BATCH, device="cuda") as loader:
        iterator = iter(loader)
        for _ in range(warm):
            next(iterator)
        waits = waits_of(iterator, batches)
    listed = ", ".join(f"{name} {count}" for name, count in waits.items()) or "none"
    print(f"{color:<7} waits of the host in {batches} batches: {listed}")


def pictures(folder: Path, count: int = 200) -> gl.Windows:
    """Windows over JPEGs of 1280x720, 30 a second."""
    (folder / "cam").mkdir()
    random = np.random.default_rng(0)
    for number in range(count):
        coarse = random.integers(0, 256, (45, 80, 3), np.uint8)
        picture = cv2.resize(coarse, (1280, 720), interpolation=cv2.INTER_CUBIC)
        cv2.imwrite(str(folder / f"cam/{number:04}.jpg"), picture)
    declared = '[streams.camera-rgb]\nkind = "video"\npath = "cam/*.jpg"\ntime = { rate = 30.0 }\n'
    (folder / "recording.toml").write_text(declared)
    return gl.Windows(folder, duration=1.0, stride=0.05, shuffle=True)


def print_decoders(over: gl.Windows, color: str, names: tuple[str, ...]) -> None:
    """Windows per second and CPU ms per window by each decoder that this machine has."""
    for name in names:
        field = gl.Video("camera-rgb", rate=STEPS, size=SIZE, color=color, decoder=name)  # type: ignore[arg-type]
        try:
            loader = gl.Loader(over, {"rgb": field}, batch_size=BATCH, device="cuda", cache_bytes=0)
        except gl.GenlockError as error:
            print(f"decoder {name}: {error}")
            continue
        with loader:
            next(iterator := iter(loader))
            wall, cpu, count = time.perf_counter(), time.process_time(), 0
            for batch in iterator:
                count += len(batch.windows)
            torch.cuda.synchronize()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(
            f"decoder {name}: {count / wall:.1f} windows/s, {cpu / count * 1e3:.0f} ms of CPU each"
        )


def epoch_ms(color: str, step_ms: float, pinned: bool) -> tuple[float, float, int]:
    """Milliseconds per step with the loader, with one cached batch, and bytes per batch."""
    step = busy_step(step_ms)
    with gl.Loader(
        windows(), fields(color), batch_size=BATCH, device="cuda", pin_memory=pinned, prefetch=4
    ) as loader:
        times = []
        for _ in range(2):
            for _batch in loader:
                torch.cuda.synchronize()
                times.append(time.perf_counter())
                step()
        per_step = statistics.median(b - a for a, b in itertools.pairwise(times)) * 1e3
        nbytes = loader.stats().bytes // loader.stats().batches
    return per_step, timed(step), nbytes


def main() -> None:
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    print(f"{torch.cuda.get_device_name()}, driver {driver}, {datetime.date.today()}")
    for color in ("rgb", "device"):
        lines = SIZE[0] * (3 if color == "rgb" else 1.5)
        nbytes = int(BATCH * STEPS * lines * SIZE[1])
        for pinned in (True, False):
            copy = plain_copy_ms(nbytes, pinned)
            kind = "pinned" if pinned else "pageable"
            print(f"{color:<7} {kind:<8} {nbytes / 1e6:7.2f} MB, plain copy {copy:6.2f} ms")
            for step_ms in (20, 50, 100):
                with_loader, cached, sent = epoch_ms(color, step_ms, pinned)
                hidden = 1 - max(0.0, with_loader - cached) / copy
                print(
                    f"  step {step_ms:>3} ms: {with_loader:7.2f} ms with the loader, "
                    f"{cached:7.2f} ms cached, {max(0.0, hidden):.0%} of the copy hidden, "
                    f"{sent / 1e6:.2f} MB of values a batch"
                )
        print_waits(color)
    planes = torch.zeros(BATCH, STEPS, SIZE[0] * 3 // 2, SIZE[1], dtype=torch.uint8, device="cuda")
    matrix = torch.rand(BATCH, 3, 4, device="cuda")
    print(f"colour on the device: {timed(lambda: to_rgb(planes, matrix)):.3f} ms")
    print_decoders(windows(), "device", ("ffmpeg", "nvdec"))
    with tempfile.TemporaryDirectory() as folder:
        print_decoders(pictures(Path(folder)), "rgb", ("auto", "dali"))


if __name__ == "__main__":
    if torch.cuda.is_available():
        main()
    else:
        print("no CUDA device here: nothing was measured")
