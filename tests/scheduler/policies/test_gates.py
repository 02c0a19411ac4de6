"""What `python -m benchmarks.freshness` must show, on few pages: three seeds each (G1).

Scores are weighted freshness in the second half of the time, as a share of the most that is
possible when every change rate is known.
"""

import numpy as np
import pytest

from benchmarks.freshness.clock import Course, Crawl
from benchmarks.freshness.contenders import CONTENDERS, NutchLike
from benchmarks.freshness.optimum import best_freshness
from benchmarks.freshness.world import DAY, Scenario, World
from services.common.settings import Scheduler
from services.scheduler.policies import Around, Observation, Seen

PAGES = 1500
DAYS = 120
SCARCE = Scenario(name="A", budget=0.05)
CORRELATED = Scenario(name="C", weights="correlated")
EQUAL = Scenario(name="D", weights="equal")
EQUAL_SCARCE = Scenario(name="E", weights="equal", budget=0.05)

seeds = pytest.mark.parametrize("seed", [1, 2, 3])


def crawl(
    scenario: Scenario, policy: str, seed: int, days: int = DAYS, pages: int = PAGES
) -> tuple[float, Course]:
    """Score and course."""
    world = World(scenario, pages, seed)
    course = Crawl(world, CONTENDERS[policy](world), days).run()
    best = best_freshness(world.rates, world.weights, pages * scenario.budget / DAY)
    return course.score(days / 2) / best, course


def score(scenario: Scenario, policy: str, seed: int, days: int = DAYS) -> float:
    return crawl(scenario, policy, seed, days)[0]


def used(course: Course) -> float:
    return float(np.mean(course.used[len(course.used) // 2 :]))


@seeds
def test_with_known_rates_the_threshold_is_the_optimum(seed: int) -> None:
    """This is what makes the simulator believable; the longest interval costs it a little."""
    assert score(EQUAL, "known rates", seed, 60) >= 0.99


@seeds
def test_correlated_weights(seed: int) -> None:
    optimal, course = crawl(CORRELATED, "optimal", seed)
    adaptive = score(CORRELATED, "adaptive, 2", seed)
    assert optimal >= 0.95
    assert optimal / adaptive >= 1.25
    assert 0.70 <= adaptive <= 0.77
    assert used(course) >= 0.96
    assert np.percentile(course.queue[len(course.queue) // 2 :], 99) <= 1


@seeds
def test_a_scarce_budget(seed: int) -> None:
    # Longer, as a round takes 20 days; on more pages, as a few of great weight make the score.
    optimal = crawl(SCARCE, "optimal", seed, 160, 4000)[0]
    assert optimal >= 0.95
    assert optimal / crawl(SCARCE, "adaptive, 2", seed, 160, 4000)[0] >= 1.25


@seeds
def test_equal_weights(seed: int) -> None:
    optimal, course = crawl(EQUAL, "optimal", seed)
    assert optimal >= 0.96
    assert optimal - score(EQUAL, "uniform", seed) >= 0.02
    assert used(course) >= 0.96
    assert np.percentile(course.queue[len(course.queue) // 2 :], 99) <= 1


@seeds
def test_equal_weights_and_a_scarce_budget(seed: int) -> None:
    assert score(EQUAL_SCARCE, "optimal", seed) - score(EQUAL_SCARCE, "uniform", seed) >= 0.01


@seeds
@pytest.mark.parametrize("process", ["periodic", "bursty"])
def test_other_processes_against_the_threshold_with_known_rates(process: str, seed: int) -> None:
    scenario = Scenario(name=process, process=process)
    assert score(scenario, "optimal", seed) / score(scenario, "known rates", seed) >= 0.95


@seeds
def test_pages_that_change_their_ways(seed: int) -> None:
    scenario = Scenario(name="H", drift=0.3)
    world = World(scenario, PAGES, seed)
    course = Crawl(world, CONTENDERS["optimal"](world), DAYS).run()
    best = best_freshness(world.rates, world.weights, PAGES * scenario.budget / DAY)
    assert course.score(DAYS * 0.75) / best >= 0.97


@seeds
@pytest.mark.parametrize(("share", "days"), [(0.6, 3), (1.4, 4)])
def test_the_price_finds_its_place_within_days(share: float, days: int, seed: int) -> None:
    """More budget takes longer, because what is overdue by the new price comes at once."""
    world = World(EQUAL, PAGES, seed)
    crawl = Crawl(world, CONTENDERS["optimal"](world), 60)
    course = crawl.run(lambda day: share if day >= 30 else 1.0)
    looks = list(zip(course.days, course.prices, strict=True))
    final = np.log([price for day, price in looks if day >= 45]).mean()
    soon = np.log([price for day, price in looks if 30 + days <= day < 31 + days]).mean()
    assert abs(soon - final) <= 0.1


def test_pages_that_are_all_alike_do_not_wind_up_the_price() -> None:
    """Fetched at once, they come due at once; over each round they are as fresh as in turn."""
    world = World(EQUAL, PAGES, 1)
    world.alike(1 / (10 * DAY))
    fresh = Crawl(world, CONTENDERS["optimal"](world), 60).run().fresh
    world = World(EQUAL, PAGES, 1)
    world.alike(1 / (10 * DAY))
    uniform = Crawl(world, CONTENDERS["uniform"](world), 60).run().fresh
    # Rounds of 5 days, after the first; four looks a day.
    rounds = np.reshape(np.subtract(fresh[20:], uniform[20:]), (-1, 20)).mean(axis=1)
    assert rounds.min() >= -0.05


def test_nutch_never_plans_into_the_past() -> None:
    """NUTCH-1564: a page that has not changed for years, with the interval at its most."""
    policy = NutchLike(Scheduler(min_interval=60, max_interval=90 * DAY))
    then = policy.learn(None, Observation(seen=Seen.FIRST), Around(), 0.0)
    for year in range(1, 10):
        now = year * 365 * DAY
        then = policy.learn(then.state, Observation(seen=Seen.UNCHANGED), Around(), now)
        assert then.wake > now
