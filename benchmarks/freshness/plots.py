"""Weighted freshness over time, one panel a scenario."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

from benchmarks.freshness.clock import Course


def plot(scenarios: dict[str, dict[str, Course]], folder: Path) -> None:
    """Write freshness.png and freshness.svg into `folder`."""
    # The same picture, octet for octet, from the same numbers.
    mpl.rcParams["svg.hashsalt"] = "recrawl"
    figure, panels = plt.subplots(1, len(scenarios), figsize=(11, 4.5), sharey=True, squeeze=False)
    for panel, (title, courses) in zip(panels[0], scenarios.items(), strict=True):
        for name, course in courses.items():
            dashed = "--" if name == "known rates" else "-"
            wide = 2.4 if name == "optimal" else 1.2
            panel.plot(course.days, course.fresh, dashed, linewidth=wide, label=name)
        panel.set_title(title)
        panel.set_xlabel("days")
        panel.grid(alpha=0.3)
    panels[0][0].set_ylabel("weighted freshness")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.set_layout_engine("constrained")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "freshness.png", dpi=110)
    figure.savefig(folder / "freshness.svg", metadata={"Date": None})
    plt.close(figure)
