"""The recrawl policies at work in one partition: whose policy, at which price, within which plan.

Applies what a policy says to the rows; places nothing but URLs that sleep on.
"""

from services.common.records import CrawlReported, PartitionPlanned, PriceSet
from services.common.settings import Scheduler
from services.scheduler import outcomes, timeline
from services.scheduler.plan import Plan
from services.scheduler.policies import Around, Policy, Seen, State
from services.scheduler.policies.belief import new_host
from services.scheduler.policies.choice import Chooser
from services.scheduler.policies.weight import weight
from services.scheduler.pricing import Controller
from services.scheduler.rows import HostRow, Rows, UrlRow


class Recrawls:
    """What one partition knows of its recrawls as a whole."""

    def __init__(self, number: int, settings: Scheduler, chooser: Chooser) -> None:
        self.plan = Plan()
        self.reports: list[PartitionPlanned] = []
        """For partition 0, since the shell last took them."""
        self.prices: list[PriceSet] = []
        """For every partition, since the shell last took them."""
        self.handed = 0
        """Requests for URLs that were due, since the last report."""
        self._number = number
        self._settings = settings
        self._chooser = chooser
        self._controller = Controller(settings)
        self._price: PriceSet | None = None
        self._price_read = False
        self._reported = 0.0

    @property
    def last_price(self) -> float:
        """Seconds of staleness; 0 before the first price, or until it is needed."""
        return 0.0 if self._price is None else self._price.price

    def load(self, host: HostRow, now: float) -> None:
        """Count in a host that was recovered."""
        self.plan.load(host)
        self._reported = self._reported or now

    def policy(self, host: HostRow, row: UrlRow) -> Policy:
        """The policy that the URL is planned by."""
        return self._chooser.policy(host.name, row.job)

    def around(self, rows: Rows, host: HostRow, row: UrlRow) -> Around:
        """What holds around the URL now."""
        price = self.price(rows)
        mean = self.plan.priority if price is None else price.priority
        return Around(
            weight=weight(row.priority, mean),
            price=0.0 if price is None else price.price,
            longest=0.0 if price is None else price.longest,
            host=host.belief,
        )

    def price(self, rows: Rows) -> PriceSet | None:
        """The price in force; None before the first."""
        if not self._price_read:
            self._price, self._price_read = rows.price(), True
        return self._price

    def learn(  # noqa: PLR0917 - one call
        self,
        rows: Rows,
        host: HostRow,
        row: UrlRow,
        event: CrawlReported,
        now: float,
        counted: bool,  # noqa: FBT001 - one call
    ) -> None:
        """Update the URL's row, and its host's, from a report.

        `counted`: the host's row has it already, and the URL's got lost in a crash.
        """
        self._reported = self._reported or now
        if not counted:
            self.plan.leave(host, row)
        around = self.around(rows, host, row)
        seen = outcomes.apply(row, event, self.policy(host, row), around, now)
        if counted:
            return
        self.plan.join(host, row)
        if seen is not None and seen.seen in (Seen.CHANGED, Seen.UNCHANGED):
            if host.belief is None:
                host.belief = new_host(self._settings)
            host.belief.learn(self._settings, seen.since_last, change=seen.seen is Seen.CHANGED)

    def fail(self, host: HostRow, row: UrlRow, now: float) -> None:
        """A request of the URL was lost."""
        self.plan.leave(host, row)
        outcomes.fail(row, self._settings, now, retry=True)
        self.plan.join(host, row)

    def forget(self, host: HostRow, row: UrlRow) -> None:
        """The URL is deleted: it is planned no more."""
        self.plan.leave(host, row)
        row.interval, row.plan = 0.0, b""

    def sleeps(
        self, rows: Rows, host: HostRow, fingerprint: bytes, row: UrlRow, now: float
    ) -> bool:
        """Whether a URL, the first of its bucket, sleeps on; it is filed again then.

        Only a policy that plans by the price is asked, because the price has moved since.
        """
        policy = self.policy(host, row)
        if not policy.priced or row.attempt or not row.plan or timeline.is_new(row.bucket):
            return False
        state = State.unpack(row.interval, row.plan)
        if not state.rate or not state.a:
            return False  # given up; or planned by a policy that believes nothing
        then = policy.wake(state, row.fetched, self.around(rows, host, row), now)
        if then.wake <= now:
            return False
        timeline.advance(rows, host, row.bucket)
        self.plan.leave(host, row)
        row.interval, row.plan, row.due = then.state.interval, then.state.pack(), then.wake
        self.plan.join(host, row)
        due = timeline.slot(row.due, now, self._settings.bucket_width)
        timeline.file_at(rows, host, fingerprint, row, due=due, retry=False)
        rows.save_url(fingerprint, row)
        rows.save_host(host)
        return True

    def reports_at(self) -> float:
        """When the plan is to be reported next; infinity if there is none."""
        if not self._chooser.priced or not self.plan.urls:
            return float("inf")
        return self._reported + self._settings.price_period

    def report(self, backlog: int, now: float) -> None:
        """Report the plan, if it is time; `backlog` URLs are due and wait."""
        if now < self.reports_at():
            return
        report = PartitionPlanned(
            partition=self._number,
            at=now,
            planned=self.plan.planned,
            urls=self.plan.urls,
            priorities=self.plan.priorities,
            backlog=backlog,
            handed=self.handed / (now - self._reported),
        )
        self.reports.append(report)
        self._reported, self.handed = now, 0

    def hear(self, report: PartitionPlanned, rows: Rows, now: float) -> None:
        """A partition reports: we are the one that sets the price."""
        price = self._controller.hear(report, self.price(rows), now)
        if price is not None:
            self.prices.append(price)

    def set_price(self, price: PriceSet, rows: Rows) -> None:
        """The price of all partitions is this from now on, unless we know a newer one."""
        known = self.price(rows)
        if known is None or price.at >= known.at:
            self._price = price
            rows.save_price(price)
