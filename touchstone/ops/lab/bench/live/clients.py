"""The clients of the live benchmark: one process that reads many streams and compares every byte with the expected ones.

Blocks are compared without being parsed, which costs a fraction of receiving them and finds an event that is missing, repeated, out of order or
damaged. Only the framing (HTTP chunks), comments and gaps are parsed.
"""

import re
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from touchstone.ops.lab.bench.live.stream import START, Expected

RECEIVE_BYTES = 131_072
#: What the kernel takes for a stalled client, besides the sender's own buffer. By default it would take so much that a short run shows nothing.
STALLED_BUFFER_BYTES = 65_536
CONNECT_S = 60.0
#: Length of an event's beginning with its id.
BEGINNING_BYTES = 48
#: Clients whose every block is timed.
TIMED_MAX = 48
_STATUS = b"HTTP/1.1 200 "
_READY = b"id: " + START + b"\n"
_GAP = re.compile(rb'touchstone\.gap\ndata: \{"dropped":(\d+)')


@dataclass(slots=True)
class Tally:
    """What one client received. `events`: complete and right ones. `faults`: blocks that were not the next ones. `at_s`: when the last one came.

    `blocks`: (when, first event, first event after it) of each block, of a client that is timed.
    """

    events: int = 0
    faults: int = 0
    gaps: int = 0
    dropped: int = 0
    at_s: float = 0.0
    blocks: list[tuple[float, int, int]] = field(default_factory=list)


class Chunks:
    """Removes the framing of HTTP chunks."""

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0  # of the chunk, with the two bytes that end it
        self._is_fresh = False

    def parts(self, data: bytes) -> Iterator[tuple[bool, bytes]]:
        """(is it the beginning of a chunk, content), as far as it has come. A beginning is long enough to recognise the event."""
        data, self._rest = self._rest + data if self._rest else data, b""
        place, end = 0, len(data)
        while place < end:
            if not self._left:
                stop = data.find(b"\r\n", place)
                if stop < 0:
                    self._rest = data[place:]
                    return
                size = int(data[place:stop], 16)
                if end - stop - 2 < min(size, BEGINNING_BYTES):
                    self._rest = data[place:]
                    return
                self._left, self._is_fresh, place = size + 2, True, stop + 2
                continue
            taken = min(self._left, end - place)
            body = min(taken, self._left - 2)
            if body > 0:
                yield self._is_fresh, data[place : place + body]
                self._is_fresh = False
            place += taken
            self._left -= taken


class Client:
    """One stream; `feed` it with what its socket received. `is_ready`: the service has sent its position, and sends every event from now on."""

    def __init__(self, expected: Expected, *, is_timed: bool) -> None:
        self.tally = Tally()
        self.is_ready = False
        self._expected, self._is_timed = expected, is_timed
        self._head: bytes | None = b""
        self._chunks = Chunks()
        self._comment: bytes | None = b""  # of a chunk that holds no events; None: this one holds events
        self._at = 0  # in the expected bytes
        self._count = 0  # events until there

    def feed(self, data: bytes) -> None:
        """Read on. Raises `ConnectionError` if the response is no stream."""
        if self._head is not None:
            self._head, mark, data = (self._head + data).partition(b"\r\n\r\n")
            if not mark:
                return
            if not self._head.startswith(_STATUS):
                raise ConnectionError(self._head.split(b"\r\n", 1)[0].decode("ascii", "replace"))
            self._head = None
        for is_fresh, part in self._chunks.parts(data):
            if is_fresh:
                self._comment = None if part.startswith(b"id: ") else b""
            if self._comment is None:
                self._compare(part, is_fresh=is_fresh)
            else:
                self._read_comment(part)

    def _compare(self, part: bytes, *, is_fresh: bool) -> None:
        """Compare a block of events, or the beginning or the rest of one."""
        expected, tally = self._expected, self.tally
        if not expected.text.startswith(part, self._at):
            tally.faults += 1
            if not is_fresh:
                return
            self._at = expected.before(part)
            self._count = expected.events_in(self._at)
            if not expected.text.startswith(part, self._at):
                return
        self._at += len(part)
        count = expected.events_in(self._at)
        tally.events += count - self._count
        tally.at_s = time.monotonic()
        if self._is_timed:
            tally.blocks.append((tally.at_s, self._count, count))
        self._count = count

    def _read_comment(self, part: bytes) -> None:
        """Read a comment or a gap."""
        assert self._comment is not None
        self._comment += part
        if _READY in self._comment:
            self.is_ready = True
        if found := _GAP.search(self._comment):
            self.tally.gaps += 1
            self.tally.dropped += int(found[1])
            self._comment = b""


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who connects where. `total`: events that will come."""

    host: str
    port: int
    clients: int
    stalled: int
    total: int


def run_clients(pipe: Connection, crowd: Crowd) -> None:
    """Connect; send "ready" when all streams are open; read until everything is there ("done") or "stop" comes; send the tallies and the number cut off.

    The stalled clients read nothing once all are ready; only the end of their connection is noticed.
    """
    expected = Expected(crowd.total)
    reading = crowd.clients - crowd.stalled
    every = max(1, reading // TIMED_MAX)
    ask = f"GET /v1/events HTTP/1.1\r\nHost: {crowd.host}:{crowd.port}\r\n\r\n".encode()
    poll = select.epoll()
    clients: dict[int, tuple[socket.socket, Client]] = {}
    for number in range(crowd.clients):
        one = socket.socket()
        if number >= reading:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, STALLED_BUFFER_BYTES)
        one.settimeout(CONNECT_S)
        one.connect((crowd.host, crowd.port))
        one.sendall(ask)
        one.setblocking(False)
        clients[one.fileno()] = one, Client(expected, is_timed=number < reading and number % every == 0)
        poll.register(one, select.EPOLLIN)
    numbers = list(clients)
    open_numbers = set(numbers)
    while not all(client.is_ready for _, client in clients.values()):
        _read(poll, poll.poll(1), clients, open_numbers)
    silent = numbers[reading:]
    for number in silent:
        poll.modify(number, 0)
    pipe.send("ready")
    poll.register(pipe.fileno(), select.EPOLLIN)
    missing, cut = set(numbers[:reading]), set[int]()
    while True:
        events = dict(poll.poll())
        is_over = events.pop(pipe.fileno(), None)
        cut |= {number for number in silent if events.get(number)}
        if is_over:
            break
        for number in cut & open_numbers:
            poll.unregister(number)
        open_numbers -= cut
        done = {number for number in _read(poll, list(events.items()), clients, open_numbers - set(silent)) if _is_done(clients[number][1], crowd.total)}
        if missing and not (missing := missing - done):
            pipe.send("done")
    pipe.recv()
    pipe.send(([clients[number][1].tally for number in numbers[:reading]], len(cut)))
    for one, _ in clients.values():
        one.close()


def _is_done(client: Client, total: int) -> bool:
    return client.tally.events + client.tally.dropped >= total


def _read(poll: select.epoll, events: list[tuple[int, int]], clients: dict[int, tuple[socket.socket, Client]], open_numbers: set[int]) -> list[int]:
    """Read what has come; a connection that has ended is not read again. Returns the clients that received something."""
    got = []
    for number, _ in events:
        if number not in open_numbers:
            continue
        one, client = clients[number]
        try:
            data = one.recv(RECEIVE_BYTES)
        except BlockingIOError:
            continue
        except ConnectionResetError:
            data = b""
        if data:
            client.feed(data)
            got.append(number)
        else:
            open_numbers.discard(number)
            poll.unregister(number)
    return got
