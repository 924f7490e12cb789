"""The baseline of the live benchmark: a server that writes the same bytes to as many sockets, and does nothing else.

No Kafka, no routes, no filters, no queues: uvloop writes one block each interval, framed once, to every transport. Its processor time is what the
bytes alone cost on this machine.
"""

import asyncio
import time
from multiprocessing.connection import Connection
from typing import Any

import uvloop

from touchstone.ops.lab.bench.live.stream import START, Expected

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
#: As the service publishes.
INTERVAL_S = 0.05
#: What may wait for one client; as `serve.queue_bytes`.
WAITING_BYTES_MAX = 16_777_216


class _Stream(asyncio.Protocol):
    """One client; a paused one gets nothing more."""

    def __init__(self, streams: list["_Stream"]) -> None:
        self._streams = streams
        self.transport: Any = None
        self.is_paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.transport.set_write_buffer_limits(high=WAITING_BYTES_MAX)

    def data_received(self, _: bytes) -> None:
        self.transport.write(HEAD + framed(b": alive\nid: " + START + b"\n\n"))
        self._streams.append(self)

    def pause_writing(self) -> None:
        self.is_paused = True

    def connection_lost(self, _: Exception | None) -> None:
        self._streams.remove(self)


def framed(text: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(text), text)


async def _serve(pipe: Connection, total: int, rate: float) -> None:
    expected = Expected(total)
    streams: list[_Stream] = []
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Stream(streams), "127.0.0.1", 0, backlog=2048)
    pipe.send(server.sockets[0].getsockname()[1])
    await loop.run_in_executor(None, pipe.recv)  # "go"
    began, sent, at = time.monotonic(), 0, 0
    while sent < total:
        await asyncio.sleep(INTERVAL_S - (time.monotonic() - began) % INTERVAL_S)
        sent = min(total, int((time.monotonic() - began) * rate))
        end = expected.ends[sent - 1] if sent else 0
        if end > at:
            block = framed(expected.text[at:end])
            for stream in streams:
                if not stream.is_paused:
                    stream.transport.write(block)
            at = end
    pipe.send(began)
    await loop.run_in_executor(None, pipe.recv)  # "stop"


def run_raw(pipe: Connection, total: int, rate: float) -> None:
    """Send the port; begin when asked; then send the time at which the first event was due, and serve until asked to stop."""
    uvloop.run(_serve(pipe, total, rate))
