import asyncio
import json
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Start, Worker, produce
from tests.ops.web.served import Message, Stream
from tests.streams.fakes import safe_event
from tests.streams.subscription.made import result_bytes
from touchstone.streams.embedded.broker import EmbeddedBroker

#: Faster than by default, for the tests' sake; a window so small that those who come back are continued from Kafka.
QUICK = {
    "TOUCHSTONE_KAFKA_PROBE_INTERVAL_S": "0.3",
    "TOUCHSTONE_KAFKA_PROBE_TIMEOUT_S": "5",
    "TOUCHSTONE_SERVE_HEARTBEAT_S": "0.5",
    "TOUCHSTONE_SERVE_LAG_INTERVAL_S": "0.5",
    "TOUCHSTONE_SERVE_WINDOW_EVENTS": "20",
}
PARTITIONS = 3
CANARY = "zanzibar-canary"
#: A busy machine starts a process in a minute.
WAIT_S = 120
pytestmark = pytest.mark.timeout(900)


class Service(Worker):
    def page(self, path: str, timeout_s: float = WAIT_S) -> tuple[int, str]:
        """One of the pages; 0 where a busy machine did not answer in time."""
        try:
            return super().page(path, timeout_s)
        except TimeoutError:
            return 0, ""

    def until(self, condition: Callable[[], bool], timeout_s: float = WAIT_S) -> None:
        super().until(condition, timeout_s)

    @property
    def address(self) -> str:
        self.until(lambda: '"serve_started"' in self.log)
        (found,) = re.findall(r'"address": ?"(http://[^"]+)"', self.log)
        return str(found)

    async def ready(self) -> None:
        await asyncio.to_thread(self.until, lambda: self.page("/readyz")[0] == 200)

    @asynccontextmanager
    async def stream(self, query: str = "", since: str = "") -> AsyncIterator[Stream]:
        headers = {"Last-Event-ID": since} if since else {}
        async with (
            httpx.AsyncClient(timeout=WAIT_S, trust_env=False) as client,
            client.stream("GET", f"{self.address}/v1/events{query}", headers=headers) as answer,
        ):
            assert answer.status_code == 200
            yield Stream(answer)

    async def get(self, path: str) -> Any:
        async with httpx.AsyncClient(timeout=WAIT_S, trust_env=False) as client:
            return (await client.get(self.address + path)).json()


Serve = Callable[..., Service]


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Broker:
    """The broker of a test: an embedded one of its own, or the one whose fixture it names."""
    found: Broker = request.getfixturevalue(getattr(request, "param", "embedded"))
    return found


@pytest.fixture
def serve(place: Broker, namespace: Namespace) -> Iterator[Serve]:
    place.create_topics(namespace.topics(PARTITIONS))
    started: list[Service] = []

    def begin(**env: str) -> Service:
        command = [sys.executable, "-m", "touchstone.ops.cli", "serve", "--port", "0"]
        started.append(Service("", namespace.environment(place) | QUICK | env, command=command))
        return started[-1]

    yield begin
    for one in started:
        one.close()


@pytest.fixture
def down(embedded: Broker) -> EmbeddedBroker:
    assert embedded.embedded is not None
    return embedded.embedded


class Producer:
    def __init__(self, broker: Broker, namespace: Namespace) -> None:
        self._broker, self._topic = broker, namespace.topic("results")
        self.sent = 0

    async def send(self, count: int) -> None:
        numbers = range(self.sent, self.sent + count)
        self.sent += count
        headers = [("ce_type", b"touchstone.result")]
        await produce(self._broker, self._topic, [(number % PARTITIONS, result_bytes(str(number)), headers) for number in numbers])


@pytest.fixture
def results(place: Broker, namespace: Namespace) -> Producer:
    return Producer(place, namespace)


def numbers(messages: Sequence[Message]) -> list[int]:
    return [int(message.data["event_id"]) for message in messages if message.event == "touchstone.result"]


async def taken(stream: Stream, count: int) -> list[Message]:
    return [await anext(stream) for _ in range(count)]


async def test_results_arrive_live_and_a_summary_counts_them(serve: Serve, results: Producer) -> None:
    await results.send(6)
    service = serve()
    await service.ready()
    async with service.stream("?snapshot=4") as stream:
        assert len(set(numbers(await taken(stream, 4)))) == 4
        await results.send(3)
        assert sorted(numbers(await taken(stream, 3))) == [6, 7, 8]
    # It says when it starts, where it answers, and when events come: between these may lie a minute.
    said = [json.loads(line) for line in service.log.splitlines() if line.startswith("{")]
    assert [line["event"] for line in said if line["event"].startswith("serve_")] == ["serve_starting", "serve_started", "serve_ready"]
    assert next(line["records"] for line in said if line["event"] == "serve_ready") == 6
    one = next(suite for suite in (await service.get("/v1/summary"))["suites"] if suite["suite"] == "one")
    assert one["labels"]["Pass"] == 9
    assert service.end() == 0


@pytest.mark.parametrize("place", ["embedded", pytest.param("shared_apache", marks=pytest.mark.apache)], indirect=True)
async def test_a_service_that_is_killed_and_started_again_misses_and_doubles_nothing(serve: Serve, results: Producer) -> None:
    seen: list[int] = []
    since = ""
    for round_ in range(2):
        service = serve()
        await service.ready()
        async with service.stream(since=since) as stream:
            if not since:
                await until_joined(service)
            await results.send(40)
            wanted = 40 * (round_ + 1) + 30 * round_ - len(seen) - 7 * (round_ == 0)
            found = await taken(stream, wanted)
            seen += numbers(found)
            since = found[-1].id
            # Killed while events are on their way to the client.
            service.process.send_signal(signal.SIGKILL)
        await results.send(30)
    service = serve()
    await service.ready()
    async with service.stream(since=since) as stream:
        while len(seen) < results.sent:
            seen += numbers(await taken(stream, 1))
        await results.send(1)
        seen += numbers(await taken(stream, 1))
    assert sorted(seen) == list(range(results.sent))
    await asyncio.to_thread(service.until, lambda: 'touchstone_serve_resumes_total{way="kafka"} 1.0' in service.page("/metrics")[1])


async def until_joined(service: Service) -> None:
    await asyncio.to_thread(service.until, lambda: 'touchstone_serve_clients{carrier="sse"} 1.0' in service.page("/metrics")[1])


async def test_two_instances_both_send_everything_and_a_client_may_change_between_them(serve: Serve, results: Producer) -> None:
    first, second = serve(), serve()
    await first.ready()
    await second.ready()
    async with first.stream() as one, second.stream() as two:
        await until_joined(first)
        await until_joined(second)
        await results.send(30)
        of_one, of_two = await taken(one, 30), await taken(two, 30)
    assert sorted(numbers(of_one)) == sorted(numbers(of_two)) == list(range(30))
    async with second.stream(since=of_one[12].id) as rest:
        assert sorted([*numbers(of_one[:13]), *numbers(await taken(rest, 17))]) == list(range(30))


async def test_a_broker_that_goes_away_is_told_and_its_clients_stay_and_go_on(serve: Serve, results: Producer, down: EmbeddedBroker) -> None:
    service = serve()
    await service.ready()
    async with service.stream() as stream:
        await until_joined(service)
        await results.send(3)
        before = numbers(await taken(stream, 3))
        down.set_down()
        await asyncio.to_thread(service.until, lambda: service.page("/readyz")[0] == 503)
        connection = (await service.get("/v1/summary"))["connection"]
        assert (connection["state"], "does not answer" in connection["reason"]) == ("away", True)
        await asyncio.to_thread(service.until, lambda: service.page("/healthz")[0] == 200)
        down.set_up()
        await service.ready()
        await results.send(3)
        assert sorted(before + numbers(await taken(stream, 3))) == [0, 1, 2, 3, 4, 5]
        assert stream.comments.count("kafka is away") == stream.comments.count("kafka is back") == service.log.count('"dependency_down"') >= 1


async def test_a_service_that_starts_without_a_broker_waits_for_it(serve: Serve, results: Producer, down: EmbeddedBroker) -> None:
    down.set_down()
    service = serve()
    await asyncio.to_thread(service.until, lambda: '"broker_unreachable"' in service.log)
    await asyncio.to_thread(service.until, lambda: (service.page("/healthz")[0], service.page("/readyz")[0]) == (200, 503))
    async with service.stream() as stream:
        down.set_up()
        await service.ready()
        await asyncio.to_thread(service.until, lambda: "touchstone_serve_broker_up 1.0" in service.page("/metrics")[1])
        await results.send(1)
        assert numbers(await taken(stream, 1)) == [0]


async def test_the_end_of_a_service_is_told_to_its_clients(serve: Serve) -> None:
    service = serve()
    await service.ready()
    async with service.stream() as stream:
        await until_joined(service)
        service.process.send_signal(signal.SIGTERM)
        assert (await anext(stream)).event == "touchstone.closing"
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
    assert await asyncio.to_thread(service.process.wait, 30) == 0
    assert '"serve_stopped"' in service.log


async def test_a_missing_topic_is_one_line_and_exit_code_3(embedded: Broker, namespace: Namespace) -> None:
    service = Service("", namespace.environment(embedded) | QUICK, command=[sys.executable, "-m", "touchstone.ops.cli", "serve", "--port", "0"])
    assert await asyncio.to_thread(service.process.wait, WAIT_S) == 3
    assert "missing topics" in service.log
    service.close()


async def test_a_word_of_the_payload_is_nowhere(serve: Serve, embedded: Broker, namespace: Namespace, start: Start, tmp_path: Path) -> None:
    service = serve()
    await service.ready()
    worker = start("direct", namespace.environment(embedded))
    event = safe_event("e1", output={"signals": [f"{CANARY} signal"], "summary": f"A {CANARY}.", "followup_questions": [CANARY]})
    event["expectations"]["signal_generation"]["must_find_signals"] = [f"{CANARY} expected"]
    async with service.stream() as stream:
        await until_joined(service)
        await produce(embedded, namespace.topic("generations"), [(0, json.dumps(event).encode(), []), (0, f"{{broken {CANARY}".encode(), [])])
        message = await anext(stream)
    found = [message.raw, service.log, worker.log]
    for path in ("/v1/summary", "/v1/results", f"/v1/results/{message.data['result_id']}", "/v1/batches", "/metrics", "/"):
        await asyncio.to_thread(service.until, lambda path=path: service.page(path)[0] == 200)  # type: ignore[misc]
        found.append(service.page(path)[1])
    assert not [text for text in found if CANARY in text]
    await asyncio.to_thread(service.until, lambda: '"dead_letters":1' in service.page("/v1/summary")[1])
    await asyncio.to_thread(service.until, lambda: f'"lag":{{"records":0,"group":"{namespace.group("safe_v0")}"}}' in service.page("/v1/summary")[1])
