"""Every error of ours, split by what the caller does about it.

RecrawlError
├── Retry       the outside world is not ready: the same work is tried again later
├── Drop        this one item is refused; the reason is counted, its neighbours go on
├── DeadLetter  the record cannot be used: it goes to `dead-letters` with the reason
└── Stop        the process cannot go on: wrong settings, missing engine

Exceptions of libraries are mapped to these at the edge that calls the library.
"""


class RecrawlError(Exception):
    """The root; never raised itself."""


class Retry(RecrawlError):  # noqa: N818 - named for what the caller does
    """The outside world is not ready; the same work is tried again later."""


class _WithReason(RecrawlError):  # noqa: N818 - never raised itself
    """An error with a reason from a documented list (a metric label) and free detail."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class Drop(_WithReason):
    """One item is refused for `reason`; its neighbours go on."""


class DeadLetter(_WithReason):
    """A record that can never be used; kept on `dead-letters` for a person to look at."""


class Stop(RecrawlError):  # noqa: N818 - named for what the caller does
    """The process cannot go on; the message says what to do about it."""
