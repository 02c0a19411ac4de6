"""`python -m benchmarks.freshness`: the table, and the plots into docs/ with `--plots docs`.

The first two scenarios run at full size, the others on fewer pages for longer.
"""

import argparse
import time
from pathlib import Path

from benchmarks.freshness.clock import Course, Crawl
from benchmarks.freshness.contenders import CONTENDERS
from benchmarks.freshness.optimum import best_freshness
from benchmarks.freshness.world import DAY, Scenario, World

FULL = (
    Scenario(name="Poisson, 5 %", budget=0.05),
    Scenario(name="mixed, correlated, 20 %", process="mixed", weights="correlated"),
)
SMALL = (
    Scenario(name="Poisson, 20 %"),
    Scenario(name="Poisson, correlated, 20 %", weights="correlated"),
    Scenario(name="equal weights, 20 %", weights="equal"),
    Scenario(name="equal weights, 5 %", weights="equal", budget=0.05),
    Scenario(name="periodic, 20 %", process="periodic"),
    Scenario(name="bursty, 20 %", process="bursty"),
    Scenario(name="half dead, 5 %", process="dead", budget=0.05),
    Scenario(name="mixed, 5 %", process="mixed", budget=0.05),
    Scenario(name="30 % drift, 20 %", drift=0.3),
)
_SEED = 1


def main() -> None:
    """Run all, print, plot."""
    arguments = argparse.ArgumentParser(prog="python -m benchmarks.freshness")
    arguments.add_argument("--pages", type=int, default=100_000, help="of the first two scenarios")
    arguments.add_argument("--days", type=int, default=50, help="of the first two scenarios")
    arguments.add_argument("--small-pages", type=int, default=3000, help="of the others")
    arguments.add_argument("--small-days", type=int, default=120, help="of the others")
    arguments.add_argument("--plots", type=Path, help="folder for freshness.png and .svg")
    options = arguments.parse_args()
    began = time.monotonic()
    print(f"| scenario | pages | days | optimum | {' | '.join(CONTENDERS)} |")
    print("|---" * (4 + len(CONTENDERS)) + "|")
    plotted: dict[str, dict[str, Course]] = {}
    for scenarios, pages, days in (
        (FULL, options.pages, options.days),
        (SMALL, options.small_pages, options.small_days),
    ):
        for scenario in scenarios:
            courses = compare(scenario, pages, days)
            if scenarios is FULL:
                plotted[scenario.name] = courses
    print(f"\n{time.monotonic() - began:.0f} s")
    if options.plots:
        # Only here, because it is slow to load.
        from benchmarks.freshness.plots import plot  # noqa: PLC0415

        plot(plotted, options.plots)


def compare(scenario: Scenario, pages: int, days: int) -> dict[str, Course]:
    """All policies in one scenario, each on the same pages; prints a row of the table.

    The optimum is computed where all pages are Poisson or dead, and else that of the policy that
    knows the rates, which other processes may let a policy that learns surpass.
    """
    courses: dict[str, Course] = {}
    begin = days * (0.75 if scenario.drift else 0.5)
    for name, contender in CONTENDERS.items():
        world = World(scenario, pages, _SEED)
        courses[name] = Crawl(world, contender(world), days).run()
    best = courses["known rates"].score(begin)
    if scenario.process in ("poisson", "dead"):
        best = best_freshness(world.rates, world.weights, pages * scenario.budget / DAY)
    scores = (course.score(begin) / best for course in courses.values())
    cells = " | ".join(f"{score:.3f}" for score in scores)
    print(f"| {scenario.name} | {pages:,} | {days} | {best:.3f} | {cells} |", flush=True)
    return courses


if __name__ == "__main__":
    main()
