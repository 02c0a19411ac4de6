"""Which policy for which host or job (A10)."""

import re

import pytest

from services.common.errors import Stop
from services.common.settings import Scheduler
from services.scheduler.policies.adaptive import Adaptive
from services.scheduler.policies.choice import Chooser
from services.scheduler.policies.fixed import Fixed
from services.scheduler.policies.optimal import Optimal

RULES = """
[[rule]]
hosts = ["news.example", "*.News.example"]
policy = "adaptive"
factor = 1.5
min_interval = 900

[[rule]]
jobs = ["archive-*"]
policy = "fixed"
first_interval = 2592000

[[rule]]
hosts = ["slow.news.example"]
jobs = ["archive-1"]
first_interval = 86400
"""


def test_without_rules_the_settings_choose() -> None:
    policy = Chooser(Scheduler(policy="optimal")).policy("h.example", "default")
    assert isinstance(policy, Optimal)


def test_a_rule_is_for_hosts() -> None:
    chooser = Chooser(Scheduler(), RULES)
    policy = chooser.policy("de.news.example", "default")
    assert isinstance(policy, Adaptive)
    assert (policy.settings.factor, policy.settings.min_interval) == (1.5, 900)
    assert chooser.policy("news.example.org", "default").settings.factor == 2


def test_a_rule_is_for_jobs() -> None:
    policy = Chooser(Scheduler(), RULES).policy("h.example", "archive-2")
    assert isinstance(policy, Fixed)
    assert policy.settings.first_interval == 2_592_000


def test_of_several_rules_the_later_wins_by_option() -> None:
    policy = Chooser(Scheduler(), RULES).policy("slow.news.example", "archive-1")
    assert isinstance(policy, Fixed)
    assert (policy.settings.first_interval, policy.settings.min_interval) == (86_400, 900)


def test_hosts_under_the_same_rules_share_a_policy() -> None:
    chooser = Chooser(Scheduler(), RULES)
    assert chooser.policy("a.news.example", "x") is chooser.policy("b.news.example", "y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]\n", "policies.toml: "),
        ('[[rule]]\nhosts = ["*"]\nspeed = 3\n', "unknown field `speed`"),
        ('[[rule]]\npolicy = "fixed"\n', "rule 1: say for which `hosts` or `jobs` it is"),
        ('[[rule]]\nhosts = ["*"]\npolicy = "fancy"\n', "rule 1: no recrawl policy 'fancy'"),
        (
            '[[rule]]\nhosts = ["a"]\n[[rule]]\njobs = ["b"]\nfactor = 0.5\n',
            "rule 2: `factor`: Input should be greater than 1",
        ),
    ],
)
def test_a_mistake_is_named(text: str, message: str) -> None:
    with pytest.raises(Stop, match=re.escape(message)) as raised:
        Chooser(Scheduler(), text, "policies.toml")
    assert str(raised.value).startswith("policies.toml: ")
