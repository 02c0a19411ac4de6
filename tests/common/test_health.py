"""F6: the three endpoints."""

import socket
import urllib.request
from urllib.error import HTTPError

import pytest

from services.common.errors import Stop
from services.common.health import HealthServer
from services.common.settings import Health


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_each_probe_answers_for_itself() -> None:
    with HealthServer(Health(), live=list, ready=lambda: ["no broker", "no tables"]) as server:
        assert get(server.port, "/livez") == (200, "ok\n")
        assert get(server.port, "/readyz") == (503, "no broker\nno tables\n")
        status, text = get(server.port, "/metrics")
        assert status == 200
        assert "recrawl_records_in_total" in text
        assert get(server.port, "/")[0] == 404


def test_a_port_that_is_taken_is_named_with_its_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Health(port=taken.getsockname()[1])
        with pytest.raises(Stop, match="RECRAWL_HEALTH__PORT"):
            HealthServer(settings, live=list, ready=list)
