"""Asks every judge about a trace. Those that name a model of their own have a client of their own; all share the suite's budget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Lost, Reading, Shed, Unavailable
from touchstone.scorers.clinical.failure_modes.judging.shown import extracted, fields_of, parts_of
from touchstone.scorers.clinical.failure_modes.judging.standing import Standing
from touchstone.scorers.clinical.failure_modes.judging.verdicts import ModeVerdict
from touchstone.scorers.clinical.failure_modes.settings import NAME, FailureModeSettings
from touchstone.scorers.judges.ask.consult import Unjudged, consult
from touchstone.scorers.judges.ask.judge import Answer, Judge
from touchstone.scorers.judges.ask.sampling import is_sampled


@dataclass(frozen=True, slots=True)
class Answered:
    """One judge's answer about a trace, or why there is none."""

    standing: Standing
    said: Answer[ModeVerdict] | Unjudged

    @property
    def name(self) -> str:
        """The name of the question."""
        return self.standing.judge.name


class ModeJudging:
    """Asks the judges. `clients`: by the name of the judge; empty if none can be asked."""

    def __init__(self, standings: Sequence[Standing], clients: Mapping[str, Judge], settings: FailureModeSettings) -> None:
        self._standings = standings
        self._clients = clients
        self._settings = settings

    @property
    def _each_client(self) -> Iterable[Judge]:
        return {id(client): client for client in self._clients.values()}.values()

    def readings(self) -> Iterable[Reading]:
        """The clients' metrics. Clients of several models count together, but for gauges, which are the first client's."""
        found: dict[tuple[str, tuple[tuple[str, str], ...]], Reading] = {}
        for one in chain.from_iterable(client.readings() for client in self._each_client):
            found[one.name, one.labels] = _together(found.get((one.name, one.labels)), one)
        return tuple(found.values())

    async def close(self) -> None:
        """Close the clients' connections."""
        await asyncio.gather(*(client.close() for client in self._each_client))

    async def ask(self, trace: ProductionTrace) -> list[Answered]:
        """What each judge says of a trace. Raises nothing of the judges'."""
        if not is_sampled(NAME, trace.id or trace.trace_id, self._settings.judges.sample_rate):
            return [Answered(one, Unjudged("not_sampled", "the trace is not in the sample that is judged")) for one in self._standings]
        asked = await asyncio.to_thread(extracted, trace, self._settings.judges)
        if not asked.parts:
            return [Answered(one, Unjudged("nothing_to_read", "the trace has neither prompt, persona nor documents")) for one in self._standings]
        parts = parts_of(trace, asked)
        return list(await asyncio.gather(*(self._one(standing, parts) for standing in self._standings)))

    async def _one(self, standing: Standing, parts: Mapping[str, str]) -> Answered:
        judge = standing.judge
        client, on_budget = self._clients.get(judge.name), self._settings.judges.on_budget
        fields = fields_of(judge, parts)
        return Answered(standing, await consult(client, judge.prompt, fields, ModeVerdict, component=judge.name, on_budget=on_budget))


def gravest_wait(answers: Iterable[Answered]) -> Unavailable | Shed | None:
    """What a worker waits for, if any judge can be asked later: one that is lost, else one that is away, else a budget."""
    waits = [one.said.wait for one in answers if isinstance(one.said, Unjudged) and one.said.wait is not None]
    return min(waits, key=lambda wait: 0 if isinstance(wait, Lost) else 1 if isinstance(wait, Unavailable) else 2, default=None)


def _together(one: Reading | None, other: Reading) -> Reading:
    if one is None or one.kind == "gauge":
        return one or other
    buckets = tuple((bound, count + further) for (bound, count), (_, further) in zip(one.buckets, other.buckets, strict=True))
    return Reading(one.name, one.kind, one.help, one.value + other.value, one.labels, buckets)
