"""Summaries and golds for tests, and a scorer that answers from a table."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from touchstone.schemas.reports.summary import LossResult
from touchstone.schemas.result import Failure, FileRef, Finding, Scorecard, ScoreResult
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import Reading

CANARY = "CANARY-4b1d-Jane-Doe"
NOW = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)


def gold(source_id: str = "doc-1", **changes: Any) -> dict[str, Any]:
    summary = {
        "main_theme": "Ten facts.",
        "summary": "One. Two. Three.",
        "key_facts": [f"Fact {number} holds." for number in range(10)],
        "logical_outline": ["First.", "Second."],
        "entity_list": ["Ada"],
    }
    return {"entry": {"category": "Test", "source_id": source_id, "text": "A text.", "token_count": 500}, "summary": summary | changes}


def summary(event_id: str | None = None, source_id: str = "doc-1", generated: str = "One. Two.", **extra: Any) -> dict[str, Any]:
    event = {"datum": gold(source_id), "generated": generated}
    return ({} if event_id is None else {"id": event_id}) | event | extra


PARTS = ("facts_loss", "recall", "precision", "entities_loss", "flow_loss", "coverage", "order", "semantic_loss", "cosine", "length_loss")


def card(loss: float, label: str = "Pass") -> Scorecard:
    return Scorecard(label=label, values={"loss": loss, **dict.fromkeys(PARTS, loss)}, details={"length": {"target": 300}}, models={"nli": "toy@1"})


def hard_fail(rule: str) -> Scorecard:
    finding = Finding(severity="critical", code=rule, path="generated", message="a guardrail holds")
    return Scorecard(label="Fail", values={"loss": 1.0}, findings=(finding,))


def unscored(code: str) -> Scorecard:
    return Scorecard(label="unscored", values={}, failures=(Failure(component="summary_loss", kind="input", code=code),))


def result(event_id: str, of: Scorecard | LossResult, **changes: Any) -> ScoreResult:
    facts: dict[str, Any] = {
        "result_id": f"r-{event_id}",
        "event_id": event_id,
        "case_id": "doc-1",
        "kind": "summary",
        "suite": "summary_loss",
        "suite_version": "3.0",
        "config_digest": "0" * 16,
        "attributes": {"category": "Test", "model": "m<1>", "source_id": "doc-1"},
        "source": FileRef(file="a.jsonl", place=f"line {event_id}"),
        "scored_at": NOW,
    }
    shared = {name: getattr(of, name) for name in ("label", "values", "findings", "failures", "details")} | {"models": getattr(of, "models", {})}
    return ScoreResult(**(facts | shared | changes))


class TableScorer:
    """Answers from a table by event id; what is callable is called first, so that it may wait or raise."""

    name = "summary_loss"
    version = "3.0"

    def __init__(self, table: Mapping[str, Scorecard | Callable[[], Any]]) -> None:
        self._table = table
        self.in_flight = self.in_flight_max = 0
        self.closed = False

    async def score(self, case: SummaryCase) -> Scorecard:
        answer = self._table[case.id or ""]
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight_max, self.in_flight)
        try:
            await asyncio.sleep(0)
            return answer() if callable(answer) else answer
        finally:
            self.in_flight -= 1

    def readings(self) -> Iterable[Reading]:
        return ()

    async def close(self) -> None:
        self.closed = True
