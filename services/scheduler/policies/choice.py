"""Which policy, with which constants, for which host or job (A10): rules from a TOML file.

Every rule that matches applies, in the file's order; where two name the same option the later one
wins, and what none names stays as the settings say.
"""

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

import msgspec
from pydantic import ValidationError

from services.common.errors import Stop
from services.common.settings import Scheduler
from services.scheduler.policies.base import Policy
from services.scheduler.policies.loader import load


class _Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[rule]]`; without `hosts` it is for all hosts, without `jobs` for all jobs."""

    hosts: list[str] | None = None
    jobs: list[str] | None = None
    policy: str | None = None
    first_interval: float | None = None
    factor: float | None = None
    min_interval: float | None = None
    max_interval: float | None = None
    prior_shape: float | None = None
    prior_time: float | None = None
    max_shape: float | None = None
    host_prior_after: int | None = None
    host_prior_shape: float | None = None
    use_hints: bool | None = None
    max_age_limit: float | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rule: list[_Rule] = []


_OPTIONS = tuple(name for name in _Rule.__struct_fields__ if name not in ("hosts", "jobs"))


class Chooser:
    """The policy of a host and job."""

    def __init__(self, settings: Scheduler, text: str = "", file: str = "rules") -> None:
        """`text`: that of the rules file, whose name in messages is `file`.

        Raises:
            Stop: saying what is wrong, and in which rule.
        """
        self._settings = settings
        self._file = file
        try:
            self._rules = msgspec.toml.decode(text, type=_File).rule
        except msgspec.DecodeError as error:
            raise Stop(f"{file}: {error}") from error
        self._made: dict[tuple[int, ...], Policy] = {}
        for number, rule in enumerate(self._rules):
            if rule.hosts is None and rule.jobs is None:
                raise Stop(f"{file}: rule {number + 1}: say for which `hosts` or `jobs` it is")
            self._make((number,))
        self._make(())
        self.priced = any(policy.priced for policy in self._made.values())
        """Whether any policy plans by the price."""
        self.policy = lru_cache(maxsize=10_000)(self._policy)

    def _policy(self, host: str, job: str) -> Policy:
        matching = (n for n, rule in enumerate(self._rules) if _matches(rule, host, job))
        return self._make(tuple(matching))

    def _make(self, numbers: tuple[int, ...]) -> Policy:
        """The policy under these rules together; each is made once."""
        if numbers not in self._made:
            options: dict[str, Any] = self._settings.model_dump()  # settings of any type
            for number in numbers:
                rule = self._rules[number]
                found = ((name, getattr(rule, name)) for name in _OPTIONS)
                options.update((name, option) for name, option in found if option is not None)
            try:
                self._made[numbers] = load(Scheduler.model_validate(options))
            except (ValidationError, Stop) as error:
                where = ", ".join(str(number + 1) for number in numbers)
                raise Stop(f"{self._file}: rule {where}: {_said(error)}") from error
        return self._made[numbers]


def _matches(rule: _Rule, host: str, job: str) -> bool:
    of_host = rule.hosts is None or any(fnmatchcase(host, p.lower()) for p in rule.hosts)
    return of_host and (rule.jobs is None or any(fnmatchcase(job, p) for p in rule.jobs))


def _said(error: ValidationError | Stop) -> str:
    if isinstance(error, Stop):
        return str(error)
    return "; ".join(
        f"`{part['loc'][0] if part['loc'] else ''}`: {part['msg']}" for part in error.errors()
    )


def read(settings: Scheduler) -> Chooser:
    """The policies that the settings and their rules file name.

    Raises:
        Stop: saying what is wrong, and in which rule.
    """
    path = settings.policies_file
    if path is None:
        return Chooser(settings)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise Stop(f"RECRAWL_SCHEDULER__POLICIES_FILE: cannot read {path}: {error}") from error
    return Chooser(settings, text, str(path))
