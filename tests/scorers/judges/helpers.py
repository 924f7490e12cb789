"""A question, its verdict, and a judge that asks a server on this machine."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pydantic import BaseModel, Field, SecretStr

from tests.doubles.judges.asked import Asked
from tests.doubles.judges.faults import Fault
from tests.doubles.judges.server import JudgeServer
from touchstone.scorers.judges.ask.judge import Judge
from touchstone.scorers.judges.ask.prompt import parse_prompt
from touchstone.scorers.judges.serve import open_judge
from touchstone.scorers.judges.settings import JudgeSettings

CANARY = "Zebulon Quackenbush 1931-02-30"
PROMPT = parse_prompt("coherence", "version: 1.0\n--- system ---\nJudge the note.\n--- user ---\nThe note:\n{{note}}\n")
#: Quick enough for tests, and slow enough for a busy machine.
QUICK: Mapping[str, Any] = {"retry_backoff_min_s": 0.002, "retry_backoff_max_s": 0.02, "deadline_s": 30, "timeout_s": 10, "model": "touchstone-scripted"}


class Verdict(BaseModel):
    score: int = Field(ge=1, le=5)
    why: str = ""


def score_of(text: str) -> int:
    """The score that `scripted` gives a note `case N`."""
    found = re.search(r"case (\d+)", text)
    assert found is not None
    return int(found[1]) % 5 + 1


def scripted(asked: Asked) -> dict[str, Any]:
    return {"score": score_of(asked.text), "why": "so"}


def settings_for(base_url: str, **chosen: Any) -> JudgeSettings:
    return JudgeSettings.model_validate({**QUICK, "base_url": base_url, "api_key": SecretStr("key-of-a-test"), **chosen})


@asynccontextmanager
async def judged(*faults: Fault, answer: Any = scripted, server: Mapping[str, Any] | None = None, **chosen: Any) -> AsyncIterator[tuple[Judge, JudgeServer]]:
    async with JudgeServer(answer, faults=faults, **{"keep_bodies": True, **(server or {})}) as running:
        judge = open_judge(settings_for(running.base_url, **chosen), suite="a_suite")
        try:
            yield judge, running
        finally:
            await judge.close()


def counted(judge: Judge, name: str, **labels: str) -> float:
    """The value of a reading, summed over those that have the labels."""
    found = [reading for reading in judge.readings() if reading.name == name and labels.items() <= dict(reading.labels).items()]
    return sum(reading.value for reading in found)


def names(readings: Iterable[Any]) -> set[str]:
    return {reading.name for reading in readings}
