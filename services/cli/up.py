"""`recrawl up`: engines and services, kept running for whoever produces seeds."""

import shutil
import time

import typer

from services.common.kafka import options
from services.common.settings import Settings, load
from services.common.topics import SEEDS
from services.local.maven import jars_of
from services.local.whole import Whole, whole


def up() -> None:
    """Start Kafka, Cassandra and the four services, and keep them running until Ctrl-C."""
    settings = load()
    try:
        with whole(settings, typer.echo) as running:
            typer.echo(describe(running))
            while True:
                running.pipeline.check()
                time.sleep(0.5)
    except KeyboardInterrupt:
        typer.echo("stopped")


def describe(running: Whole) -> str:
    """Where everything is, and how to put a seed in, as lines for a person."""
    settings = running.settings
    services = running.pipeline
    lines = [
        "",
        f"Kafka       {settings.kafka.bootstrap}",
        f"Cassandra   {settings.cassandra.contact_points}, keyspace {settings.cassandra.keyspace}",
        *(
            f"{name:11} http://127.0.0.1:{port}/metrics  log: {services.logs[name]}"
            for name, port in services.ports.items()
        ),
        "",
        "Give it a URL to crawl, with any Kafka client:",
        *(f"  {line}" for line in seed_lines(settings, running.endpoints.how)),
        "",
        "In another terminal: `recrawl status`, `recrawl page URL`, `recrawl crawl URL`.",
        "Ctrl-C stops everything; what is stored and scheduled stays for the next start.",
    ]
    return "\n".join(lines)


def seed_lines(settings: Settings, how: str) -> list[str]:
    """Shell lines that produce a seed: kcat, and Kafka's own console producer as it is here."""
    topic = options.physical(settings.kafka, SEEDS)
    where = settings.kafka.bootstrap
    echo = "echo https://example.org/"
    arguments = f"--bootstrap-server {where} --topic {topic}"
    lines = [f"{echo} | kcat -P -b {where} -t {topic}"]
    jars = settings.local.jars_dir or settings.local.data_dir / "jars"
    if how == "java":
        classes = jars_of("kafka", jars.absolute())
        producer = "org.apache.kafka.tools.ConsoleProducer"
        lines.append(f"{echo} | java -cp '{classes}/*' {producer} {arguments}")
    elif how == "docker" and shutil.which("docker"):
        container = "$(docker ps -q -f label=com.docker.compose.service=kafka)"
        script = "/opt/kafka/bin/kafka-console-producer.sh"
        lines.append(f"{echo} | docker exec -i {container} {script} {arguments}")
    else:
        lines.append(f"{echo} | kafka-console-producer.sh {arguments}")
    return lines
