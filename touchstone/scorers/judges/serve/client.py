"""The client of OpenAI-compatible servers: sends one request and returns its answer or a fault. The only module that imports openai.

Requests go over our own HTTP client, which stays fast with hundreds of requests in flight (see `scorers.http.client`). Only where a proxy of the environment is
between, the official client sends them, because ours speaks to no proxy: it takes several times as much of a processor. The library's exceptions contain text
of requests and answers. All of them end here, so such text leaves only in the answer's body.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2
import openai
import orjson

from touchstone.scorers.http.client import HttpClient
from touchstone.scorers.http.responses import ConnectError, HttpError, TlsMismatch
from touchstone.scorers.judges.serve.faults import BROKEN_OFF, NO_CONNECTION, OTHER_PROTOCOL, TIMED_OUT, Fault, fault_of
from touchstone.scorers.judges.settings import JudgeSettings

#: Libraries that log what they send.
_TALKATIVE: Final = ("openai", "httpx2", "httpcore2", "httpx", "httpcore")
_PATH: Final = "/chat/completions"
#: Verdicts have some kilobytes; a server that sends more than this is broken or malicious.
_BODY_BYTES_MAX: Final = 4 * 1024 * 1024
_IDLE_S: Final = 15.0
#: Failures before anything was sent, so that nothing was charged.
_UNSENT: Final = (httpx2.ConnectError, httpx2.ProxyError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class Client:
    """Connections to one server. It neither waits nor retries; its callers do."""

    def __init__(self, settings: JudgeSettings, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        """`transport`: replaces the network in tests."""
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.WARNING)
        self._timeout_s = settings.timeout_s
        self._http = _direct_client(settings) if transport is None else None
        self._official = _official_client(settings, transport) if self._http is None else None

    async def send(self, body: bytes) -> Mapping[str, Any] | Fault:
        """Send one request for a chat completion. `body`: its JSON. Returns the answer's document, or what went wrong."""
        try:
            async with asyncio.timeout(self._timeout_s):
                content = await self._content(body)
            if isinstance(content, Fault):
                return content
            answer = orjson.loads(content)
        except TimeoutError:
            return TIMED_OUT
        except TlsMismatch:
            return OTHER_PROTOCOL
        except ConnectError:
            return NO_CONNECTION
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, _UNSENT):
                return NO_CONNECTION
            return TIMED_OUT if isinstance(error, openai.APITimeoutError) else BROKEN_OFF
        except openai.APIStatusError as error:
            return fault_of(error.status_code, error.body, error.response.headers)
        except (openai.OpenAIError, httpx2.HTTPError, HttpError, ValueError):
            return BROKEN_OFF
        return answer if isinstance(answer, Mapping) and not answer.get("error") else _fault_within(answer)

    async def close(self) -> None:
        """Close the connections."""
        for client in (self._http, self._official):
            if client is not None:
                await client.close()

    async def _content(self, body: bytes) -> bytes | Fault:
        """The body of a successful response. Raises what either library raises."""
        if self._http is not None:
            response = await self._http.send("POST", _PATH, body)
            if response.body is None:
                return BROKEN_OFF  # it is too large
            return response.body if response.status < 300 else fault_of(response.status, _error_in(response.body), response.header_map())
        assert self._official is not None
        # Not `chat.completions.create`, whose models of requests and answers take longer than everything else here.
        return (await self._official.post(_PATH, cast_to=httpx2.Response, content=body)).content


def _direct_client(settings: JudgeSettings) -> HttpClient | None:
    """Our own client of the server; None where a proxy of the environment is between."""
    proxies = getproxies()
    if not settings.is_loopback and any(proxies.get(name) for name in (urlsplit(settings.base_url).scheme, "all")):
        return None
    headers = {"Accept": "application/json", "Content-Type": "application/json", "Authorization": f"Bearer {_key_of(settings)}"}
    return HttpClient(settings.base_url, headers, bytes_max=_BODY_BYTES_MAX, connect_s=settings.connect_timeout_s, tls=httpx2.create_ssl_context)


def _official_client(settings: JudgeSettings, transport: httpx2.AsyncBaseTransport | None) -> openai.AsyncOpenAI:
    """The library's client."""
    timeout = httpx2.Timeout(settings.timeout_s, connect=settings.connect_timeout_s, pool=None)
    http = httpx2.AsyncClient(
        follow_redirects=False,  # a redirect would send texts of cases to another server
        timeout=timeout,
        transport=transport,
        verify=settings.base_url.startswith("https:"),  # loading the authorities takes a while, and plain http does not need them
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=settings.concurrency, keepalive_expiry=_IDLE_S),
        event_hooks={"response": [_bound]},
    )
    return openai.AsyncOpenAI(
        api_key=_key_of(settings),
        base_url=settings.base_url,
        timeout=timeout,
        max_retries=0,
        http_client=http,
        # The size limit holds for what arrives, and a compressed body would expand beyond it.
        default_headers={"Accept-Encoding": "identity", "Content-Type": "application/json"},
    )


def _key_of(settings: JudgeSettings) -> str:
    return settings.api_key.get_secret_value() if settings.api_key is not None else "none"


async def _bound(response: httpx2.Response) -> None:
    """Refuse a compressed body, and break off a body that is too long."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.DecodingError("packed")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundStream(response.stream)


class _BoundStream(httpx2.AsyncByteStream):
    """A body that breaks off at the size limit."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > _BODY_BYTES_MAX:
                raise httpx2.ReadError("too long")
            yield part

    async def aclose(self) -> None:
        """Close the connection's stream."""
        await self._inner.aclose()


def _error_in(body: bytes) -> Any:
    """The part of an error's body that describes it."""
    try:
        document = orjson.loads(body)
    except ValueError:
        return body.decode(errors="replace")
    return document.get("error", document) if isinstance(document, Mapping) else document


def _fault_within(answer: Any) -> Fault:
    """The fault that a body reports although its status is good, as some gateways do."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if not error:
        return BROKEN_OFF
    code = error.get("code") if isinstance(error, Mapping) else None
    return fault_of(code if isinstance(code, int) and 400 <= code < 600 else 500, error, {})
