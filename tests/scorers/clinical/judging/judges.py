"""A judge that says what a test wants, and traces for it to read."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from touchstone.schemas.judging import JudgeRequest, Validated
from touchstone.scorers.base import Reading
from touchstone.scorers.clinical.judging.scorer import CoherenceScorer
from touchstone.scorers.clinical.judging.settings import CoherenceSettings
from touchstone.scorers.clinical.judging.verdicts import DIMENSIONS, CoherenceVerdict
from touchstone.scorers.judges.ask.judge import Answer, Prompt, Usage

USAGE = Usage(tokens_in=1_200, tokens_out=300, cost_usd=0.0004, calls=2, wasted=1)
PATIENT = {"resourceType": "Patient", "id": "p", "gender": "female", "birthDate": "1966-05-04"}
TRACE: dict[str, Any] = {
    "id": "e1",
    "traceId": "t1",
    "timestamp": "2026-02-04T14:30:00Z",
    "source": "eval",
    "prompt": "A woman of 59 with diabetes",
    "persona": {"age": 59, "conditions": ["Type 2 diabetes mellitus"]},
    "outputs": {"fhir": {"content": PATIENT}},
}


def verdict(scores: Mapping[str, int | None] | int = 5, findings: Mapping[str, list[dict[str, str]]] | None = None) -> CoherenceVerdict:
    """A verdict with these scores (one for all, or by dimension) and findings."""
    by_name = dict.fromkeys(DIMENSIONS, scores) if isinstance(scores, int) else scores
    found = findings or {}
    written = {name: {"score": score, "rationale": f"why {name}", "findings": found.get(name, [])} for name, score in by_name.items()}
    return CoherenceVerdict.model_validate(written)


def answer(scores: Mapping[str, int | None] | int = 5, findings: Mapping[str, list[dict[str, str]]] | None = None) -> Answer[CoherenceVerdict]:
    return Answer(verdict(scores, findings), "gpt-test-1", USAGE)


class FakeJudge:
    """Answers at once, or raises. `asked`: the fields of every question."""

    def __init__(self, says: Any = None) -> None:
        self.says = answer() if says is None else says
        self.asked: list[Mapping[str, str]] = []
        self.closed = False

    async def ask(self, prompt: Prompt, fields: Mapping[str, str], verdict: type[Any]) -> Any:
        assert fields.keys() == prompt.fields
        self.asked.append(fields)
        says = self.says(fields) if isinstance(self.says, Callable) else self.says  # type: ignore[arg-type]
        if isinstance(says, Exception):
            raise says
        return says

    def readings(self) -> Iterable[Reading]:
        return (Reading("judge_calls", "counter", "Requests.", len(self.asked)),)

    async def close(self) -> None:
        self.closed = True


def scorer(judge: Any, **settings: Any) -> CoherenceScorer:
    return CoherenceScorer(judge, CoherenceSettings.model_validate(settings), "clinical_judge", "1.0")


def request(label: str = "Pass", label_max: str = "Pass", **values: float) -> JudgeRequest:
    validated = Validated(suite_version="1.0", config_digest="0" * 16, label=label, label_max=label_max, values=values)  # type: ignore[arg-type]
    return JudgeRequest.model_validate({"id": "e1", "trace_id": "t1", "asked": {}, "validated": validated.model_dump()})
