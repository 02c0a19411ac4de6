"""The files of deploy/: complete, filled in fully, and of one version everywhere."""

import re
from pathlib import Path

import pytest

from services.local.cassandra_node import LocalCassandra
from services.local.docker import IMAGES, Project
from services.local.files import compose_file, engine_files, render
from services.local.java import Java, Virtual
from services.local.kafka_node import LocalKafka
from services.local.maven import jars_of, missing

JAVA = Java("java", 'openjdk version "17.0.1"')


def virtual(tmp_path: Path) -> Virtual:
    return Virtual(JAVA, tmp_path / "jars", fast=True)


def properties(path: Path) -> dict[str, str]:
    lines = path.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_kafkas_configuration_carries_this_runs_ports(tmp_path: Path) -> None:
    home = tmp_path / "kafka"
    (home / "data").mkdir(parents=True)  # formatted before
    LocalKafka(virtual(tmp_path), home, port=1111, controller_port=2222).prepare()
    written = properties(home / "server.properties")
    assert written["listeners"] == "PLAINTEXT://127.0.0.1:1111,CONTROLLER://127.0.0.1:2222"
    assert written["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1111"
    assert written["controller.quorum.voters"] == "1@127.0.0.1:2222"
    assert written["auto.create.topics.enable"] == "false"


def test_cassandras_configuration_carries_this_runs_ports_and_keeps_its_name(
    tmp_path: Path,
) -> None:
    def prepared(port: int, storage_port: int) -> str:
        LocalCassandra(
            virtual(tmp_path), tmp_path, port=port, storage_port=storage_port, exact_sizes=False
        ).prepare()
        return (tmp_path / "cassandra.yaml").read_text()

    first, second = prepared(1111, 2222), prepared(3333, 4444)
    assert "native_transport_port: 1111" in first
    assert 'seeds: "127.0.0.1:4444"' in second
    name = re.compile(r"^cluster_name: (recrawl-[0-9a-f]{8})$", re.MULTILINE)
    assert name.findall(first) == name.findall(second) != []


def test_a_quote_in_the_path_is_escaped_for_yaml(tmp_path: Path) -> None:
    home = tmp_path / 'a "b"'
    LocalCassandra(virtual(tmp_path), home, port=1, storage_port=2, exact_sizes=False).prepare()
    assert r"""a \"b\"/commitlog""" in (home / "cassandra.yaml").read_text()


def test_a_value_that_a_template_needs_cannot_be_forgotten(tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.write_text("port=${port}")
    with pytest.raises(KeyError):
        render(template, tmp_path / "out")


def test_everything_binds_to_loopback_only() -> None:
    for path in [*engine_files().rglob("*.yaml"), *engine_files().rglob("*.properties")]:
        assert "0.0.0.0" not in path.read_text(), path
    published = re.findall(r'ports: \["([^"]*)"\]', compose_file().read_text())
    assert len(published) == 2
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_java_and_docker_run_the_same_versions(tmp_path: Path) -> None:
    titles = {
        "kafka": LocalKafka(virtual(tmp_path), tmp_path, port=1, controller_port=2).title,
        "cassandra": LocalCassandra(
            virtual(tmp_path), tmp_path, port=1, storage_port=2, exact_sizes=False
        ).title,
    }
    for engine, image in IMAGES.items():
        version = image.partition(":")[2]
        assert f"image: {image}" in compose_file().read_text()
        assert f"<version>{version}</version>" in (engine_files() / engine / "pom.xml").read_text()
        assert titles[engine] == f"{engine.capitalize()} {version}"


def test_the_compose_file_gets_each_variable_it_asks_for(tmp_path: Path) -> None:
    project = Project.of(tmp_path, kafka_port=1111, cassandra_port=2222)
    asked = set(re.findall(r"\$\{(ENGINES_\w+):-", compose_file().read_text()))
    assert asked == {*project.environment, "ENGINES_PROJECT"}


def test_each_data_directory_has_its_own_containers(tmp_path: Path) -> None:
    def project(name: str, port: int) -> Project:
        return Project.of(tmp_path / name, kafka_port=port, cassandra_port=port)

    assert project("a", 1).name == project("a", 2).name != project("b", 1).name
    assert project("a", 1).kafka_cluster == project("a", 2).kafka_cluster


def test_jars_are_missing_until_they_are_where_the_pom_says(tmp_path: Path) -> None:
    assert missing(["kafka", "cassandra"], tmp_path) == ["kafka", "cassandra"]
    jars_of("kafka", tmp_path).mkdir()
    assert missing(["kafka", "cassandra"], tmp_path) == ["cassandra"]
