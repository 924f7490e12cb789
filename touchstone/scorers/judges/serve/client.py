"""The official client of OpenAI-compatible servers: sends one request and returns its answer or a fault. The only module that imports openai.

The library's exceptions contain text of requests and answers. All of them end here, so such text leaves only in the answer's body.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import httpx2
import openai
import orjson

from touchstone.scorers.http.responses import ConnectError, HttpError
from touchstone.scorers.judges.serve.faults import BROKEN_OFF, NO_CONNECTION, TIMED_OUT, Fault, fault_of
from touchstone.scorers.judges.serve.transport import LeanClient, transport_to
from touchstone.scorers.judges.settings import JudgeSettings

#: Libraries that log what they send.
_TALKATIVE: Final = ("openai", "httpx2", "httpcore2", "httpx", "httpcore")
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
        timeout = httpx2.Timeout(settings.timeout_s, connect=settings.connect_timeout_s, pool=None)
        transport = transport or transport_to(settings.base_url, is_loopback=settings.is_loopback, connect_s=settings.connect_timeout_s)
        http = (
            LeanClient(transport)
            if transport is not None
            else httpx2.AsyncClient(
                follow_redirects=False,  # a redirect would send texts of cases to another server
                timeout=timeout,
                verify=settings.base_url.startswith("https:"),  # loading the authorities takes a while, and plain http does not need them
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=settings.concurrency, keepalive_expiry=_IDLE_S),
                event_hooks={"response": [_bound]},
            )
        )
        self._client = _OneAddress(
            api_key=settings.api_key.get_secret_value() if settings.api_key is not None else "none",
            base_url=settings.base_url,
            timeout=timeout,
            max_retries=0,
            http_client=http,
            default_headers={"Accept-Encoding": "identity"},  # the size limit holds for what arrives, and a compressed body would expand beyond it
        )

    async def send(self, body: bytes) -> Mapping[str, Any] | Fault:
        """Send one request for a chat completion. `body`: its JSON. Returns the answer's document, or what went wrong."""
        try:
            async with asyncio.timeout(self._timeout_s):
                # Not `chat.completions.create`, whose models of requests and answers take longer than everything else here.
                response = await self._client.post("/chat/completions", cast_to=httpx2.Response, content=body)
            answer = orjson.loads(response.content)
        except TimeoutError:
            return TIMED_OUT
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
        await self._client.close()


class _OneAddress(openai.AsyncOpenAI):
    """The official client for requests with one URL and one set of headers. Both are made once, which saves a third of its time.

    If the library renames these methods, they are no longer called, and only that time is lost.
    """

    _address: httpx2.URL | None = None
    _headers: httpx2.Headers | None = None

    def _prepare_url(self, url: str) -> httpx2.URL:
        if self._address is None:
            self._address = super()._prepare_url(url)
        return self._address

    def _build_headers(self, options: Any, *, retries_taken: int = 0) -> httpx2.Headers:
        if self._headers is None:
            self._headers = super()._build_headers(options, retries_taken=retries_taken)
        return self._headers


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


def _fault_within(answer: Any) -> Fault:
    """The fault that a body reports although its status is good, as some gateways do."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    if not error:
        return BROKEN_OFF
    code = error.get("code") if isinstance(error, Mapping) else None
    return fault_of(code if isinstance(code, int) and 400 <= code < 600 else 500, error, {})
