import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.streams.fakes import GatedPublisher, make_intake
from touchstone.schemas.settings.house import Settings
from touchstone.streams.runners import faust_agents
from touchstone.streams.runners.base import Job


class FakeApp:
    """An app whose start lasts until it is let through, and which tells in what order it was asked."""

    should_stop = False
    consumer = SimpleNamespace(unreadable=None)

    def __init__(self) -> None:
        self.told: list[str] = []
        self.started = asyncio.Event()

    async def start(self) -> None:
        self.told.append("start")
        await self.started.wait()
        self.told.append("started")

    async def stop(self) -> None:
        self.told.append("stop")

    async def commit(self, topics: Any) -> bool:
        self.told.append("commit")
        return True


class FakeFeed:
    closed = False

    def flush(self) -> None:
        pass

    def forget(self) -> None:
        pass

    async def settle(self) -> None:
        pass


@pytest.fixture
def job() -> Job:
    intake, metrics = make_intake(GatedPublisher())
    return Job(Settings(), intake, metrics, ("generations",), "group", asyncio.Event())


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faust_agents, "attach", lambda app, job: FakeFeed())


async def test_told_to_stop_before_it_starts_it_starts_nothing(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_app(*_: Any) -> None:
        raise AssertionError("an app was made")

    monkeypatch.setattr(faust_agents, "make_app", no_app)
    job.stop.set()
    await faust_agents.run(job)


async def test_the_time_before_its_start_does_not_count_as_time_outside_the_group(job: Job) -> None:
    """The watchdog ended a worker that had needed half a minute for its broker and its topics, two seconds after it began to join."""
    job.joining_since = 0.0
    app = FakeApp()
    app.started.set()
    running = asyncio.create_task(faust_agents._run(job, app))
    while not app.told:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)
    assert job.joining_since > 0
    job.stop.set()
    async with asyncio.timeout(20):
        await running


async def test_told_to_stop_amid_its_start_it_is_stopped_when_it_has_started(job: Job) -> None:
    app = FakeApp()
    running = asyncio.create_task(faust_agents._run(job, app))
    while not app.told:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)
    job.stop.set()
    asyncio.get_running_loop().call_later(0.3, app.started.set)
    async with asyncio.timeout(20):
        await running
    assert app.told == ["start", "started", "commit", "stop"]


async def test_a_start_that_never_ends_is_left_behind(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faust_agents, "START_S", 0.1)
    app = FakeApp()
    running = asyncio.create_task(faust_agents._run(job, app))
    while not app.told:  # noqa: ASYNC110 -- what is waited for has no event
        await asyncio.sleep(0)
    job.stop.set()
    with capture_logs() as lines:
        async with asyncio.timeout(20):
            await running
    assert app.told[-1] == "stop"
    assert [line["event"] for line in lines] == ["faust_left_behind"]
