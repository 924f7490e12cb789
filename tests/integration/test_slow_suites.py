"""A suite that takes long: built while the pages answer, given few cases at a time, closed after the drain; nothing is lost at its end."""

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.brokers import Broker, Namespace
from tests.integration.workers import Worker, committed, produce, reading
from touchstone.schemas.settings.house import Settings, WorkerSettings
from touchstone.scorers.base import NoSettings
from touchstone.scorers.suite import Suite
from touchstone.streams.process.suites import paced

SUITE = """
import asyncio, os, time
from pathlib import Path
from typing import Literal

from touchstone.schemas.case import Case
from touchstone.schemas.result import Scorecard
from touchstone.scorers.base import ConfigError, NoSettings, Reading, Unavailable
from touchstone.scorers.suite import Suite

FOLDER = Path(os.environ["SLOW_FOLDER"])


class SlowCase(Case):
    kind: Literal["slow"] = "slow"


class SlowScorer:
    name, version = "slow", "1"

    def __init__(self):
        self.cases = self.now = self.most = 0

    async def score(self, case):
        self.cases, self.now = self.cases + 1, self.now + 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(float(os.environ.get("SLOW_S", "0.01")))
        finally:
            self.now -= 1
        return Scorecard(label="Pass", values={"loss": 0.25})

    def readings(self):
        yield Reading("slow_cases", "counter", "Cases taken up.", self.cases)
        yield Reading("slow_most_in_flight", "gauge", "The most at a time.", self.most)

    async def close(self):
        (FOLDER / "closed").touch()


def build(settings):
    (FOLDER / "building").touch()
    if (FOLDER / "mistake").exists():
        raise ConfigError("SLOW_MODEL: no such model; check the path")
    if (FOLDER / "down").exists():
        (FOLDER / "down").unlink()
        raise Unavailable("hub_down")
    while not (FOLDER / "go").exists():
        time.sleep(0.02)
    return SlowScorer()


SUITE = Suite(
    name="slow", version="1", topics=("generations",), cases={"slow": SlowCase}, resolve=lambda env, document: NoSettings(), build=build,
    fingerprint=lambda settings: {}, window_cases=8,
)
"""


@pytest.fixture(params=["direct", "faust"])
def runner(request: pytest.FixtureRequest) -> str:
    return str(request.param)


Start = Callable[..., Worker]


@pytest.fixture
def start(shared_embedded: Broker, namespace: Namespace, runner: str, tmp_path: Path) -> Iterator[Start]:
    shared_embedded.create_topics(namespace.topics())
    (tmp_path / "slow_suite.py").write_text(SUITE)
    info = tmp_path / "slow-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[touchstone.suites]\nslow = slow_suite:SUITE\n")
    workers: list[Worker] = []

    def begin(**env: str) -> Worker:
        environment = namespace.environment(shared_embedded) | {"PYTHONPATH": str(tmp_path), "SLOW_FOLDER": str(tmp_path)} | env
        workers.append(Worker(runner, environment, suite="slow"))
        return workers[-1]

    yield begin
    for worker in workers:
        worker.close()


async def send(broker: Broker, namespace: Namespace, count: int) -> None:
    records = [(number % 4, json.dumps({"kind": "slow", "id": f"e{number}"}).encode(), ()) for number in range(count)]
    await produce(broker, namespace.topic("generations"), records)


def wait_for(path: Path, timeout_s: float = 240.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path.name}"
        time.sleep(0.02)


async def test_the_pages_answer_while_the_suite_is_built_and_say_that_it_is_not_ready(
    shared_embedded: Broker, namespace: Namespace, start: Start, tmp_path: Path
) -> None:
    worker = start()
    wait_for(tmp_path / "building")
    assert worker.page("/readyz") == (503, "the suite is being built\n")
    assert worker.page("/healthz") == (200, "ok\n")
    assert "touchstone_build_info" in worker.page("/metrics")[1]
    (tmp_path / "go").touch()
    await send(shared_embedded, namespace, 60)
    async with reading(shared_embedded, namespace) as until:
        await until(lambda seen: len(seen.results) == 60)
    assert worker.page("/readyz") == (200, "ok\n")
    metrics = worker.page("/metrics")[1]
    assert 'touchstone_slow_cases_total{suite="slow"} 60.0' in metrics
    most = re.search(r'touchstone_slow_most_in_flight\{suite="slow"\} (\S+)', metrics)
    assert most is not None
    # The window is asked before a slice, and a slice is one case here; both runners let at most one more in.
    assert 2 <= float(most[1]) <= 9
    assert not (tmp_path / "closed").exists()
    assert worker.end() == 0, worker.log
    assert (tmp_path / "closed").exists()


def test_a_worker_that_still_builds_ends_when_told_to(start: Start, tmp_path: Path) -> None:
    worker = start()
    wait_for(tmp_path / "building")
    assert worker.end() == 0


def test_a_mistake_found_while_building_is_one_line(start: Start, tmp_path: Path) -> None:
    (tmp_path / "mistake").touch()
    worker = start()
    assert worker.process.wait(300) == 3
    assert "touchstone: SLOW_MODEL: no such model; check the path" in worker.log
    assert "Traceback" not in worker.log


async def test_a_model_that_is_not_there_yet_is_asked_for_again(shared_embedded: Broker, namespace: Namespace, start: Start, tmp_path: Path) -> None:
    for name in ("down", "go"):
        (tmp_path / name).touch()
    worker = start()
    await send(shared_embedded, namespace, 4)
    async with reading(shared_embedded, namespace) as until:
        await until(lambda seen: len(seen.results) == 4)
    assert '"code": "hub_down"' in worker.log.replace('":"', '": "')


async def test_a_shutdown_amid_slow_cases_is_bounded_and_loses_nothing(shared_embedded: Broker, namespace: Namespace, start: Start, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    await send(shared_embedded, namespace, 24)
    worker = start(SLOW_S="600", TOUCHSTONE_WORKER_DRAIN_TIMEOUT_S="1")
    deadline = time.monotonic() + 30
    while 'touchstone_events_in_flight{suite="slow"} 8.0' not in worker.page("/metrics")[1]:
        assert time.monotonic() < deadline, worker.page("/metrics")[1]
        await asyncio.sleep(0.05)
    assert worker.end() == 0, worker.log
    assert (tmp_path / "closed").exists()
    second = start()
    async with reading(shared_embedded, namespace) as until:
        outcomes = await until(lambda seen: len(seen.results) == 24)
    assert second.end() == 0, second.log
    assert all(len(results) == 1 for results in outcomes.results.values())
    assert await committed(shared_embedded, namespace.group("slow"), namespace.topic("generations")) == [6, 6, 6, 6]


SLOW: Suite = Suite("slow", "1", (), {}, lambda *_: NoSettings(), lambda _: None, lambda _: {}, window_cases=64)  # type: ignore[arg-type, return-value]


def test_a_suites_window_holds_where_the_settings_say_nothing() -> None:
    worker = paced(SLOW, Settings()).worker
    assert (worker.window_records, worker.slice_records) == (64, 4)


def test_a_window_that_the_user_sets_is_kept() -> None:
    worker = paced(SLOW, Settings(worker=WorkerSettings(window_records=1_000))).worker
    assert (worker.window_records, worker.slice_records) == (1_000, 4)


def test_a_suite_without_a_window_of_its_own_changes_nothing() -> None:
    quick: Suite = Suite("quick", "1", (), {}, lambda *_: NoSettings(), lambda _: None, lambda _: {})  # type: ignore[arg-type, return-value]
    assert paced(quick, Settings()) == Settings()


async def test_what_waits_after_an_idle_time_is_as_old_as_its_event_and_the_worker_ready(
    shared_embedded: Broker, namespace: Namespace, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "go").touch()
    worker = start(SLOW_S="600", TOUCHSTONE_KAFKA_PROBE_INTERVAL_S="0.3", TOUCHSTONE_WORKER_DRAIN_TIMEOUT_S="1")
    worker.until(lambda: worker.page("/readyz")[0] == 200)
    idle_s = 4
    await asyncio.sleep(idle_s)
    sent = time.time()
    await send(shared_embedded, namespace, 1)

    def waiting() -> list[float]:
        pattern = r"touchstone_consumer_(?:lag|standstill)_seconds\{[^}]*\} (\S+)"
        return [float(seconds) for seconds in re.findall(pattern, worker.page("/metrics")[1]) if float(seconds) > 0]

    worker.until(lambda: len(waiting()) == 2)
    assert max(waiting()) <= time.time() - sent < max(waiting()) + idle_s
    assert worker.page("/readyz") == (200, "ok\n")
    of_its_configuration = r'touchstone_results_by_configuration_total\{config_digest="[0-9a-f]{16}",label="Pass",suite="slow",suite_version="1"\} 0.0'
    assert re.search(of_its_configuration, worker.page("/metrics")[1])
