"""The contract of a recrawl policy, and the base that every policy shares.

The base keeps the belief about the URL's change rate, whatever the policy: `explain` can show
it, hosts learn from it, and a change of policy starts from what is known. A policy of your own
overrides `interval` and no more.
"""

import struct
from enum import Enum

import msgspec

from services.common.settings import Scheduler
from services.scheduler.policies import belief
from services.scheduler.policies.belief import HostBelief

_PACKED = struct.Struct("<fff")


class State(msgspec.Struct, gc=False):
    """What is remembered of a URL, the same for all policies."""

    interval: float
    """Seconds from the last successful fetch to the next, as planned."""
    a: float = 0.0
    """Shape of the Gamma belief about the change rate; 0 for none yet."""
    b: float = 0.0
    """Its rate, in seconds; a / b is the mean number of changes a second."""
    rate: float = 0.0
    """Fetches a second that are planned for it: its part in the partition's sum."""

    def pack(self) -> bytes:
        """All but the interval, in 12 octets; float32 is more than the belief is good for."""
        return _PACKED.pack(self.a, self.b, self.rate)

    @classmethod
    def unpack(cls, interval: float, packed: bytes) -> "State":
        """From the row; `packed` may be empty."""
        return cls(interval, *_PACKED.unpack(packed)) if packed else cls(interval)


class Seen(Enum):
    """What a fetch found."""

    FIRST = "first"
    """There was nothing to compare with."""
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    """No answer to learn from; when to retry is not the policy's to say."""
    GONE = "gone"
    """404 or 410 where a page was: a change, and the end of the plan."""


class Hints(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the site says about its changes; 0 where it says nothing."""

    changefreq: float = 0.0
    """Seconds between changes, by a sitemap."""
    max_age: float = 0.0
    """Seconds that the answer may be kept, by Cache-Control or Expires."""


NO_HINTS = Hints()


class Observation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a fetch taught."""

    seen: Seen
    since_last: float = 0.0
    """Seconds since the successful fetch it was compared with."""
    modified_age: float | None = None
    """Seconds from the last change to the fetch, if the site's date for it is to be trusted."""
    hints: Hints = NO_HINTS


class Around(msgspec.Struct, kw_only=True, gc=False):
    """What holds around the URL when it is planned."""

    weight: float = 1.0
    """Importance, 1 in the mean over all URLs; see weight.py."""
    price: float = 0.0
    """What a fetch must gain, in seconds of staleness times weight; 0 if there is no controller."""
    longest: float = 0.0
    """Seconds that no URL is left alone for longer than, under the price; 0 for none."""
    host: HostBelief | None = None
    """What the host's other URLs taught."""


AROUND = Around()
"""A URL of mean weight on an unknown host, without a controller."""


class Next(msgspec.Struct, frozen=True, gc=False):
    """What follows for a URL."""

    state: State
    due: float
    """When it is to be fetched as things stand; epoch seconds."""
    wake: float
    """When to ask `wake`, at `due` or earlier; epoch seconds."""


class Policy:
    """The base of every policy; made once with the scheduler's settings."""

    priced = False
    """Whether it plans by the price: a URL whose time has come is then asked about by `wake`."""

    def __init__(self, settings: Scheduler) -> None:
        self.settings = settings

    def interval(self, last: State | None, seen: Observation, around: Around) -> float:
        """Seconds from this fetch to the next; the base keeps them within the bounds.

        `last` is None for a page that was never fetched with success. FAILED and GONE are not
        asked for.
        """
        raise NotImplementedError

    def learn(self, last: State | None, seen: Observation, around: Around, now: float) -> Next:
        """What follows from the fetch that ended `now`.

        After FAILED and GONE the state counts and the times do not: when to try again is the
        outcome's (docs/outcomes.md). A GONE URL has no part in the plan.
        """
        what, old = seen.seen, last or State(self.settings.first_interval)
        if what is Seen.FAILED:
            return Next(old, now + old.interval, now + old.interval)
        a, b = self._believed(old, seen, around)
        if what is Seen.GONE:
            return Next(State(old.interval, a, b), now + old.interval, now + old.interval)
        state = State(old.interval, a, b)
        wanted = self._interval(state, last, seen, around)
        wanted = min(max(wanted, self.settings.min_interval), self.settings.max_interval)
        return self._planned(State(wanted, a, b, 1.0 / wanted), seen, now)

    def wake(self, state: State, fetched: float, around: Around, now: float) -> Next:  # noqa: ARG002 - others look around
        """Whether the URL is due `now`, and if not, when to look again."""
        due = fetched + state.interval
        return Next(state, due, due)

    def told(self, state: State, fetched: float, modified: float, now: float) -> Next:
        """A sitemap or feed dates the last change at `modified`: fetch it if that is news."""
        due = fetched + state.interval
        if self.settings.use_hints and fetched < modified <= now:
            due = min(due, max(fetched + self.settings.min_interval, now))
        return Next(state, due, due)

    def _interval(
        self,
        state: State,  # noqa: ARG002 - only some look at it
        last: State | None,
        seen: Observation,
        around: Around,
    ) -> float:
        """`interval`, for policies that need the new belief in `state`."""
        return self.interval(last, seen, around)

    def _planned(self, state: State, seen: Observation, now: float) -> Next:
        due = now + max(state.interval, self._kept(seen))
        return Next(state, due, due)

    def _kept(self, seen: Observation) -> float:
        """Seconds for which the site says that nothing changes, as far as it is believed."""
        limit = self.settings.max_age_limit if self.settings.use_hints else 0.0
        return min(seen.hints.max_age, limit)

    def _believed(self, old: State, seen: Observation, around: Around) -> tuple[float, float]:
        """The belief after the observation."""
        settings, what = self.settings, seen.seen
        if not old.a or what is Seen.FIRST:
            declared = seen.hints.changefreq if settings.use_hints else 0.0
            a, b = belief.prior(settings, around.host, declared)
            if what is Seen.FIRST:
                return (old.a, old.b) if old.a else (a, b)
        else:
            a, b = old.a, old.b
        if what is Seen.UNCHANGED:
            return a, b + max(seen.since_last, 0.0)
        a, b = belief.changed(a, b, seen.since_last, seen.modified_age)
        return belief.forgotten(a, b, settings.max_shape)
