import asyncio

import pytest

from touchstone.streams.process import pages
from touchstone.streams.process.pages import Heartbeat


async def test_health_lasts_while_the_loop_turns_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "HEARTBEAT_S", 0.0)
    heartbeat = Heartbeat()
    monkeypatch.setattr(pages, "HEARTBEAT_AGE_MAX_S", -1.0)
    assert heartbeat.alive() == (False, "event loop is stuck")
    monkeypatch.setattr(pages, "HEARTBEAT_AGE_MAX_S", 30.0)
    heartbeat._at -= 31
    assert not heartbeat.alive()[0]
    beating = asyncio.create_task(heartbeat.beat())
    await asyncio.sleep(0)
    assert heartbeat.alive()[0]
    beating.cancel()
