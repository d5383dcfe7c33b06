"""A plot per goal, and the table of docs/performance.md, from the JSON of the last run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "out" / "bench"
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def plot(name: str, run: dict[str, Any]) -> None:
    """Bars of each contestant's rate, with its rounds as dots, and of its CPU time."""
    ran = ran_of(run)
    figure, (rate, cpu) = plt.subplots(
        1, 2, figsize=(10, 0.5 * len(ran) + 1.4), layout="constrained", sharey=True
    )
    places = range(len(ran))[::-1]
    colors = ["#1b6ca8" if key.startswith("genlock") else "#b0b7bf" for key in ran]
    rate.barh(places, [result["rate"] for result in ran.values()], color=colors)
    for place, result in zip(places, ran.values(), strict=True):
        rate.plot(result["rates"], [place] * len(result["rates"]), "k.", markersize=4)
    cpu.barh(places, [result["cpu_ms"] for result in ran.values()], color=colors)
    rate.set_yticks(places, list(ran))
    rate.set_xlabel(f"{run['unit']}/s")
    cpu.set_xlabel(f"CPU ms for one of the {run['unit']}")
    for axes in (rate, cpu):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(run["title"], fontsize=9)
    figure.savefig(RUN / f"{name}.png", dpi=140)
    plt.close(figure)


def ran_of(run: dict[str, Any]) -> dict[str, Any]:
    """The contestants that ran."""
    return {key: result for key, result in run["results"].items() if not result["missing"]}


def goals(name: str, run: dict[str, Any]) -> list[str]:
    """Table lines of a benchmark's goals."""
    goal = name.split("_")[0].upper()
    lines = []
    for sentence, reached, wanted in run["goals"]:
        said = "not measured" if reached is None else f"{reached:.2f}"
        lines.append(f"| {goal} | {sentence} | {wanted:g} | {said} |")
    return lines


def contestants(name: str, run: dict[str, Any]) -> list[str]:
    """A benchmark's table of contestants."""
    lines = [
        f"**{name.split('_')[0].upper()}**, {run['title']}:",
        "",
        f"| | {run['unit']}/s | slowest to fastest round | CPU ms | peak MB |",
        "|---|---|---|---|---|",
    ]
    for key, result in ran_of(run).items():
        between = f"{min(result['rates']):.1f} to {max(result['rates']):.1f}"
        figures = f"{result['rate']:.1f} | {between} | {result['cpu_ms']:.2f}"
        lines.append(f"| {key} | {figures} | {result['peak_mb']:.0f} |")
    return [*lines, ""]


def main() -> None:
    runs = {path.stem: json.loads(path.read_text()) for path in RUN.glob("p[0-9]*.json")}
    ordered = sorted(runs, key=lambda name: (len(name.split("_")[0]), name))
    if not ordered:
        raise SystemExit(f"no run in {RUN}: make bench first")
    for name in ordered:
        plot(name, runs[name])
    machine = runs[ordered[-1]]["machine"]
    said = (
        f"From `make bench` of {machine['when']} on {machine['cpus']} CPUs of "
        f"{machine['processor']}, Python {machine['python']}, load {machine['load']:.1f}."
    )
    table = ["| goal | what | wanted | reached |", "|---|---|---|---|"]
    table += [line for name in ordered for line in goals(name, runs[name])]
    table += ["", *(line for name in ordered for line in contestants(name, runs[name]))]
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(before + "\n".join([BEGIN, said, "", *table, END]) + after)


if __name__ == "__main__":
    main()
