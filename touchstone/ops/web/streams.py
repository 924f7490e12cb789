"""Streams over HTTP: Server-Sent Events, and the same over WebSockets."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from typing import Any

import orjson
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from touchstone.ops.web.quoting import value_of
from touchstone.streams.subscription.following import Wish, follow
from touchstone.streams.subscription.hub import Hub
from touchstone.streams.subscription.items import Batch, Beat, Closing, Gap, Item, Reset
from touchstone.streams.subscription.past import Past
from touchstone.streams.subscription.watcher import Outlet, Watcher
from touchstone.streams.subscription.window import Seen
from touchstone.streams.telemetry.metric_list import Carrier

GAP, RESET, CLOSING = "touchstone.gap", "touchstone.reset", "touchstone.closing"
#: A client must authenticate within this time.
HELLO_S = 10.0
#: WebSocket close codes: token missing, a query that cannot be used (both our own), and service shutting down.
CLOSE_TOKEN, CLOSE_QUERY, CLOSE_GONE = 4401, 4400, 1001
#: The reason of a close frame has at most 123 bytes (RFC 6455 §5.5).
_REASON_BYTES_MAX = 123

#: Ends the connection of a request at once, with unsent bytes.
Abort = Callable[[Scope], None]
#: Writes a piece of a response to its connection; False while the connection accepts nothing.
Write = Callable[[bytes], bool]
#: The name of a form of batches, and what writes it.
Encoding = tuple[str, Callable[[Sequence[Seen]], bytes]]
#: Request → function that writes directly to its connection, past ASGI; None if that is not possible.
DirectWriter = Callable[[Scope], Write | None]


def close_reason(text: str) -> str:
    """A text as the reason of a close frame, cut at its limit."""
    whole = text.encode("ascii", "backslashreplace").decode()
    return whole if len(whole) <= _REASON_BYTES_MAX else f"{whole[: _REASON_BYTES_MAX - 3]}..."


@contextmanager
def counted(hub: Hub, carrier: Carrier) -> Iterator[None]:
    """Count a client while its stream is open."""
    hub.counts.client(carrier, 1)
    try:
        yield
    finally:
        hub.counts.client(carrier, -1)


class EventStream(EventSourceResponse):
    """One client's Server-Sent Events. A client that does not read for too long is disconnected.

    `has_text`: whether it gets what may quote a case. `write`: directly to its connection.
    """

    def __init__(self, hub: Hub, past: Past, wish: Wish, abort: Abort, write: Write | None = None, *, has_text: bool) -> None:
        self._hub = hub
        self._abort = abort
        # Our own heartbeat carries the position, so the library's is off.
        super().__init__(_sse_pieces(hub, past, wish, write, _SSE[has_text]), ping=0, sep="\n", send_timeout=hub.settings.send_timeout_s)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until client or service ends it."""
        with counted(self._hub, "sse"):
            try:
                await super().__call__(scope, receive, send)
            except SendTimeoutError:
                self._hub.counts.stalled()
                self._abort(scope)


def _outlet(hub: Hub, write: Write | None, encoding: Encoding) -> Outlet | None:
    """A function that writes a batch as one block, encoded once for all clients."""

    def outlet(batch: Batch) -> bool:
        assert write is not None
        if not write(batch.encoded(*encoding)):
            return False
        hub.counts.sent("sse", len(batch))
        return True

    return None if write is None else outlet


async def _sse_pieces(hub: Hub, past: Past, wish: Wish, write: Write | None, encoding: Encoding) -> AsyncIterator[bytes]:
    """The pieces of a stream, without those that are written directly to the connection."""
    yield f"retry: {hub.settings.retry_ms}\n: touchstone\n\n".encode()
    watcher = Watcher(hub.settings, hub.counts, _outlet(hub, write, encoding))
    async with aclosing(follow(hub, past, wish, watcher)) as items:
        async for item in items:
            if isinstance(item, Batch):
                hub.counts.sent("sse", len(item))
                yield item.encoded(*encoding)
            else:
                yield sse_item(item)


def sse_events(seen: Sequence[Seen], *, has_text: bool) -> bytes:
    """Events as Server-Sent Events."""
    parts: list[bytes] = []
    for one in seen:
        value = value_of(one.event, has_text=has_text)
        if b"\n" in value or b"\r" in value:  # not written by Touchstone; the format needs a prefix on each line
            value = b"\ndata: ".join(value.splitlines())
        parts.append(b"id: %b\nevent: %b\ndata: %b\n\n" % (one.id.encode(), one.event.type.encode(), value))
    return b"".join(parts)


#: Whether a client gets what may quote a case → how its batches are encoded: once for all clients of the same right.
_SSE: dict[bool, Encoding] = {True: ("sse", partial(sse_events, has_text=True)), False: ("sse without text", partial(sse_events, has_text=False))}


def sse_item(item: Item) -> bytes:
    """Other items of a stream."""
    match item:
        case Gap(dropped, resume):
            return _sse(GAP, {"dropped": dropped, "resume": resume})
        case Reset(reason):
            return _sse(RESET, {"reason": reason})
        case Closing(at):
            return (f"id: {at}\n".encode() if at else b"") + _sse(CLOSING, {})
        case Beat(at, note):
            # An id without data moves the browser's position without an event.
            return f": {note or 'alive'}\n{f'id: {at}' + chr(10) if at else ''}\n".encode()
        case _:
            raise TypeError(type(item).__name__)


def _sse(event: str, data: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event.encode(), orjson.dumps(data))


async def run_socket(socket: WebSocket, hub: Hub, past: Past, wish: Wish, *, has_text: bool) -> None:
    """Serve an accepted WebSocket until client or service ends it. Raises `TimeoutError` for a client that does not read."""
    watcher = Watcher(hub.settings, hub.counts)
    sending = asyncio.create_task(_send(socket, hub, past, wish, watcher, has_text=has_text))
    listening = asyncio.create_task(_listen(socket))
    try:
        await asyncio.wait({sending, listening}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, listening):
            task.cancel()
        ends = await asyncio.gather(sending, listening, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception) and not isinstance(end, WebSocketDisconnect):
            raise end


async def _send(socket: WebSocket, hub: Hub, past: Past, wish: Wish, watcher: Watcher, *, has_text: bool) -> None:
    with suppress(WebSocketDisconnect):
        async with aclosing(follow(hub, past, wish, watcher)) as items:
            async for item in items:
                for text in _messages(item, has_text=has_text):
                    async with asyncio.timeout(hub.settings.send_timeout_s):
                        await socket.send_text(text)
                if isinstance(item, Batch):
                    hub.counts.sent("websocket", len(item))
        await socket.close(CLOSE_GONE)


async def _listen(socket: WebSocket) -> None:
    """Return when the client disconnects. Its messages are ignored."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _messages(item: Item, *, has_text: bool) -> list[str]:
    """The messages of an item."""
    match item:
        case Batch():
            told = [(one, value_of(one.event, has_text=has_text).decode("utf-8", "replace")) for one in item.seen]
            return [f'{{"event":{_json(one.event.type)},"id":"{one.id}","data":{value}}}' for one, value in told]
        case Gap(dropped, resume):
            return [_message(GAP, None, {"dropped": dropped, "resume": resume})]
        case Reset(reason):
            return [_message(RESET, None, {"reason": reason})]
        case Closing(at):
            return [_message(CLOSING, at, {})]
        case Beat(at, note):
            return [_message("touchstone.alive", at, {"note": note} if note else {})]


def _message(event: str, at: str | None, data: dict[str, Any]) -> str:
    return orjson.dumps({"event": event, "id": at, "data": data}).decode()


def _json(text: str) -> str:
    return orjson.dumps(text).decode()
