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
    """Bars of each contestant's rate, with its rounds as dots."""
    ran = {key: result for key, result in run["results"].items() if not result["missing"]}
    figure, axes = plt.subplots(figsize=(8, 0.5 * len(ran) + 1.4), layout="constrained")
    places = range(len(ran))[::-1]
    colors = ["#1b6ca8" if key.startswith("genlock") else "#b0b7bf" for key in ran]
    axes.barh(places, [result["rate"] for result in ran.values()], color=colors)
    for place, result in zip(places, ran.values(), strict=True):
        axes.plot(result["rates"], [place] * len(result["rates"]), "k.", markersize=4)
    axes.set_yticks(places, list(ran))
    axes.set_xlabel(f"{run['unit']}/s")
    axes.set_title(run["title"], fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(RUN / f"{name}.png", dpi=140)
    plt.close(figure)


def rows(name: str, run: dict[str, Any]) -> list[str]:
    goal = name.split("_")[0].upper()
    lines = []
    for sentence, reached, wanted in run["goals"]:
        said = "not measured" if reached is None else f"{reached:.2f}"
        lines.append(f"| {goal} | {sentence} | {wanted:g} | {said} |")
    return lines


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
    table += [row for name in ordered for row in rows(name, runs[name])]
    page = PAGE.read_text()
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(before + "\n".join([BEGIN, said, "", *table, END]) + after)


if __name__ == "__main__":
    main()
