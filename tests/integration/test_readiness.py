import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Start, Worker, produce, reading
from tests.streams.fakes import safe_event
from touchstone.streams.embedded.broker import EmbeddedBroker

#: Faster than by default, for the tests' sake.
PROBES = {"TOUCHSTONE_KAFKA_PROBE_INTERVAL_S": "0.3", "TOUCHSTONE_KAFKA_PROBE_TIMEOUT_S": "1"}


def told(worker: Worker, event: str) -> int:
    return worker.log.count(f'"event": "{event}"')


@pytest.fixture
def broker_of_its_own(embedded: Broker, namespace: Namespace) -> EmbeddedBroker:
    embedded.create_topics(namespace.topics())
    assert embedded.embedded is not None
    return embedded.embedded


@pytest.fixture
def project(embedded: Broker, namespace: Namespace, tmp_path: Path) -> Iterator[Callable[[], Worker]]:
    started: list[Worker] = []

    def begin() -> Worker:
        command = [sys.executable, "-m", "touchstone.ops.cli", "projector", "--store", f"sqlite:///{tmp_path / 'store.db'}"]
        started.append(Worker("", namespace.environment(embedded) | PROBES, command=command))
        return started[-1]

    yield begin
    for one in started:
        one.close()


async def test_a_worker_that_starts_without_a_broker_waits_and_goes_on_when_it_comes(
    embedded: Broker, broker_of_its_own: EmbeddedBroker, namespace: Namespace, runner: str, start: Start
) -> None:
    broker_of_its_own.set_down()
    worker = start(runner, namespace.environment(embedded) | PROBES)
    worker.until(lambda: told(worker, "broker_unreachable") == 1)
    status, why = worker.page("/readyz")
    assert (status, "does not answer" in why, broker_of_its_own.bootstrap_servers in why) == (503, True, True)
    assert worker.page("/healthz")[0] == 200
    broker_of_its_own.set_up()
    worker.until(lambda: worker.page("/readyz")[0] == 200)
    await produce(embedded, namespace.topic("generations"), [(0, json.dumps(safe_event("e1")).encode(), [])])
    async with reading(embedded, namespace) as until:
        await until(lambda seen: len(seen.results) == 1)
    assert (told(worker, "broker_unreachable"), told(worker, "broker_reached")) == (1, 1)
    assert worker.end() == 0, worker.log


def test_a_worker_that_waits_for_its_broker_ends_when_told_to(embedded: Broker, broker_of_its_own: EmbeddedBroker, namespace: Namespace, start: Start) -> None:
    broker_of_its_own.set_down()
    worker = start("direct", namespace.environment(embedded))
    worker.until(lambda: told(worker, "broker_unreachable") == 1)
    assert worker.end() == 0, worker.log


def test_an_idle_worker_is_not_ready_while_its_broker_is_gone(
    embedded: Broker, broker_of_its_own: EmbeddedBroker, namespace: Namespace, runner: str, start: Start
) -> None:
    worker = start(runner, namespace.environment(embedded) | PROBES)
    worker.until(lambda: worker.page("/readyz")[0] == 200)
    worker.until(lambda: 'touchstone_broker_up{suite="safe_v0"} 1.0' in worker.page("/metrics")[1])
    broker_of_its_own.set_down()
    worker.until(lambda: worker.page("/readyz")[0] == 503)
    assert worker.page("/readyz")[1].startswith("the broker has not answered for ")
    metrics = worker.page("/metrics")[1]
    for claim in ('touchstone_broker_up{suite="safe_v0"} 1.0', 'touchstone_outbox_up{suite="safe_v0"} 1.0', "touchstone_consumer_lag_records{"):
        assert claim not in metrics
    assert worker.page("/healthz")[0] == 200
    broker_of_its_own.set_up()
    worker.until(lambda: worker.page("/readyz")[0] == 200)
    metrics = worker.page("/metrics")[1]
    assert 'touchstone_broker_up{suite="safe_v0"} 1.0' in metrics
    assert 'touchstone_outbox_up{suite="safe_v0"} 1.0' in metrics
    assert (told(worker, "broker_down"), told(worker, "broker_up")) == (1, 1)


def test_a_projector_that_starts_without_a_broker_waits_and_says_so(broker_of_its_own: EmbeddedBroker, project: Callable[[], Worker]) -> None:
    broker_of_its_own.set_down()
    projector = project()
    projector.until(lambda: "the broker has not answered" in projector.page("/readyz")[1])
    assert projector.page("/readyz")[0] == 503
    broker_of_its_own.set_up()
    projector.until(lambda: projector.page("/readyz")[0] == 200)
    assert (told(projector, "broker_unreachable"), told(projector, "projector_started")) == (1, 1)


def test_a_projectors_page_says_that_the_broker_is_gone(broker_of_its_own: EmbeddedBroker, project: Callable[[], Worker]) -> None:
    projector = project()
    projector.until(lambda: projector.page("/readyz")[0] == 200)
    projector.until(lambda: "touchstone_projector_lag_records{" in projector.page("/metrics")[1])
    broker_of_its_own.set_down()
    projector.until(lambda: projector.page("/readyz")[0] == 503)
    assert projector.page("/readyz")[1].startswith("the broker has not answered for ")
    metrics = projector.page("/metrics")[1]
    assert 'touchstone_projector_dependency_up{dependency="kafka"} 0.0' in metrics
    assert "touchstone_projector_lag_records{" not in metrics
    broker_of_its_own.set_up()
    projector.until(lambda: projector.page("/readyz")[0] == 200)


def test_a_projector_without_its_topics_ends_with_the_command_that_makes_them(embedded: Broker, project: Callable[[], Worker]) -> None:
    projector = project()
    assert projector.process.wait(300) == 3
    assert "touchstone topics create" in projector.log
    assert "Traceback" not in projector.log


@pytest.mark.parametrize(("shift_s", "runner", "side"), [(-10_800, "faust", "behind"), (10_800, "direct", "ahead of")])
async def test_a_worker_whose_clock_is_hours_off_says_so(
    shared_apache: Broker, namespace: Namespace, runner: str, start: Start, shift_s: int, side: str
) -> None:
    broker = shared_apache
    broker.create_topics(namespace.topics())
    shifted = [sys.executable, "-m", "touchstone.ops.lab.chaos.shifted", str(shift_s), "worker", "--suite", "safe_v0", "--runner", runner]
    worker = start("", namespace.environment(broker) | PROBES, command=shifted)
    worker.until(lambda: "clock" in worker.page("/readyz")[1])
    assert worker.page("/readyz") == (503, f"this machine's clock is 3.0 h {side} the cluster's: correct the one that is wrong\n")
    await produce(broker, namespace.topic("generations"), [(0, json.dumps(safe_event("e1")).encode(), [])])
    async with reading(broker, namespace) as until:
        await until(lambda seen: len(seen.results) == 1, 30)
    assert worker.end() == 0, worker.log
