"""The live bench: its clients notice whatever is not as it must be, and with some of them stalled the others get everything."""

import asyncio
from multiprocessing import Pipe
from urllib.parse import urlsplit

import pytest

from tests.ops.web.served import WAIT_S, served, until
from tests.streams.subscription.made import P0, R0, read, record
from touchstone.ops.lab.bench.live.clients import Chunks, Client, Crowd, Tally, run_clients
from touchstone.ops.lab.bench.live.command import columns
from touchstone.ops.lab.bench.live.raw_server import HEAD, framed
from touchstone.ops.lab.bench.live.run import SERVICE, Run
from touchstone.ops.lab.bench.live.stream import START, Expected, result

EXPECTED = Expected(20)


def block(first: int, after: int) -> bytes:
    return framed(EXPECTED.text[EXPECTED.ends[first - 1] if first else 0 : EXPECTED.ends[after - 1]])


def told(*chunks: bytes, step: int = 10_000) -> Client:
    """A client that got these chunks, so many bytes at a time."""
    client = Client(EXPECTED, is_timed=True)
    stream = HEAD + b"".join(chunks)
    for place in range(0, len(stream), step):
        client.feed(stream[place : place + step])
    return client


@pytest.mark.parametrize("step", [1, 2, 3, 7, 100, 1_000, 100_000])
def test_a_stream_is_read_however_it_is_cut(step: int) -> None:
    client = told(framed(b": alive\nid: " + START + b"\n\n"), block(0, 1), block(1, 12), framed(b": alive\n\n"), block(12, 20), step=step)
    assert client.is_ready
    assert (client.tally.events, client.tally.faults, client.tally.gaps) == (20, 0, 0)
    assert client.tally.blocks[-1][2] == 20


def test_chunks_are_given_as_they_come() -> None:
    chunks = Chunks()
    assert list(chunks.parts(b"3\r\nabc\r\n50\r\n" + b"d" * 60)) == [(True, b"abc"), (True, b"d" * 60)]
    assert list(chunks.parts(b"d" * 20 + b"\r\n50\r\n" + b"e" * 40)) == [(False, b"d" * 20)]
    assert list(chunks.parts(b"e" * 40 + b"\r\n")) == [(True, b"e" * 80)]


@pytest.mark.parametrize(
    ("chunks", "events"),
    [
        pytest.param([block(0, 5), block(6, 20)], 19, id="missing"),
        pytest.param([block(0, 5), block(4, 20)], 21, id="doubled"),
        pytest.param([block(5, 20), block(0, 5)], 20, id="swapped"),
        pytest.param([block(0, 5), block(5, 10).replace(b"Pass", b"Fail"), block(10, 20)], 15, id="damaged"),
    ],
)
def test_what_is_not_as_it_must_be_is_a_fault(chunks: list[bytes], events: int) -> None:
    tally = told(*chunks).tally
    assert tally.faults > 0
    assert tally.events == events


def test_gaps_are_counted() -> None:
    tally = told(block(0, 5), framed(b'event: touchstone.gap\ndata: {"dropped":10,"resume":"r0.5-p0.0"}\n\n'), block(15, 20)).tally
    assert (tally.events, tally.gaps, tally.dropped) == (10, 1, 10)


def test_an_answer_that_is_no_stream_is_an_error() -> None:
    with pytest.raises(ConnectionError, match="503"):
        Client(EXPECTED, is_timed=False).feed(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")


async def test_with_stalled_clients_the_others_get_everything_in_order_and_those_are_cut_off() -> None:
    clients, stalled, total = 30, 3, 10_000  # more bytes than the kernel takes for a stalled client
    ours, theirs = Pipe()
    async with served(send_timeout_s=1) as web, asyncio.timeout(WAIT_S * 2):
        web.hub.begin({R0: 0, P0: 0})
        place = urlsplit(web.address)
        crowd = asyncio.create_task(asyncio.to_thread(run_clients, theirs, Crowd(str(place.hostname), int(place.port or 0), clients, stalled, total)))
        await until(ours.poll)
        assert ours.recv() == "ready"
        for first in range(0, total, 250):
            web.hub.publish([(R0, number, read(record(R0, number, result(number)))) for number in range(first, first + 250)])
            await until(lambda: sum(watcher.is_idle for watcher in web.hub._everyone()) >= clients - stalled)
        await until(ours.poll)
        assert ours.recv() == "done"
        await until(lambda: len(web.server._server.server_state.connections) == clients - stalled)  # type: ignore[union-attr]
        ours.send("stop")
        tallies, cut = await asyncio.to_thread(ours.recv)
        await crowd
    assert [(tally.events, tally.faults, tally.gaps) for tally in tallies] == [(total, 0, 0)] * (clients - stalled)
    assert cut == stalled


def test_a_run_is_told_in_a_column_and_only_a_whole_one_counts() -> None:
    run = Run(SERVICE, 10, clients=3, stalled=1, total=20, sent_at=[100 + number / 10 for number in range(20)])
    run.tallies = [Tally(20, at_s=102.0, blocks=[(101.0, 0, 10), (102.0, 10, 20)]), Tally(19, faults=1, at_s=102.0)]
    run.memory = {"alone": 60.0, "connected": 63.0, "most": 64.0, "sockets": 1.0, "end": 62.0}
    run.cores = {"server": 0.5, "others": 0.1}
    lines = columns([run])
    assert lines[0] == "| | touchstone serve, 10/s |"
    assert "| reading clients with every byte in order | 1 of 2 |" in lines
    assert "| lag p50, p99, longest | 600, 1,000, 1,000 ms |" in lines
    assert "| memory of one idle client | 1024 KiB |" in lines
    assert not run.is_whole
