"""The server: it reads requests, asks the script, applies faults and latency, and records the requests."""

import asyncio
import gzip
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson

from tests.doubles.judges.asked import Asked, Refused, digest_of, read_body
from tests.doubles.judges.faults import Fault, Kind
from tests.doubles.judges.replies import Message, Reply, completion, events, message_of, models, tokens_of
from tests.doubles.judges.script import Answering, Script
from tests.doubles.judges.seen import Arrival, Seen
from tests.doubles.judges.wire import Connection, Received, chunked, head, response

_WRITE_BYTES = 256 * 1024
#: Faults that send bytes at their own pace; every other one is a response in one piece.
_PACED = {Kind.HANG, Kind.STALLED, Kind.HALF_CLOSED, Kind.RESET, Kind.HANG_UP, Kind.DRIP, Kind.ENORMOUS}
_EVENT_STREAM = "text/event-stream; charset=utf-8"


@dataclass(slots=True)
class Limit:
    """So many requests a second and no more, with so many at once to begin with; the others get a 429 whose Retry-After is true."""

    per_s: float
    burst: int = 1
    _level: float = 0.0
    _at: float = 0.0

    def wait_s(self) -> float:
        """0 for a request that may pass, else the seconds until the next one may."""
        now = time.monotonic()
        self._level = max(0.0, self._level - (now - self._at) * self.per_s)
        self._at = now
        if self._level + 1 > self.burst:
            return (self._level + 1 - self.burst) / self.per_s
        self._level += 1
        return 0.0


class JudgeServer:
    """A model's server on loopback, for `async with`. `base_url`: for clients; `seen`: the requests.

    `answer`: the script, by default the simplest value that fits the request's schema. `faults`: the first that strikes counts, where the reply has
    none of its own. `latency_s`: from the request to its answer, faults included. `keys`: those it takes; every key, and none, by default.
    `mistakes`: exceptions of the script; each is answered with a 500.
    """

    def __init__(
        self,
        answer: Answering | None = None,
        *,
        faults: Iterable[Fault] = (),
        latency_s: float = 0.0,
        seed: int = 0,
        limit: Limit | None = None,
        keys: Iterable[str] | None = None,
        models: Iterable[str] = ("touchstone-scripted",),
        port: int = 0,
        keep_bodies: bool = False,
    ) -> None:
        self._answer: Answering = answer or Script()
        self.faults = tuple(faults)
        self.latency_s = latency_s
        self._seed = seed
        self._limit = limit
        self._keys = None if keys is None else frozenset(keys)
        self._models = tuple(models)
        self._port = port
        self.seen = Seen(keep_bodies)
        self.mistakes: list[Exception] = []
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Listen."""
        self._loop = asyncio.get_running_loop()
        self._server = await self._loop.create_server(
            lambda: Connection(self._serve, self._made, self._connections.discard), "127.0.0.1", self._port, backlog=4096
        )
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Hang up on everyone, those who still wait included."""
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def base_url(self) -> str:
        """The address for a client."""
        return f"http://127.0.0.1:{self._port}/v1"

    def _made(self, connection: Connection) -> None:
        self._connections.add(connection)
        self.seen.connections += 1

    def _serve(self, received: Received, connection: Connection) -> None:
        path = received.path.partition("?")[0].rstrip("/")
        if path.endswith("/chat/completions"):
            if received.method == "POST":
                self._complete(received, connection)
            else:
                connection.send(_error(Refused(405, "invalid_request_error", "Not allowed: use POST.", headers={"allow": "POST"})))
        elif path.endswith("/models") and received.method == "GET":
            connection.send(response(200, models(self._models)))
        elif path == "/seen" and received.method == "GET":
            connection.send(response(200, orjson.dumps(self.seen.summary())))
        else:
            connection.send(_error(Refused(404, "invalid_request_error", f"Unknown request URL: {received.method}. Use /v1/chat/completions or /v1/models.")))

    def _complete(self, received: Received, connection: Connection) -> None:
        key = received.headers.get("authorization", "").removeprefix("Bearer ")
        arrival = self.seen.arrived(key, digest_of(received.body))
        try:
            body, form = read_body(received.body)
            asked = Asked(arrival.number, arrival.attempt, key, arrival.digest, form, body)
            self.seen.understood(arrival, asked)
            if self._keys is not None and key not in self._keys:
                refused = Fault(Kind.NO_KEY).error()
                assert refused is not None
                raise refused
        except Refused as refused:
            self._later(0.0, arrival, connection, "rejected", _error(refused))
            return
        wait_s = self._limit.wait_s() if self._limit is not None else 0.0
        if wait_s:
            limited = Fault(Kind.RATE_LIMITED, retry_after_s=wait_s).error()
            assert limited is not None
            self._later(0.0, arrival, connection, "limited", _error(limited))
            return
        reply = self._reply(asked)
        fault = reply.fault or self._fault(asked, arrival)
        latency_s = self.latency_s if reply.latency_s is None else reply.latency_s
        self._later(latency_s, arrival, connection, fault.kind.value if fault else "answered", lambda: self._bytes(asked, arrival, reply, fault), fault)

    def _reply(self, asked: Asked) -> Reply:
        try:
            said = self._answer(asked)
        except Exception as error:
            self.mistakes.append(error)
            return Reply(fault=Fault(Kind.ERROR_500))
        if isinstance(said, Reply):
            return said
        return Reply(fault=said) if isinstance(said, Fault) else Reply(said)

    def _fault(self, asked: Asked, arrival: Arrival) -> Fault | None:
        return next((fault for fault in self.faults if fault.strikes(asked, self._seed, arrival.at_s)), None)

    def _later(
        self, latency_s: float, arrival: Arrival, connection: Connection, kind: str, made: bytes | Callable[[], bytes], fault: Fault | None = None
    ) -> None:
        """Send the response when it is time; forget it if the client goes first."""
        self.seen.settled(arrival, kind)

        def finish(*, finished: bool) -> None:
            connection.lost = None
            self.seen.ended(arrival, finished=finished)

        def send() -> None:
            data = made if isinstance(made, bytes) else made()
            if fault is not None and fault.kind in _PACED:
                task = self._loop.create_task(_send_paced(connection, data, fault, finish))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                finish(finished=True)
                connection.send(data)

        timer = self._loop.call_later(latency_s, send) if latency_s > 0 else None

        def lost() -> None:
            if timer is not None:
                timer.cancel()
            finish(finished=False)

        connection.lost = lost
        if timer is None:
            send()

    def _bytes(self, asked: Asked, arrival: Arrival, reply: Reply, fault: Fault | None) -> bytes:
        """The response, as it would go out in one piece."""
        if fault is not None:
            error = fault.error()
            if error is not None:
                return _error(error)
            if fault.kind in {Kind.HANG, Kind.RESET}:
                return b""
        message = message_of(asked, reply, fault)
        spent = tokens_of(asked, reply, message)
        self.seen.charged(arrival, *spent)
        tokens = None if fault is not None and fault.kind is Kind.NO_USAGE else spent
        headers = {"x-request-id": f"req_{asked.digest}{asked.number:08d}", "openai-processing-ms": f"{self.latency_s * 1000:.0f}"}
        if fault is not None and fault.kind in _DAMAGED:
            return _DAMAGED[fault.kind](completion(asked, message, tokens), fault, headers)
        return _whole(asked, message, tokens, headers)


def _whole(asked: Asked, message: Message, tokens: tuple[int, int] | None, headers: Mapping[str, str]) -> bytes:
    if asked.is_stream:
        return head(200, {"content-type": _EVENT_STREAM, "transfer-encoding": "chunked", **headers}) + chunked(events(asked, message, tokens))
    return response(200, completion(asked, message, tokens), headers)


def _error(refused: Refused) -> bytes:
    return response(refused.status, refused.body(), refused.headers)


def _bomb(_body: bytes, fault: Fault, headers: Mapping[str, str]) -> bytes:
    return response(200, gzip.compress(b" " * fault.size_bytes, 1), {"content-encoding": "gzip", **headers})


#: Faults in the response's body, independent of the model's answer.
_DAMAGED: dict[Kind, Callable[[bytes, Fault, Mapping[str, str]], bytes]] = {
    Kind.BAD_BODY: lambda body, _, headers: response(200, body[: len(body) // 2], headers),
    Kind.BAD_TEXT: lambda body, _, headers: response(200, b'{"id":"\xff\xfe\xc3\x28",' + body[1:], headers),
    Kind.HTML: lambda _body, _, headers: response(200, b"<html><body>Sign in to the network</body></html>", headers, "text/html"),
    Kind.GZIP_BOMB: _bomb,
}


async def _send_paced(connection: Connection, data: bytes, fault: Fault, finish: Any) -> None:
    """Send a response as the fault wants it. `finish` is called once, by this or by the client's going."""
    start = data.find(b"\r\n\r\n") + 4
    match fault.kind:
        case Kind.RESET:
            finish(finished=True)
            connection.reset()
        case Kind.HALF_CLOSED:
            await connection.write(data[: start + (len(data) - start) // 2])
            if not connection.is_lost:
                finish(finished=True)
                connection.close()
        case Kind.STALLED:
            await connection.write(data[: start + (len(data) - start) // 2])
        case Kind.HANG_UP:
            finish(finished=True)
            connection.send(data)
            connection.close()
        case Kind.DRIP:
            for number in range(len(data)):
                if not await connection.write(data[number : number + 1]):
                    return
                await asyncio.sleep(fault.pace_s)
            finish(finished=True)
            connection.done()
        case Kind.ENORMOUS:
            await _send_enormous(connection, data[start:], fault.size_bytes, finish)
        case _:
            pass  # a hang: the client's going, or the server's end, is the end of it


async def _send_enormous(connection: Connection, body: bytes, size_bytes: int, finish: Any) -> None:
    """An answer with so much white space before it that it is valid, and far too large."""
    await connection.write(head(200, {"content-type": "application/json", "content-length": str(size_bytes + len(body))}))
    blank = b" " * _WRITE_BYTES
    left = size_bytes
    while left > 0:
        if not await connection.write(blank[: min(left, _WRITE_BYTES)]):
            return
        left -= _WRITE_BYTES
        await asyncio.sleep(0)
    if await connection.write(body):
        finish(finished=True)
        connection.done()
