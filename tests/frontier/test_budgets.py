"""Traps that show over many URLs only."""

from itertools import combinations, permutations
from random import Random

from services.common.urls import fingerprint, parse
from services.frontier.budgets import Budgets


def passes(budgets: Budgets, *tails: str, host: str = "t.test") -> list[str]:
    passed = []
    for tail in tails:
        url = parse(f"http://{host}{tail}")
        if budgets.refusal(url, url.identity, fingerprint(url.identity)) is None:
            passed.append(tail)
    return passed


def faceted() -> list[str]:
    """Each choice of up to three of five facets with four values, in every order."""
    choices = [f"{facet}:{value}" for facet in "abcde" for value in range(4)]
    picked = [c for size in (1, 2, 3) for c in combinations(choices, size)]
    urls = [
        "/search?" + "&".join(f"f[{n}]={choice}" for n, choice in enumerate(order))
        for some in picked
        for order in permutations(some)
    ]
    Random(1).shuffle(urls)
    return urls


def test_faceted_search_has_a_budget_and_pagination_has_none() -> None:
    """TRAP-03."""
    budgets = Budgets(100, 50)
    assert len(passes(budgets, *faceted())) == 50
    listing = [f"/blog?page={n}" for n in range(19)]
    posts = [f"/blog/post-{n}" for n in range(380)]
    assert passes(budgets, *listing, *posts) == [*listing, *posts]


def test_one_set_of_filters_in_another_order_is_the_same_set() -> None:
    """TRAP-03: with an index the stable sort cannot see it."""
    budgets = Budgets(100, 50)
    assert passes(
        budgets, "/s?f[0]=a:1&f[1]=b:2", "/s?f[0]=b:2&f[1]=a:1", "/s?f%5B0%5D=b:2&f%5B1%5D=a:1"
    ) == ["/s?f[0]=a:1&f[1]=b:2"]
    assert passes(budgets, "/s?f=1&f=2", "/s?f=2&f=1") == ["/s?f=1&f=2"]


def test_filters_with_names_of_their_own_show_by_their_many_sets() -> None:
    budgets = Budgets(100, 50)
    names = [f"facet{n}" for n in range(8)]
    urls = [
        "/shop?" + "&".join(f"{name}={value}" for name in some)
        for size in (2, 3, 4)
        for some in combinations(names, size)
        for value in range(5)
    ]
    assert 50 < len(passes(budgets, *urls)) <= 50 + 8 * 5


def test_a_forum_is_no_faceted_search() -> None:
    """Many values of the same few names are pages."""
    urls = [f"/viewtopic.php?f={n % 9}&t={n}" for n in range(1000)]
    urls += [f"/viewtopic.php?f={n % 9}&t={n}&start=20" for n in range(1000)]
    urls += [f"/viewtopic.php?p={n}&t={n}" for n in range(1000)]
    assert passes(Budgets(100, 50), *urls) == urls


def test_each_host_and_each_path_has_its_own() -> None:
    budgets = Budgets(100, 1)
    assert passes(budgets, "/s?f[0]=1", "/s?f[0]=2", "/t?f[0]=2") == ["/s?f[0]=1", "/t?f[0]=2"]
    assert passes(budgets, "/s?f[0]=2", host="u.test") == ["/s?f[0]=2"]


def test_a_url_that_passed_passes_again_and_spends_nothing() -> None:
    """Kafka delivers at least once."""
    budgets = Budgets(100, 2)
    for _ in range(3):
        assert passes(budgets, "/s?f[0]=1", "/s?f[0]=2") == ["/s?f[0]=1", "/s?f[0]=2"]
    assert passes(budgets, "/s?f[0]=3") == []


def test_the_memory_is_bounded_and_forgets_what_was_asked_for_least_lately() -> None:
    budgets = Budgets(2, 1)
    assert passes(budgets, "/a?f[]=1", "/b?f[]=1", "/a?f[]=2", "/c?f[]=1", "/a?f[]=3") == [
        "/a?f[]=1",
        "/b?f[]=1",
        "/c?f[]=1",
    ]
    assert passes(budgets, "/b?f[]=2") == ["/b?f[]=2"]


def test_sessions_in_paths_have_a_budget_per_host() -> None:
    """D10: one page would have as many URLs as visits."""
    budgets = Budgets(100, 3)
    urls = [f"/shop/sid/{n:032x}/item" for n in range(9)]
    assert passes(budgets, *urls) == urls[:3]
    urls = [f"/x;session={n:020d}" for n in range(9)]
    assert passes(budgets, *urls, host="u.test") == urls[:3]


def test_what_only_looks_like_a_session_passes() -> None:
    urls = [f"/commit/{n:040x}" for n in range(9)]
    urls += [f"/session/{word}-is-a-long-title" for word in ("this", "that", "each", "such")]
    urls += [f"/a;jsessionid={n:032x}" for n in range(9)]  # no part of the identity
    urls += [f"/session/{n}" for n in range(9)]
    assert passes(Budgets(100, 3), *urls) == urls


def test_without_a_limit_nothing_is_refused() -> None:
    assert passes(Budgets(1, 0), *faceted()) == faceted()
