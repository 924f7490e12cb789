"""An idle worker is silent: Faust's own search for partitions that hang reads statistics that are off here."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from touchstone.streams.runners.faust_private import EventConsumer


async def test_a_partition_without_events_is_no_error(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[Any] = []

    class Thread:
        def verify_event_path(self, now: float, tp: Any) -> None:
            asked.append(tp)  # it logs "There are multiple possible explanations for this"

    async def sleep(_: float) -> None:
        pass

    consumer = object.__new__(EventConsumer)
    monkeypatch.setattr(EventConsumer, "should_stop", False, raising=False)
    consumer.__dict__.update(_thread=Thread(), assignment=lambda: {("generations", 0)}, sleep=sleep, log=SimpleNamespace())
    with caplog.at_level(logging.INFO):
        await consumer.verify_all_partitions_active()
    assert asked == []
