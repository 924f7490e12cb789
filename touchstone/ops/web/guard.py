"""Checks every request before any route: host name, size of the URL, origin. Adds security headers to every response."""

from pathlib import Path
from traceback import extract_tb

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from touchstone.schemas.settings.house import ServeSettings
from touchstone.scorers.http.host_names import is_own, own_names
from touchstone.streams.telemetry.metric_list import Refusal
from touchstone.streams.telemetry.serve_counts import ServeCounts

log = structlog.get_logger("touchstone.serve")

URL_CHARS_MAX = 8_192
DEFECT = "a defect of Touchstone; its log names the place"
#: Methods that change nothing. Any page may send them; only those of `serve.cors_origins` can read the response.
READING = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """The outermost layer of the application. `policy`: the content security policy of every response."""

    def __init__(self, app: ASGIApp, settings: ServeSettings, counts: ServeCounts, policy: str) -> None:
        self._app = app
        self._counts = counts
        self._names = own_names(settings.allowed_hosts, is_loopback=settings.is_loopback)
        self._origins = frozenset(settings.cors_origins)
        self._headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-resource-policy": "same-origin" if not self._origins else "cross-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request or connection."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        begun = False

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            reason, status, text = refusal
            self._counts.refused(reason)
            await JSONResponse({"error": text}, status)(scope, receive, with_headers)
            return
        try:
            await self._app(scope, receive, with_headers)
        except Exception as error:  # noqa: BLE001 -- a defect ends one request; its text may quote what was asked
            frame = (extract_tb(error.__traceback__) or [None])[-1]
            log.error("request_failed", code=type(error).__name__, path=f"{Path(frame.filename).name}:{frame.lineno}" if frame else "")
            if not begun and scope["type"] == "http":
                await JSONResponse({"error": DEFECT}, 500)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[Refusal, int, str] | None:
        """Why a request is refused: reason to count, status and message; None if it is accepted."""
        if len(scope.get("raw_path") or scope["path"]) + len(scope.get("query_string", b"")) > URL_CHARS_MAX:
            return "request", 414, f"the address is longer than {URL_CHARS_MAX:,} characters"
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not is_own(host, self._names):
            return "host", 403, "not a name of this service; add it to serve.allowed_hosts"
        # Browsers let any page open a WebSocket to any server, and send it a form, so the origin is checked here.
        if (scope["type"] == "websocket" or scope["method"] not in READING) and self._is_foreign(headers, host):
            return "origin", 403, "not a page of this service; add its origin to serve.cors_origins"
        return None

    def _is_foreign(self, headers: Headers, host: str) -> bool:
        """True if a browser sends a request for a page of another origin. Programs send neither header."""
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}
        return origin not in self._origins and origin.partition("://")[2] != host
