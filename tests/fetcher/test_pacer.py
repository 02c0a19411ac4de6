"""D6, E2: turns of hosts, addresses and slots; what waits holds up nothing else."""

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from services.fetcher.pacer import Pacer, Start


def pacer(slots: int = 100, at_once: int = 2) -> Pacer:
    return Pacer(slots, at_once, horizon=60)


def test_the_first_request_to_a_host_starts_at_once() -> None:
    turns = pacer()
    turns.enter("a", 1, gap=5, now=0)
    assert turns.due(0) == [Start(1, 0)]


def test_the_next_starts_a_gap_after_the_end_of_the_last() -> None:
    turns = pacer()
    turns.enter("a", 1, gap=5, now=0)
    turns.enter("a", 2, gap=5, now=0)
    assert turns.due(1) == [(1, 0)]
    turns.leave("a", now=3)
    assert turns.next_at() == 8
    assert turns.due(7.9) == []
    assert turns.due(8) == [(2, 0)]


def test_requests_of_one_host_go_in_order_of_arrival() -> None:
    turns = pacer()
    for ticket in (1, 2, 3, 4):
        turns.enter("a", ticket, gap=0, now=0)
    started = turns.due(0)
    for now in (1, 2, 3):
        turns.leave("a", now)
        started += turns.due(now)
    assert [start.ticket for start in started] == [1, 2, 3, 4]


def test_a_waiting_host_holds_up_no_other() -> None:
    turns = pacer(slots=2)
    for ticket in range(10):
        turns.enter("slow", ticket, gap=100, now=0)
    turns.due(0)
    turns.enter("quick", 11, gap=0, now=0)
    assert turns.due(0) == [(11, 1)]


def test_a_cancelled_request_lets_the_one_behind_it_go() -> None:
    turns = pacer()
    turns.enter("a", 1, gap=0, now=0)
    turns.due(0)
    turns.enter("a", 2, gap=50, now=0)
    turns.enter("a", 3, gap=1, now=0)
    turns.leave("a", now=0)
    turns.cancel("a", 2, now=0)
    assert turns.due(1) == [(3, 0)]


def test_a_host_is_forgotten_only_after_the_horizon() -> None:
    turns = pacer()
    turns.enter("a", 1, gap=0, now=0)
    turns.due(0)
    turns.leave("a", now=0)
    turns.enter("b", 2, gap=0, now=59)
    turns.due(59)
    turns.leave("b", now=59)
    turns.enter("a", 3, gap=100, now=59)
    assert turns.due(59) == []


def test_somebody_else_may_have_asked_until_we_took_over() -> None:
    """D6: after a rebalance the first request waits a gap too."""
    turns = pacer()
    turns.enter("a", 1, gap=5, now=10, since=9)
    assert (turns.due(13.9), turns.due(14)) == ([], [(1, 0)])


def test_what_a_site_asks_for_reaches_what_is_queued_already() -> None:
    """D6: Retry-After, or twice the gap, and forgotten after."""
    turns = pacer()
    for ticket in range(5):
        turns.enter("a", ticket, gap=1, now=0)
    now = 0.0
    for trouble, wait in ((30.0, 30), (0.0, 2), (0.0, 2), (None, 1)):
        assert len(turns.due(now)) == 1
        turns.leave("a", now, trouble=trouble)
        assert turns.due(now + wait - 0.01) == []
        now += wait
    assert turns.due(now) == [(4, 0)]


def test_hosts_of_one_address_share_its_turns_fairly() -> None:
    """NET-01: two at once, half a second apart, each host as often as any other."""
    turns = pacer()
    hosts, now = [f"h{n}" for n in range(50)], 0.0
    starts: list[tuple[float, str]] = []
    for number, host in enumerate(hosts * 4):
        turns.enter(host, number, gap=1, now=0, group="192.0.2.1", spacing=0.5)
    running: list[tuple[float, str]] = []
    while len(starts) < 200:
        for _, host in [one for one in running if one[0] <= now]:
            turns.leave(host, now)
        running = [one for one in running if one[0] > now]
        for start in turns.due(now):
            host = hosts[start.ticket % 50]
            starts.append((now, host))
            running.append((now + 1, host))
        assert len(running) <= 2
        now += 0.25
    times = [at for at, _ in starts]
    assert all(later - earlier >= 0.5 for earlier, later in pairwise(times))
    assert times[-1] == 0.5 * 199
    for first in range(0, 200, 50):
        assert {host for _, host in starts[first : first + 50]} == set(hosts)


def test_a_turn_may_go_on_without_its_slot() -> None:
    """C12: a page that a browser renders keeps its host's turn and takes no slot of ours."""
    turns = pacer(slots=1)
    turns.enter("rendered", 1, gap=1, now=0)
    turns.enter("rendered", 2, gap=1, now=0)
    turns.enter("plain", 3, gap=1, now=0)
    assert turns.due(0) == [(1, 0)]
    turns.lend("rendered")
    assert turns.due(0) == [(3, 0)]
    turns.leave("rendered", now=5)
    turns.leave("plain", now=5)
    assert turns.due(6) == [(2, 0)]
    turns.enter("third", 4, gap=0, now=6)
    assert turns.due(6) == [], "the lent slot came back once, not twice"


def test_a_tarpit_takes_one_slot_and_no_more() -> None:
    """D6: one host that never ends, 49 that answer at once: those go at their own pace."""
    turns, counts = pacer(slots=10), Counter[str]()
    hosts = ["tarpit", *(f"h{n}" for n in range(49))]
    for number in range(50 * 20):
        turns.enter(hosts[number % 50], number, gap=1, now=0)
    for now in range(20):
        while started := turns.due(now):
            for start in started:
                host = hosts[start.ticket % 50]
                counts[host] += 1
                if host != "tarpit":
                    turns.leave(host, now)
    assert counts == {"tarpit": 1} | dict.fromkeys(hosts[1:], 20)


class Turns(RuleBasedStateMachine):
    """Any order of events keeps the promises."""

    def __init__(self) -> None:
        super().__init__()
        self.pacer = Pacer(3, 2, horizon=1000)
        self.now = 0.0
        self.tickets = 0
        self.waiting: dict[int, tuple[str, float, str, float]] = {}
        self.running: dict[str, tuple[int, str]] = {}
        self.ended: dict[str, float] = {}
        self.until: dict[str, float] = {}
        self.started: dict[str, float] = {}

    @rule(
        host=st.sampled_from("abcdef"),
        gap=st.integers(0, 5),
        group=st.sampled_from(["", "x", "y"]),
        spacing=st.integers(0, 3),
    )
    def enter(self, host: str, gap: int, group: str, spacing: int) -> None:
        self.tickets += 1
        self.waiting[self.tickets] = (host, gap, group, spacing)
        self.pacer.enter(host, self.tickets, gap, self.now, group=group, spacing=spacing)
        self.start()

    @rule(host=st.sampled_from("abcdef"), trouble=st.sampled_from([None, 0.0, 7.0]))
    def leave(self, host: str, trouble: float | None) -> None:
        if self.running.pop(host, None):
            self.pacer.leave(host, self.now, trouble=trouble)
            self.ended[host] = self.now
            self.until[host] = self.now + (trouble or 0)
            self.start()

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.waiting:
            ticket = data.draw(st.sampled_from(sorted(self.waiting)))
            self.pacer.cancel(self.waiting.pop(ticket)[0], ticket, self.now)
            self.start()

    @rule(step=st.integers(0, 4))
    def pass_time(self, step: int) -> None:
        self.now += step
        self.start()

    def start(self) -> None:
        for ticket, slot in self.pacer.due(self.now):
            host, gap, group, spacing = self.waiting.pop(ticket)
            assert host not in self.running
            assert slot in range(3)
            assert slot not in [taken for taken, _ in self.running.values()]
            assert ticket == min(
                [ticket, *(t for t, one in self.waiting.items() if one[0] == host)]
            )
            assert self.now >= self.ended.get(host, -1e9) + gap
            assert self.now >= self.until.get(host, -1e9)
            if group:
                assert [other for _, other in self.running.values()].count(group) < 2
                assert self.now >= self.started.get(group, -1e9) + spacing
                self.started[group] = self.now
            self.running[host] = (slot, group)

    @invariant()
    def nobody_is_forgotten(self) -> None:
        assert self.pacer.waiting == len(self.waiting)
        if self.waiting and not self.running:
            assert self.pacer.next_at() is not None


TestTurns = Turns.TestCase


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "x"])), min_size=1, max_size=30
    ),
    st.integers(0, 3),
)
def test_all_that_wait_get_their_turn(entered: list[tuple[str, str]], gap: int) -> None:
    turns = Pacer(2, 1, horizon=10)
    for number, (host, group) in enumerate(entered):
        turns.enter(host, number, gap, 0, group=group, spacing=gap / 2)
    now, started = 0.0, 0
    while starts := turns.due(now) or turns.due(now := turns.next_at() or now):
        started += len(starts)
        for start in starts:
            turns.leave(entered[start.ticket][0], now)
    assert started == len(entered)
