"""The scopes of a crawl as a choice on the command line."""

from enum import Enum
from typing import Literal


class Scope(Enum):
    """As `records.Scope`; the name is what is typed."""

    HOST = "host"
    DOMAIN = "domain"
    ANY = "any"

    value: Literal["host", "domain", "any"]
