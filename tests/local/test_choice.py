"""Where the engines come from: given addresses, then Docker, then Java, then a clear stop."""

import pytest

from services.common.errors import Stop
from services.common.settings import Cassandra, Kafka, Settings
from services.local.choice import choose, given


def works() -> str:
    return ""


def unasked() -> str:
    raise AssertionError("the first way works: the second is not asked")


def test_addresses_count_as_given_only_when_the_user_set_them() -> None:
    assert given(Settings(kafka=Kafka(prefix="x"), cassandra=Cassandra(keyspace="x"))) == {}


def test_each_engine_is_given_on_its_own() -> None:
    kafka = Settings(kafka=Kafka(bootstrap="k:1"), cassandra=Cassandra())
    cassandra = Settings(kafka=Kafka(), cassandra=Cassandra(contact_points="c:2"))
    assert given(kafka) == {"kafka": "k:1"}
    assert given(cassandra) == {"cassandra": "c:2"}


def test_an_address_equal_to_the_default_is_still_given() -> None:
    default = Kafka().bootstrap
    settings = Settings(kafka=Kafka(bootstrap=default), cassandra=Cassandra())
    assert given(settings) == {"kafka": default}


def test_addresses_in_the_environment_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECRAWL_KAFKA__BOOTSTRAP", "k:1")
    monkeypatch.setenv("RECRAWL_CASSANDRA__CONTACT_POINTS", "c:2")
    assert given(Settings()) == {"kafka": "k:1", "cassandra": "c:2"}


@pytest.mark.parametrize(
    ("engine", "docker", "java", "way"),
    [
        ("auto", works, unasked, "docker"),
        ("auto", lambda: "no engine", works, "java"),
        ("docker", works, unasked, "docker"),
        ("java", unasked, works, "java"),
    ],
)
def test_the_first_way_that_is_allowed_and_works_is_taken(
    engine: str, docker: type[str], java: type[str], way: str
) -> None:
    assert choose(engine, {"docker": docker, "java": java}) == way


def test_with_no_way_the_message_names_each_problem_and_what_to_install() -> None:
    problems = {"docker": lambda: "no engine answers", "java": lambda: "no Java"}
    with pytest.raises(Stop) as stop:
        choose("auto", problems)
    message = str(stop.value)
    assert "Docker: no engine answers" in message
    assert "Java: no Java" in message
    assert "apt-get install maven" in message
    assert "docker pull cassandra:5.0.6" in message
    assert "RECRAWL_KAFKA__BOOTSTRAP" in message


def test_a_way_that_was_asked_for_is_not_replaced_by_another() -> None:
    with pytest.raises(Stop, match="Docker: no engine"):
        choose("docker", {"docker": lambda: "no engine", "java": unasked})
