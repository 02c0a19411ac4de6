"""`/metrics`, `/livez` and `/readyz` of one process, answered by a thread of its own.

The thread answers even when the event loop is stuck, which is what `/livez` is there to tell.
"""

import logging
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from services.common.errors import Stop
from services.common.settings import Health

_log = logging.getLogger(__name__)

Check = Callable[[], list[str]]
"""Gives what is wrong, one line each; empty when all is well."""


class HealthServer:
    """Listens from construction to `close`; `port` is where."""

    def __init__(self, settings: Health, *, live: Check, ready: Check) -> None:
        """Listen.

        Raises:
            Stop: the address cannot be listened on.
        """
        try:
            self._server = _Server((settings.host, settings.port), _Handler)
        except OSError as error:
            where = f"{settings.host}:{settings.port}"
            message = f"health: cannot listen on {where} ({error}); set RECRAWL_HEALTH__PORT"
            raise Stop(message) from error
        self._server.checks = {"/livez": live, "/readyz": ready}
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="health", daemon=True
        )
        self._thread.start()
        _log.info("listening url=http://%s:%d", settings.host, self.port)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    checks: dict[str, Check]


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5
    server_version = "recrawl"

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self._answer(200, generate_latest(), CONTENT_TYPE_LATEST)
        elif (check := self.server.checks.get(self.path)) is None:
            self._answer(404, b"try /metrics, /livez or /readyz\n", "text/plain; charset=utf-8")
        else:
            problems = check()
            text = "".join(f"{line}\n" for line in problems) or "ok\n"
            self._answer(503 if problems else 200, text.encode(), "text/plain; charset=utf-8")

    def _answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Probes are not worth a line each."""
