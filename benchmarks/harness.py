"""Runs the contestants of a benchmark side by side: each in a process of its own, in turns.

A benchmark is a module `pN_*.py` that holds

    TITLE, UNIT     what is done, and what is counted
    prepare(quick)  the work, made before anything is timed
    CONTESTANTS     name → function of the work that yields (items, frames or None) per batch
    GOALS           (sentence, function of the results that gives a ratio, the ratio to reach)
    LONGER          name → seconds, for contestants whose pace settles late (default: none)

Time and CPU seconds are counted from the first batch on, children included; memory is the peak of
the process tree above the bare interpreter's, libraries included. The first contestant's frames are
what the others' must be.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "out" / "bench"
POLL_SECONDS = 0.05
Results = Mapping[str, "Result"]
Batches = Iterator[tuple[int, Any]]


@dataclass(frozen=True)
class Result:
    """Medians over the rounds of one contestant. missing: why it did not run, else ""."""

    rate: float = 0.0
    cpu_ms: float = 0.0
    peak_mb: float = 0.0
    rates: tuple[float, ...] = ()
    same_frames: float | None = None
    extra: Mapping[str, float] | None = None
    missing: str = ""


def measure(module: str, name: str, quick: bool, seconds: float, keep: Path) -> dict[str, Any]:
    """Run one contestant in this process."""
    benchmark = importlib.import_module(module)
    work = benchmark.prepare(quick)
    extra: dict[str, float] = {}
    batches: Batches = benchmark.CONTESTANTS[name](work, extra)
    own = psutil.Process().memory_info().rss
    started, frames = next(batches)
    if frames is not None:
        np.save(keep, np.asarray(frames))
    items, wall, cpu = 0, time.perf_counter(), tree_cpu()
    for count, _ in batches:
        items += count
        if time.perf_counter() - wall > seconds:
            break
    wall, cpu = time.perf_counter() - wall, tree_cpu() - cpu
    batches.close()  # type: ignore[attr-defined]
    if not items:
        raise RuntimeError(f"only one batch ({started} items): the work is too small")
    return {"items": items, "wall": wall, "cpu": cpu, "own": own, "extra": extra}


def tree_cpu() -> float:
    """CPU seconds of this process and its children, the ended ones included."""
    own = psutil.Process()
    times = own.cpu_times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in own.children(recursive=True):
        used = child.cpu_times()
        total += used.user + used.system
    return float(total)


def run_apart(module: str, name: str, quick: bool, seconds: float, keep: Path) -> dict[str, Any]:
    """Run one contestant in a fresh process and watch the memory of its tree."""
    command = [sys.executable, __file__, module, "--one", name, "--seconds", str(seconds)]
    command += ["--keep", str(keep)] + (["--quick"] if quick else [])
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True, cwd=HERE)
        watched, peak, deadline = (
            psutil.Process(child.pid),
            0,
            time.monotonic() + 20 * seconds + 120,
        )
        while child.poll() is None:
            peak = max(peak, _tree_memory(watched))
            if time.monotonic() > deadline:
                child.kill()
            time.sleep(POLL_SECONDS)
        assert child.stdout is not None
        lines = child.stdout.read().splitlines()
        said.seek(0)
        errors = said.read().splitlines()
    if child.returncode or not lines:
        raise RuntimeError(errors[-1] if errors else f"ended with {child.returncode}")
    return {**json.loads(lines[-1]), "peak": peak}


def _tree_memory(process: psutil.Process) -> int:
    total = 0
    try:
        for member in (process, *process.children(recursive=True)):
            # what forked workers share with their parent counts once
            full = member.memory_info()
            total += full.rss - (full.shared if member is not process else 0)
    except psutil.Error:
        pass
    return total


def compete(module: str, quick: bool, rounds: int, seconds: float) -> dict[str, Result]:
    """Run all contestants in turns, several rounds; medians."""
    benchmark = importlib.import_module(module)
    names = list(benchmark.CONTESTANTS)
    longer = {} if quick else getattr(benchmark, "LONGER", {})
    benchmark.prepare(quick)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: Path(folder) / f"{i}.npy" for i, name in enumerate(names)}
        for turn in range(rounds):
            for name in names if turn % 2 == 0 else reversed(names):
                if name in missing:
                    continue
                try:
                    runs[name].append(
                        run_apart(module, name, quick, longer.get(name, seconds), kept[name])
                    )
                except RuntimeError as error:
                    missing[name] = str(error)
        truth = _load(kept[names[0]])
        same = {name: same_frames(truth, _load(path)) for name, path in kept.items()}
    return {
        name: Result(missing=missing[name]) if name in missing else _medians(runs[name], same[name])
        for name in names
    }


def _load(path: Path) -> Any:
    return np.load(path) if path.exists() else None


def _medians(runs: Sequence[dict[str, Any]], same: float | None) -> Result:
    rates = [run["items"] / run["wall"] for run in runs]
    return Result(
        rate=median(rates),
        cpu_ms=median(1000 * run["cpu"] / run["items"] for run in runs),
        peak_mb=median((run["peak"] - run["own"]) / 1e6 for run in runs),
        rates=tuple(rates),
        same_frames=same,
        extra=runs[-1]["extra"],
    )


def same_frames(truth: Any, given: Any) -> float | None:
    """Share of frames that are closer to the true frame of their place than to any other.

    Both [..., C, H, W] of one size. Scalers differ by a few codes, so equality would ask too much.
    """
    if truth is None or given is None:
        return None
    if truth.shape != given.shape:
        return 0.0
    small = [
        a.reshape(-1, *a.shape[-3:])[:64, :, ::4, ::4].astype(np.int16) for a in (truth, given)
    ]
    apart = np.array([[np.abs(a - b).mean() for b in small[0]] for a in small[1]])
    return float((np.diag(apart) <= apart.min(axis=1) + 1e-9).mean())


def table(title: str, unit: str, results: Results, goals: Sequence[tuple[str, Any, float]]) -> str:
    """The results as text."""
    first = next(iter(results))
    lines = [title, f"{'':<28}{unit + '/s':>12}{'ours x':>8}{'CPU ms':>9}{'peak MB':>9}  frames"]
    for name, result in results.items():
        if result.missing:
            lines.append(f"{name:<28}{'missing: ' + result.missing[:70]}")
            continue
        ratio = results[first].rate / result.rate
        same = "" if result.same_frames is None else f"{result.same_frames:.0%} same"
        more = ", ".join(f"{key} {value:.3g}" for key, value in (result.extra or {}).items())
        lines.append(
            f"{name:<28}{result.rate:>12.1f}{ratio:>8.2f}{result.cpu_ms:>9.1f}"
            f"{result.peak_mb:>9.0f}  {same} {more}"
        )
    for sentence, reached, wanted in settled(goals, results):
        verdict = "no measure" if reached is None else f"{reached:.2f}"
        lines.append(f"  goal: {sentence}: {verdict} of {wanted:g}")
    return "\n".join(lines)


def settled(
    goals: Sequence[tuple[str, Callable[[Results], float], float]], results: Results
) -> list[tuple[str, float | None, float]]:
    """(sentence, reached, wanted) of each goal; None where a contestant is missing."""
    found: list[tuple[str, float | None, float]] = []
    for sentence, ratio, wanted in goals:
        try:
            found.append((sentence, float(ratio(results)), wanted))
        except (ZeroDivisionError, ValueError, KeyError):
            found.append((sentence, None, wanted))
    return found


def faster(ours: str, *peers: str) -> Callable[[Results], float]:
    """Our rate over that of the best of some contestants."""
    return lambda results: results[ours].rate / max(results[peer].rate for peer in peers)


def thriftier(ours: str, peer: str) -> Callable[[Results], float]:
    """Our CPU time over a contestant's; smaller is better."""
    return lambda results: results[ours].cpu_ms / results[peer].cpu_ms


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*")
    parser.add_argument("--quick", action="store_true", help="small inputs, one round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--keep", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if chosen.one:
        measured = measure(chosen.modules[0], chosen.one, chosen.quick, chosen.seconds, chosen.keep)
        print(json.dumps(measured), flush=True)
        os._exit(0)  # peers' threads are not ours to wait for
    names = sorted(path.stem for path in HERE.glob("p[0-9]*_*.py"))
    wanted = [
        n
        for n in names
        if not chosen.modules or n in chosen.modules or n.split("_")[0] in chosen.modules
    ]
    for module in wanted:
        rounds, seconds = (1, 2.0) if chosen.quick else (chosen.rounds, chosen.seconds)
        benchmark = importlib.import_module(module)
        results = compete(module, chosen.quick, rounds, seconds)
        print(
            table(
                f"\n{module.split('_')[0].upper()}  {benchmark.TITLE}",
                benchmark.UNIT,
                results,
                benchmark.GOALS,
            ),
            flush=True,
        )
        _write(module, benchmark, results, chosen.quick)


def _write(module: str, benchmark: Any, results: Results, quick: bool) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    said = {
        "title": benchmark.TITLE,
        "unit": benchmark.UNIT,
        "quick": quick,
        "machine": {
            "processor": _processor(),
            "cpus": len(psutil.Process().cpu_affinity()),
            "python": platform.python_version(),
            "load": os.getloadavg()[0],
            "when": time.strftime("%Y-%m-%d %H:%M"),
        },
        "results": {name: asdict(result) for name, result in results.items()},
        "goals": settled(benchmark.GOALS, results),
    }
    (OUT / f"{module}.json").write_text(json.dumps(said, indent=1))


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())


if __name__ == "__main__":
    main()
