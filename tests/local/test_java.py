from pathlib import Path

import pytest

from services.local.java import Java, Virtual, class_path, find_java, major_version


@pytest.mark.parametrize(
    ("description", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment (build)', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "24-ea" 2025-03-18', 24),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17.0.1"', 17),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", 0),
        ("", 0),
    ],
)
def test_the_version_is_read_from_what_java_prints(description: str, version: int) -> None:
    assert major_version(description) == version


def fake_java(directory: Path, version: str) -> Path:
    """A `java` command that only knows its version."""
    directory.mkdir(parents=True)
    command = directory / "java"
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    command.chmod(0o755)
    return command


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home" / "bin", "17.0.1")
    fake_java(tmp_path / "path", "17.0.2")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path")})
    assert found == Java(str(home), 'openjdk version "17.0.1"\n')


@pytest.mark.parametrize("version", ["11.0.2", "24.0.1"])
def test_a_java_home_that_does_not_fit_is_passed_over(tmp_path: Path, version: str) -> None:
    fake_java(tmp_path / "home" / "bin", version)
    path = fake_java(tmp_path / "path", "17.0.2")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path")})
    assert found is not None
    assert found.path == str(path)


def test_without_java_nothing_is_found(tmp_path: Path) -> None:
    assert find_java({"PATH": str(tmp_path)}) is None


JAVA = Java("java", 'openjdk version "17.0.1"')


def jars(tmp_path: Path) -> Path:
    directory = tmp_path / "kafka-1"
    directory.mkdir()
    for name in ("b.jar", "a.jar", "notes.txt"):
        (directory / name).touch()
    return directory


def test_the_class_path_holds_the_jars_in_a_fixed_order(tmp_path: Path) -> None:
    directory = jars(tmp_path)
    assert class_path(directory) == f"{directory / 'a.jar'}:{directory / 'b.jar'}"


def recorded(virtual: Virtual) -> Path:
    """Where this command line would write class data."""
    flag = "-XX:ArchiveClassesAtExit="
    (option,) = [part for part in virtual.command([], ["Main"]) if part.startswith(flag)]
    return Path(option.removeprefix(flag))


def test_the_first_run_records_class_data_and_the_next_one_uses_it(tmp_path: Path) -> None:
    directory = jars(tmp_path)
    first = Virtual(JAVA, directory, fast=True)
    assert first.records
    recorded(first).touch()
    first.stopped(clean=True)
    second = Virtual(JAVA, directory, fast=True)
    assert not second.records
    (used,) = [part for part in second.command([], ["Main"]) if "SharedArchiveFile" in part]
    assert Path(used.partition("=")[2]).exists()


def test_class_data_of_a_run_that_crashed_is_thrown_away(tmp_path: Path) -> None:
    virtual = Virtual(JAVA, jars(tmp_path), fast=True)
    recorded(virtual).touch()
    virtual.stopped(clean=False)
    assert virtual.records
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kafka-1"]


def test_another_java_does_not_use_the_same_class_data(tmp_path: Path) -> None:
    directory = jars(tmp_path)
    first = Virtual(JAVA, directory, fast=True)
    recorded(first).touch()
    first.stopped(clean=True)
    assert Virtual(Java("java", 'openjdk version "21"'), directory, fast=True).records


def test_without_fast_start_the_machine_is_left_as_it_is(tmp_path: Path) -> None:
    directory = jars(tmp_path)
    virtual = Virtual(JAVA, directory, fast=False)
    assert not virtual.records
    expected = ["java", "-Xmx1g", "-cp", class_path(directory), "Main", "argument"]
    assert virtual.command(["-Xmx1g"], ["Main", "argument"]) == expected
