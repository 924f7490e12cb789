import asyncio
from collections import Counter

import pytest

from touchstone.scorers.base import ConfigError
from touchstone.streams.process.replay import MARGIN_S, PAUSE_MAX_S, Replayed, again_and_again
from touchstone.streams.telemetry.replay_counts import ReplayCounts
from touchstone.streams.wire.clients import Unreachable

DAY_S = 86_400.0
EVERY_S = 60.0
START = 1_700_000_000.0


class Rounds:
    """Rounds whose outcomes a test scripts; time goes on only while it sleeps. `pauses`: between two rounds, seconds. Ends after the last one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *told: Replayed | Exception) -> None:
        self.now = START
        self.stop = asyncio.Event()
        self.pauses: list[float] = []
        self.counts = ReplayCounts("toy", "1")
        self._told = list(told)
        monkeypatch.setattr("touchstone.streams.process.replay._sleep", self._sleep)

    async def _sleep(self, stop: asyncio.Event, until: float, clock: object) -> None:
        self.pauses.append(until - self.now)
        self.now = until

    async def once(self) -> Replayed:
        told = self._told.pop(0)
        if not self._told:
            self.stop.set()
        if isinstance(told, Exception):
            raise told
        return told

    async def follow(self) -> list[float]:
        await again_and_again(self.once, self.stop, EVERY_S, "toy", self.counts, lambda: self.now)
        return self.pauses


def shed_again(in_s: float | None, *, scored: int = 0) -> Replayed:
    return Replayed(Counter(budget=9), 9, Counter(scored=scored, shed=9 - scored), None if in_s is None else START + in_s)


async def test_while_nothing_is_put_aside_it_looks_at_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await Rounds(monkeypatch, Replayed(), Replayed(), Replayed()).follow() == [EVERY_S] * 3


async def test_a_budget_that_is_spent_is_asked_again_when_its_next_period_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    caught_up = Replayed(Counter(budget=9), 9, Counter(scored=9))
    assert await Rounds(monkeypatch, shed_again(DAY_S, scored=4), caught_up).follow() == [DAY_S + MARGIN_S, EVERY_S]


async def test_a_period_that_began_while_the_round_went_on_is_not_waited_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await Rounds(monkeypatch, shed_again(-30.0), Replayed()).follow())[0] == MARGIN_S


async def test_where_nobody_knows_when_pauses_grow_to_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = await Rounds(monkeypatch, *[shed_again(None)] * 30).follow()
    assert all(EVERY_S <= pause <= PAUSE_MAX_S for pause in pauses)
    assert max(pauses) > PAUSE_MAX_S / 2


async def test_a_broker_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = await Rounds(monkeypatch, Unreachable("away"), OSError(), Replayed()).follow()
    assert len(pauses) == 3
    assert max(pauses[:2]) <= EVERY_S


async def test_what_the_user_must_mend_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no topic"):
        await Rounds(monkeypatch, ConfigError("no topic"), Replayed()).follow()
