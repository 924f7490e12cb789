"""Carries the requests of the official client over our own HTTP client, which stays fast with hundreds of requests in flight (see `scorers.http.client`)."""

from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from touchstone.scorers.http.client import HttpClient
from touchstone.scorers.http.responses import RemoteProtocolError

#: Verdicts have some kilobytes; a server that sends more than this is broken or malicious.
BODY_BYTES_MAX: Final = 4 * 1024 * 1024
_HEADERS_MAX: Final = 100
#: Headers that are written here, whatever a request has.
_OWN_HEADERS: Final = frozenset({b"accept-encoding", b"connection", b"content-length", b"transfer-encoding"})


def transport_to(base_url: str, *, is_loopback: bool, connect_s: float) -> "JudgeTransport | None":
    """The transport to a server; None where a proxy of the environment is between, which only the official client's own transport can use."""
    proxies = getproxies()
    if not is_loopback and any(proxies.get(name) for name in (urlsplit(base_url).scheme, "all")):
        return None
    return JudgeTransport(HttpClient(base_url, bytes_max=BODY_BYTES_MAX, connect_s=connect_s, tls=httpx2.create_ssl_context))


class JudgeTransport(httpx2.AsyncBaseTransport):
    """Sends requests to the client's server, whatever their URL says. Raises `HttpError`; of these, `ConnectError` means that nothing was sent."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and wait for the whole response."""
        response = await self._client.exchange(_bytes_of(request))
        if response.body is None:
            raise RemoteProtocolError("the response is too large")
        return httpx2.Response(response.status, headers=response.headers, content=response.body)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.close()


class LeanClient(httpx2.AsyncClient):
    """Adds nothing to a request and follows nothing: no cookies, no redirects, no log line. URLs and headers are parsed once."""

    def __init__(self, transport: httpx2.AsyncBaseTransport) -> None:
        super().__init__(transport=transport, trust_env=False, follow_redirects=False)
        self._carrier = transport
        self._urls: dict[str, httpx2.URL] = {}
        self._parsed: dict[tuple[tuple[str, str], ...], httpx2.Headers] = {}

    def build_request(
        self, method: str, url: httpx2.URL | str, *, headers: Any = None, content: Any = None, timeout: Any = None, **more: Any
    ) -> httpx2.Request:
        """The request."""
        if not isinstance(content, bytes) or not isinstance(headers, list) or any(part is not None for part in more.values()):
            return super().build_request(method, url, headers=headers, content=content, timeout=timeout, **more)
        parsed_url = self._urls.get(str(url))
        if parsed_url is None or len(self._parsed) > _HEADERS_MAX:
            self._parsed.clear()
            parsed_url = self._urls[str(url)] = httpx2.URL(url)
        parsed = self._parsed.get(tuple(headers))
        if parsed is None:
            parsed = self._parsed[tuple(headers)] = httpx2.Request(method, parsed_url, headers=headers).headers
        # As a stream: with `content`, httpx2 would look through all headers again.
        request = httpx2.Request(method, parsed_url, headers=parsed, stream=httpx2.ByteStream(content))
        request.read()
        return request

    async def send(self, request: httpx2.Request, **_: Any) -> httpx2.Response:
        """The whole response."""
        response = await self._carrier.handle_async_request(request)
        response.request = request
        await response.aread()
        return response


def _bytes_of(request: httpx2.Request) -> bytes:
    """The request as it is sent."""
    lines = b"".join(b"%b: %b\r\n" % header for header in request.headers.raw if header[0].lower() not in _OWN_HEADERS)
    body = request.content
    first = b"%b %b HTTP/1.1\r\n" % (request.method.encode(), request.url.raw_path)
    return b"%b%baccept-encoding: identity\r\ncontent-length: %d\r\n\r\n%b" % (first, lines, len(body), body)
