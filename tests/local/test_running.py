"""How other commands find a pipeline that runs."""

from pathlib import Path

from services.common.settings import Cassandra, Kafka, Local, Settings
from services.local.running import announce, find, joined


def at(data_dir: Path, **more: Kafka | Cassandra) -> Settings:
    return Settings(local=Local(data_dir=data_dir)).model_copy(update=more)


def test_it_is_found_while_it_runs_and_its_addresses_are_taken(tmp_path: Path) -> None:
    running = at(
        tmp_path,
        kafka=Kafka(bootstrap="127.0.0.1:1", prefix="p-"),
        cassandra=Cassandra(contact_points="127.0.0.1:2", keyspace="k"),
    )
    with announce(running, {"parser": 3}):
        found = find(at(tmp_path))
        assert found is not None
        assert found.ports == {"parser": 3}
        taken = joined(at(tmp_path), found)
    assert (taken.kafka.bootstrap, taken.kafka.prefix) == ("127.0.0.1:1", "p-")
    assert (taken.cassandra.contact_points, taken.cassandra.keyspace) == ("127.0.0.1:2", "k")
    assert find(at(tmp_path)) is None


def test_an_address_that_the_user_gave_is_kept(tmp_path: Path) -> None:
    running = at(tmp_path, kafka=Kafka(bootstrap="127.0.0.1:1"))
    own = at(tmp_path, kafka=Kafka(bootstrap="elsewhere:9"))
    with announce(running, {}):
        assert joined(own, find(own)).kafka.bootstrap == "elsewhere:9"


def test_a_file_of_a_process_that_is_gone_or_of_another_kind_is_no_pipeline(
    tmp_path: Path,
) -> None:
    file = tmp_path / "running.json"
    for text in (
        '{"pid":999999999,"kafka":"","prefix":"","cassandra":"","keyspace":"","ports":{}}',
        "{",
        "",
    ):
        file.write_text(text)
        assert find(at(tmp_path)) is None
