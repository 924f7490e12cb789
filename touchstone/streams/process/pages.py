"""The worker's own pages: /metrics, /healthz, /readyz.

Served from a thread, so that they answer correctly even while the event loop is stuck. By the standard library: the live service's server (starlette and
uvicorn) would add 150 ms of processor time and 5 MiB to the start of every worker.
"""

import asyncio
import hmac
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import make_wsgi_app

from touchstone.schemas.settings.house import LOOPBACK, HttpSettings
from touchstone.scorers.base import ConfigError
from touchstone.scorers.http.host_names import is_own, own_names

#: () → (whether it holds, the reason if not)
Probe = Callable[[], tuple[bool, str]]
HEARTBEAT_S = 1.0
#: An event loop that has not completed a turn for this long counts as stuck.
HEARTBEAT_AGE_MAX_S = 30.0


class Heartbeat:
    """Shows the pages' thread that the event loop turns."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    async def beat(self) -> NoReturn:
        """Stamp the time until cancelled."""
        while True:
            self._at = time.monotonic()
            await asyncio.sleep(HEARTBEAT_S)

    def alive(self) -> tuple[bool, str]:
        """Whether the loop has run lately, and the reason if not."""
        return time.monotonic() - self._at <= HEARTBEAT_AGE_MAX_S, "event loop is stuck"


class _Quiet(WSGIRequestHandler):
    """A handler without an access log, and with a bound on how long a silent client may hold its thread."""

    timeout = 10

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class _Server(WSGIServer):
    """One short-lived thread per request."""

    daemon_threads = True
    request_queue_size = 32

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, so that a slow client delays nobody."""
        threading.Thread(target=self._answer, args=(request, client_address), daemon=True).start()

    def _answer(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError:
            pass  # the client has disconnected
        finally:
            self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a broken request: it is the client's fault."""


class _Server6(_Server):
    """The same on an IPv6 address."""

    address_family = socket.AF_INET6


class Pages:
    """The HTTP server of one process."""

    def __init__(self, settings: HttpSettings, registry: CollectorRegistry, healthy: Probe, ready: Probe) -> None:
        self._settings = settings
        self._metrics = make_wsgi_app(registry)
        self._probes = {"/healthz": healthy, "/readyz": ready}
        self._server: WSGIServer | None = None
        self._names = own_names(settings.allowed_hosts, is_loopback=settings.host in LOOPBACK)

    def start(self) -> str:
        """Listen; return the address as `http://host:port`. Raises `ConfigError` if the port cannot be had."""
        host, port = self._settings.host, self._settings.port
        try:
            self._server = make_server(host, port, self._app, server_class=_Server6 if ":" in host else _Server, handler_class=_Quiet)
        except (OSError, UnicodeError) as error:  # UnicodeError: no host name can be made of it
            code = getattr(error, "errno", None) or 0
            reason = os.strerror(code) if code > 0 else "not a host name"
            raise ConfigError(f"http.host/http.port: cannot listen on {host}:{port} ({reason}); choose another port, or 0 for a free one") from None
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.2}, name="pages", daemon=True).start()
        return f"http://{f'[{host}]' if ':' in host else host}:{self._server.server_port}"

    def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def _app(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        host = environ.get("HTTP_HOST")
        if host is not None and not is_own(host, self._names):  # browsers always send one
            return _plain(start_response, "403 Forbidden", "not a name of this process; add it to http.allowed_hosts")
        if environ.get("REQUEST_METHOD") not in {"GET", "HEAD"}:
            return _plain(start_response, "405 Method Not Allowed", "only GET")
        probe = self._probes.get(path)
        if probe is not None:  # probes answer yes or no and a code: no token, because orchestrators have none
            good, why = probe()
            return _plain(start_response, "200 OK" if good else "503 Service Unavailable", "ok" if good else why)
        if path != "/metrics":
            return _plain(start_response, "404 Not Found", "pages: /metrics /healthz /readyz")
        if not self._authorised(environ.get("HTTP_AUTHORIZATION", "")):
            return _plain(start_response, "401 Unauthorized", "bearer token required", [("WWW-Authenticate", "Bearer")])
        return self._metrics(environ, start_response)  # type: ignore[no-any-return]

    def _authorised(self, header: str) -> bool:
        """True if the token fits, compared in constant time; without a configured token everybody on loopback may read."""
        if self._settings.token is None:
            return True
        expected = f"Bearer {self._settings.token.get_secret_value()}"
        return hmac.compare_digest(header.encode("utf-8", "replace"), expected.encode())


def _plain(start_response: Any, status: str, text: str, headers: Iterable[tuple[str, str]] = ()) -> list[bytes]:
    body = f"{text}\n".encode()
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body))), *headers])
    return [body]
