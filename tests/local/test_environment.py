"""A child's settings are its parent's."""

import pytest

from services.common.settings import Fetcher, Kafka, Settings, load
from services.local.environment import environment


def test_settings_survive_the_environment_whatever_was_inherited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(
        kafka=Kafka(bootstrap="a:1,b:2", prefix="p-", options={"Security.Protocol": "ssl"}),
        fetcher=Fetcher(allow_private=["127.0.1.0/24"], contact='quo"te é'),
    )
    monkeypatch.setenv("RECRAWL_KAFKA__BOOTSTRAP", "other:9")
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    assert load() == settings
