"""A judge that says what a test wants of facts and sentences, and a scorer that asks it."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.scorers.summary.fakes import TableEngines, same_words
from touchstone.scorers.base import Reading
from touchstone.scorers.judges.ask.judge import Answer, Prompt, Usage
from touchstone.scorers.summary.judging.verdicts import StatementVerdicts
from touchstone.scorers.summary.scorer import SummaryLossScorer
from touchstone.scorers.summary.settings import resolve

USAGE = Usage(tokens_in=900, tokens_out=120, cost_usd=0.0003, calls=1)
Says = Callable[[str], tuple[str, str] | str | None]


class TableJudge:
    """Answers by id, `says("F3")`: a verdict, a verdict with its evidence, or None for no answer to it; or raises. `asked`: the fields of every question."""

    def __init__(self, says: Says | Exception | None = None, *, extra: Iterable[Mapping[str, str]] = ()) -> None:
        self.says = says
        self.extra = tuple(extra)
        self.asked: list[Mapping[str, str]] = []
        self.closed = False

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[Any]) -> Any:
        assert fields.keys() == prompt.fields
        self.asked.append(fields)
        if isinstance(self.says, Exception):
            raise self.says
        told: list[Mapping[str, str]] = []
        for name in self.ids:
            said = "supported" if self.says is None else self.says(name)
            if said is not None:
                word, evidence = (said, "") if isinstance(said, str) else said
                told.append({"id": name, "evidence": evidence, "verdict": word})
        return Answer(StatementVerdicts.model_validate({"statements": [*told, *self.extra]}), "judge-1", USAGE)

    @property
    def ids(self) -> list[str]:
        return re.findall(r"[FS]\d+", self.asked[-1]["asked"])

    def readings(self) -> Iterable[Reading]:
        return (Reading("judge_calls", "counter", "Requests.", len(self.asked)),)

    async def close(self) -> None:
        self.closed = True


def half_sure(premise: str, hypothesis: str) -> tuple[float, float]:
    """As `same_words`, but of every second fact the model is only half sure."""
    e, c = same_words(premise, hypothesis)
    return (e / 2, c) if re.search(r"two|four|six|eight|ten", hypothesis) else (e, c)


def scorer(judge: Any, engines: TableEngines | None = None, **document: Any) -> SummaryLossScorer:
    """The suite's scorer with a judge of the test's; support of the models is the entailment of the table, and unsure statements bound no label."""
    given = {"support": "judge", "prefilter_top_k": 0, "engines": {"nli_model": "a/b"}, "judge_band_high": 0.8, "labels": {"unsure_share_max": 1.0}}
    settings = resolve({}, given | document)
    return SummaryLossScorer(engines or TableEngines(half_sure), settings, judge=judge)
