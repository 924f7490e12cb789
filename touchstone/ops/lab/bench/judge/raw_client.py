"""What the judge is compared with: two programs without limits, retries, a budget, a deadline or fences around the case.

The raw loop is what a person writes first: a session of aiohttp, whose answers are decoded and validated. The raw client has keep-alive connections on bare
transports and one request in flight on each; it encodes the body and reads the verdict. No loop around the same server can do better.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel

_LENGTH = b"content-length:"


class _Connection(asyncio.Protocol):
    """One connection. `answer` receives the body of the next whole response."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(ConnectionError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower() + b"\r\n"
        start = head.find(_LENGTH) + len(_LENGTH)
        until = end + 4 + int(head[start : head.find(b"\r\n", start)])
        if len(self._buffer) >= until and self.answer is not None:
            answer, self.answer = self.answer, None
            body = bytes(self._buffer[end + 4 : until])
            self._buffer.clear()
            if not head.startswith(b"http/1.1 200"):
                answer.set_exception(ConnectionError("the server answered with an error"))
            else:
                answer.set_result(body)


class RawLoop:
    """Asks the server the same thing as the judge does, over aiohttp."""

    def __init__(self, base_url: str, body: Mapping[str, Any], verdict: type[BaseModel]) -> None:
        import aiohttp

        self._url = f"{base_url}/chat/completions"
        self._body, self._verdict = dict(body), verdict
        headers = {"Authorization": "Bearer key", "Content-Type": "application/json"}
        self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers)

    async def ask(self, text: str) -> BaseModel:
        """The verdict on a case."""
        messages = [*self._body["messages"][:-1], {**self._body["messages"][-1], "content": text}]
        async with self._session.post(self._url, data=orjson.dumps({**self._body, "messages": messages})) as response:
            response.raise_for_status()
            return _verdict_in(await response.read(), self._verdict)

    async def close(self) -> None:
        """Hang up."""
        await self._session.close()


class RawClient:
    """Asks the server the same thing as the judge does: `body` is one of the judge's own requests, its last message is replaced for each case."""

    def __init__(self, base_url: str, body: Mapping[str, Any], verdict: type[BaseModel]) -> None:
        place = urlsplit(base_url)
        self._host, self._port = str(place.hostname), int(place.port or 80)
        self._head = f"POST {place.path}/chat/completions HTTP/1.1\r\nhost: {place.netloc}\r\nauthorization: Bearer key\r\ncontent-type: application/json\r\n"
        self._body = dict(body)
        self._verdict = verdict
        self._idle: list[_Connection] = []

    async def ask(self, text: str) -> BaseModel:
        """The verdict on a case."""
        messages = [*self._body["messages"][:-1], {**self._body["messages"][-1], "content": text}]
        data = orjson.dumps({**self._body, "messages": messages})
        loop = asyncio.get_running_loop()
        connection = self._idle.pop() if self._idle else (await loop.create_connection(_Connection, self._host, self._port))[1]
        connection.answer = waiting = loop.create_future()
        connection.transport.write(f"{self._head}content-length: {len(data)}\r\n\r\n".encode() + data)
        body = await waiting
        self._idle.append(connection)
        return _verdict_in(body, self._verdict)

    async def close(self) -> None:
        """Hang up."""
        for connection in self._idle:
            connection.transport.close()


def _verdict_in(body: bytes, verdict: type[BaseModel]) -> BaseModel:
    message = orjson.loads(body)["choices"][0]["message"]
    said = message["tool_calls"][0]["function"]["arguments"] if message.get("tool_calls") else message["content"]
    return verdict.model_validate_json(said)
