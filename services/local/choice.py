"""Decides where Kafka and Cassandra come from. Runs nothing: whoever asks gives the answers."""

from collections.abc import Callable, Mapping

from services.common.errors import Stop
from services.common.settings import Settings

_ORDER = {"auto": ("docker", "java"), "docker": ("docker",), "java": ("java",)}
_REMEDY = """\
Kafka and Cassandra cannot be started here:
{problems}
Do one of these:
  - install Java 17 and Maven (Debian, Ubuntu: `apt-get install maven`), and both engines are
    fetched and started for you
  - install Docker with its compose plugin, then `docker pull apache/kafka:4.1.1` and
    `docker pull cassandra:5.0.6`
  - set RECRAWL_KAFKA__BOOTSTRAP and RECRAWL_CASSANDRA__CONTACT_POINTS to engines you have"""


def given(settings: Settings) -> dict[str, str]:
    """The addresses that the user set, by engine; each engine is decided on its own."""
    kafka, cassandra = settings.kafka, settings.cassandra
    addresses = {}
    if "bootstrap" in kafka.model_fields_set:
        addresses["kafka"] = kafka.bootstrap
    if "contact_points" in cassandra.model_fields_set:
        addresses["cassandra"] = cassandra.contact_points
    return addresses


def choose(engine: str, problems: Mapping[str, Callable[[], str]]) -> str:
    """`docker` or `java`: the first that `engine` (auto, docker, java) allows and that works.

    `problems` says for each why it cannot be used, an empty text if it can; the second is only
    asked when the first has a problem.

    Raises:
        Stop: none works; the message says what to install.
    """
    found = []
    for way in _ORDER[engine]:
        problem = problems[way]()
        if not problem:
            return way
        found.append(f"  - {way.capitalize()}: {problem}")
    raise Stop(_REMEDY.format(problems="\n".join(found)))
