import asyncio
import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
import structlog
from aiokafka.errors import KafkaConnectionError, SaslAuthenticationFailed, TopicAuthorizationFailedError
from structlog.testing import capture_logs

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.scorers.backoff import Backoff
from touchstone.scorers.base import ConfigError
from touchstone.streams.wire import waiting
from touchstone.streams.wire.clients import Unreachable
from touchstone.streams.wire.waiting import once_reached

#: Nothing listens on port 1, so whoever asks there is told at once.
NOWHERE = KafkaSettings(bootstrap_servers="127.0.0.1:1")


def failing(*errors: Exception) -> Callable[[], Any]:
    left = list(errors)

    async def act() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return act


async def reach(act: Callable[[], Any], kafka: KafkaSettings = NOWHERE, stop: asyncio.Event | None = None) -> tuple[Any, list[bool]]:
    waits: list[bool] = []
    async with asyncio.timeout(20):
        return await once_reached(act, kafka, Backoff(0.01, 0.02), stop or asyncio.Event(), waits.append), waits


async def test_a_broker_that_comes_back_is_waited_for_with_one_line_for_each_change() -> None:
    with capture_logs() as lines:
        answer, waits = await reach(failing(*[KafkaConnectionError("down")] * 5, TimeoutError(), Unreachable("gone")))
    assert (answer, waits) == ("answer", [True, False])
    assert [line["event"] for line in lines] == ["broker_unreachable", "broker_reached"]
    assert lines[0]["code"] == "KafkaConnectionError"


async def test_a_broker_that_stays_away_is_told_again_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "REMIND_S", 0.1)
    stop = asyncio.Event()

    def note(_: Any, __: str, event: dict[str, Any]) -> dict[str, Any]:
        told.append((time.monotonic(), event["event"]))
        if len(told) == 4:
            stop.set()
        raise structlog.DropEvent

    told: list[tuple[float, str]] = []
    monkeypatch.setattr(waiting, "log", structlog.wrap_logger(None, processors=[note]))
    await reach(failing(*[KafkaConnectionError("down")] * 1_000_000), stop=stop)
    assert [event for _, event in told] == ["broker_unreachable", *["broker_still_unreachable"] * 3]
    assert all(after - before >= 0.09 for (before, _), (after, _) in itertools.pairwise(told))


async def test_a_broker_that_is_there_is_not_worth_a_line() -> None:
    with capture_logs() as lines:
        assert await reach(failing()) == ("answer", [])
    assert lines == []


@pytest.mark.parametrize("error", [SaslAuthenticationFailed(), TopicAuthorizationFailedError(), ConfigError("missing topic")])
async def test_what_a_person_must_mend_is_raised_at_once(error: Exception) -> None:
    with pytest.raises(ConfigError) as told:
        await reach(failing(error))
    assert not isinstance(told.value, Unreachable)


async def test_told_to_stop_it_waits_no_longer() -> None:
    stop, attempts = asyncio.Event(), itertools.count(1)

    async def act() -> str:
        if next(attempts) == 3:
            stop.set()
        raise KafkaConnectionError("down")

    with capture_logs():
        answer, waits = await reach(act, stop=stop)
    assert (answer, waits, next(attempts)) == (None, [True], 4)


async def test_an_attempt_that_hangs_does_not_keep_it_from_stopping() -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, stop.set)

    async def hang() -> None:
        await asyncio.Event().wait()

    assert await reach(hang, stop=stop) == (None, [])


async def test_the_wait_may_be_bounded() -> None:
    with capture_logs(), pytest.raises(Unreachable, match="does not answer"):
        await reach(failing(*[KafkaConnectionError("down")] * 1_000_000), NOWHERE.model_copy(update={"start_wait_s": 0.2}))
