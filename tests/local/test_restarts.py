"""When a dead service is started again."""

from services.local.restarts import LIMIT, WINDOW, wait


def test_each_quick_death_waits_twice_as_long_until_it_is_given_up() -> None:
    deaths = [float(n) for n in range(LIMIT)]
    waits = [wait(deaths[:count], now=deaths[count - 1]) for count in range(1, LIMIT + 1)]
    assert waits == [0.5, 1.0, 2.0, 4.0, None]


def test_old_deaths_are_forgiven() -> None:
    assert wait([0.0] * 100 + [WINDOW + 1], now=WINDOW + 1) == 0.5
