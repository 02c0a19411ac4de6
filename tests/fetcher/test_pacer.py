"""D6: a host is not asked again before its last request's end + the gap; others do not wait."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from services.fetcher.pacer import Pacer


def test_the_first_request_to_a_host_starts_at_once() -> None:
    pacer = Pacer(horizon=60)
    assert pacer.enter("a", 1, gap=5, now=0)


def test_the_next_starts_a_gap_after_the_end_of_the_last() -> None:
    pacer = Pacer(horizon=60)
    pacer.enter("a", 1, gap=5, now=0)
    assert not pacer.enter("a", 2, gap=5, now=1)
    pacer.leave("a", now=3)
    assert pacer.next_at() == 8
    assert pacer.due(7.9) == []
    assert pacer.due(8) == [2]


def test_requests_of_one_host_go_in_order_of_arrival() -> None:
    pacer = Pacer(horizon=60)
    pacer.enter("a", 1, gap=0, now=0)
    for ticket in (2, 3, 4):
        pacer.enter("a", ticket, gap=0, now=0)
    started = []
    for now in (1, 2, 3):
        pacer.leave("a", now)
        started += pacer.due(now)
    assert started == [2, 3, 4]


def test_a_waiting_host_holds_up_no_other() -> None:
    pacer = Pacer(horizon=60)
    pacer.enter("slow", 1, gap=100, now=0)
    pacer.enter("slow", 2, gap=100, now=0)
    assert pacer.enter("quick", 3, gap=0, now=0)


def test_a_cancelled_request_lets_the_one_behind_it_go() -> None:
    pacer = Pacer(horizon=60)
    pacer.enter("a", 1, gap=0, now=0)
    pacer.enter("a", 2, gap=50, now=0)
    pacer.enter("a", 3, gap=1, now=0)
    pacer.leave("a", now=0)
    pacer.cancel("a", 2)
    assert pacer.due(1) == [3]


def test_a_host_is_forgotten_only_after_the_horizon() -> None:
    pacer = Pacer(horizon=60)
    pacer.enter("a", 1, gap=0, now=0)
    pacer.leave("a", now=0)
    pacer.enter("b", 2, gap=0, now=59)
    pacer.leave("b", now=59)
    assert not pacer.enter("a", 3, gap=100, now=59)


class Turns(RuleBasedStateMachine):
    """Any order of events keeps the promises."""

    def __init__(self) -> None:
        super().__init__()
        self.pacer = Pacer(horizon=1000)
        self.now = 0.0
        self.tickets = 0
        self.waiting: dict[int, tuple[str, float]] = {}
        self.running: dict[str, int] = {}
        self.ended: dict[str, float] = {}

    def start(self, ticket: int, host: str, gap: float) -> None:
        assert host not in self.running
        assert self.now >= self.ended.get(host, -1e9) + gap
        self.running[host] = ticket

    @rule(host=st.sampled_from("abc"), gap=st.integers(0, 5))
    def enter(self, host: str, gap: int) -> None:
        self.tickets += 1
        if self.pacer.enter(host, self.tickets, gap, self.now):
            self.start(self.tickets, host, gap)
        else:
            self.waiting[self.tickets] = (host, gap)

    @rule(host=st.sampled_from("abc"))
    def leave(self, host: str) -> None:
        if self.running.pop(host, None):
            self.pacer.leave(host, self.now)
            self.ended[host] = self.now

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        if self.waiting:
            ticket = data.draw(st.sampled_from(sorted(self.waiting)))
            self.pacer.cancel(self.waiting.pop(ticket)[0], ticket)

    @rule(step=st.integers(0, 4))
    def pass_time(self, step: int) -> None:
        self.now += step
        for ticket in self.pacer.due(self.now):
            host, gap = self.waiting.pop(ticket)
            assert ticket == min([ticket, *(t for t, (h, _) in self.waiting.items() if h == host)])
            self.start(ticket, host, gap)

    @invariant()
    def nobody_is_forgotten(self) -> None:
        assert self.pacer.waiting == len(self.waiting)
        if any(host not in self.running for host, _ in self.waiting.values()):
            assert self.pacer.next_at() is not None


TestTurns = Turns.TestCase


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=30), st.integers(0, 3))
def test_all_that_wait_get_their_turn(hosts: list[str], gap: int) -> None:
    pacer = Pacer(horizon=10)
    running = {host for n, host in enumerate(hosts) if pacer.enter(host, n, gap, 0)}
    started, now = len(running), 0.0
    while running:
        for host in running:
            pacer.leave(host, now)
        now = max(now, pacer.next_at() or now)
        tickets = pacer.due(now)
        running = {hosts[ticket] for ticket in tickets}
        started += len(tickets)
    assert started == len(hosts)
