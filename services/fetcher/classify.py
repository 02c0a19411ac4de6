"""What a status or a failure means: the table behind docs/outcomes.md. Touches nothing."""

from dataclasses import dataclass

from services.common.records import HANDED_OVER, HELD_BACK, Outcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome class and the reason for it, from the tables below."""

    outcome: Outcome
    reason: str


OK = Verdict(Outcome.OK, "ok")
UNCHANGED = Verdict(Outcome.UNCHANGED, "not-modified")
HEAD_SAME = Verdict(Outcome.UNCHANGED, "head-same")
MOVED = Verdict(Outcome.MOVED, "redirect")
DISALLOWED = Verdict(Outcome.DISALLOWED, "robots")
REDIRECT_LOOP = Verdict(Outcome.PERMANENT, "redirect-loop")
BAD_REDIRECT = Verdict(Outcome.PERMANENT, "redirect-without-location")
BAD_STATUS = Verdict(Outcome.PERMANENT, "unknown-status")

STATUSES = {
    401: Verdict(Outcome.BLOCKED, "unauthorized"),
    403: Verdict(Outcome.BLOCKED, "forbidden"),
    404: Verdict(Outcome.GONE, "not-found"),
    407: Verdict(Outcome.BLOCKED, "proxy-authentication"),
    408: Verdict(Outcome.TRANSIENT, "request-timeout"),
    410: Verdict(Outcome.GONE, "gone"),
    425: Verdict(Outcome.TRANSIENT, "too-early"),
    429: Verdict(Outcome.BLOCKED, "too-many-requests"),
    451: Verdict(Outcome.BLOCKED, "legal"),
    503: Verdict(Outcome.BLOCKED, "unavailable"),
}
CLASSES = {
    2: OK,
    3: BAD_REDIRECT,
    4: Verdict(Outcome.PERMANENT, "client-error"),
    5: Verdict(Outcome.TRANSIENT, "server-error"),
}

FAILURES = {
    verdict.reason: verdict
    for verdict in (
        Verdict(Outcome.POLICY, "private-address"),
        Verdict(Outcome.POLICY, "bad-port"),
        Verdict(Outcome.POLICY, "no-protocol"),
        Verdict(Outcome.POLICY, "headers-too-large"),
        Verdict(Outcome.POLICY, "content-type"),
        Verdict(Outcome.PERMANENT, "bad-url"),
        Verdict(Outcome.PERMANENT, "bad-request"),
        Verdict(Outcome.PERMANENT, "tls-certificate"),
        Verdict(Outcome.PERMANENT, "protocol-error"),
        Verdict(Outcome.PERMANENT, "unsupported-coding"),
        Verdict(Outcome.TRANSIENT, "dns-not-found"),
        Verdict(Outcome.TRANSIENT, "dns-failure"),
        Verdict(Outcome.TRANSIENT, "connection-refused"),
        Verdict(Outcome.TRANSIENT, "connect-timeout"),
        Verdict(Outcome.TRANSIENT, "connect-error"),
        Verdict(Outcome.TRANSIENT, "proxy"),
        Verdict(Outcome.TRANSIENT, "tls"),
        Verdict(Outcome.TRANSIENT, "empty-response"),
        Verdict(Outcome.TRANSIENT, "connection-reset"),
        Verdict(Outcome.TRANSIENT, "read-timeout"),
        Verdict(Outcome.TRANSIENT, "write-timeout"),
        Verdict(Outcome.TRANSIENT, "total-timeout"),
        Verdict(Outcome.TRANSIENT, "browser-crash"),
        Verdict(Outcome.TRANSIENT, "browser-timeout"),
        Verdict(Outcome.TRANSIENT, "robots-unreachable"),
        Verdict(Outcome.TRANSIENT, HELD_BACK),
        Verdict(Outcome.TRANSIENT, HANDED_OVER),
        Verdict(Outcome.TRANSIENT, "internal"),
    )
}
"""Why there is no usable response; the words that `protocols.FetchFailed` may carry."""

BEFORE_RESPONSE = frozenset(
    {
        "private-address",
        "bad-port",
        "no-protocol",
        "dns-not-found",
        "dns-failure",
        "connection-refused",
        "connect-timeout",
        "connect-error",
        "proxy",
        "tls-certificate",
        "tls",
    }
)
"""Failures that any request to the host would meet, robots.txt or page."""

UNREACHABLE = frozenset(
    {
        *("connection-refused", "connect-timeout", "connect-error", "tls", "empty-response"),
        *("connection-reset", "read-timeout", "total-timeout"),
    }
)
"""Failures that are the host's trouble rather than one page's: its next turn waits longer."""

FLAGS = frozenset({"size-limit", "no-trailer"})
"""Damage that leaves a body usable at once: cut by our limit, or only its checksum missing."""
DAMAGE = frozenset({"incomplete", "corrupt"})
"""Damage that is tried again, then accepted with the flag: better than never having the page."""
ACCEPT_DAMAGE_AT = 2
"""Failed attempts after which a damaged body is taken as it is."""


def by_status(status: int) -> Verdict:
    """What `status` means where neither redirect nor validators are involved."""
    return STATUSES.get(status) or CLASSES.get(status // 100, BAD_STATUS)


def by_damage(damage: str, attempt: int) -> Verdict:
    """What a 2xx response means whose body suffered `damage` at the given attempt (from 0)."""
    if damage in FLAGS or (damage in DAMAGE and attempt >= ACCEPT_DAMAGE_AT):
        return Verdict(Outcome.OK, damage)
    if damage in DAMAGE:
        return Verdict(Outcome.TRANSIENT, damage)
    return FAILURES[damage]
