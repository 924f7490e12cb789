"""A field that is added to `schemas/result.py` alone reaches everything: here by subclasses that take the place of the two models.

Each field's value is falsy and is not its default, so that a path that drops empty values, or fills in defaults, fails.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from tests.ops.web.served import served
from tests.streams.fakes import FakeRecord, GatedPublisher, make_intake, safe_event
from tests.streams.subscription.made import R0, publish, read, record
from touchstone.ops.batch.call import ascore
from touchstone.ops.batch.packing import packed, unpacked
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import Source
from touchstone.ops.reports.json import json_pieces
from touchstone.ops.store.reports import StoredEntries, Wanted, choose
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.case import SafeCase
from touchstone.schemas.result import Scorecard, ScoreResult
from touchstone.scorers.base import NoSettings
from touchstone.scorers.reporting.view import LayoutOptions
from touchstone.scorers.suite import Suite
from touchstone.streams.account.projection import project

VALUES = {"certainty": 0.0, "steps": [], "is_stable": False, "remark": None, "parts": {}}


class WiderCard(Scorecard):
    certainty: float = 1.0
    steps: tuple[str, ...] = ("default",)
    is_stable: bool = True
    remark: str | None = "default"
    parts: dict[str, int] = Field(default_factory=lambda: {"default": 1})


class WiderResult(ScoreResult, WiderCard):
    """A result with the same fields."""


class WideScorer:
    name = "step"
    version = "1"

    async def score(self, case: SafeCase) -> Scorecard:
        return WiderCard(label="Pass", values={"CR": 0.0}, attributes={"batch_id": "b", "n": 0}, **{**VALUES, "steps": ()})  # type: ignore[arg-type]


SUITE = Suite("step", "1", ("generations",), {"safe": SafeCase}, lambda *_: NoSettings(), lambda _: WideScorer())
EVENT = safe_event("e1")


@pytest.fixture(autouse=True)
def _wider_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the subclasses wherever the product uses the two models."""
    wider = {ScoreResult: WiderResult, Scorecard: WiderCard}
    for name, module in list(sys.modules.items()):
        if name.startswith("touchstone."):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, type) and value in wider:
                    monkeypatch.setattr(module, attribute, wider[value])


def added(result: ScoreResult | dict[str, Any]) -> dict[str, Any]:
    document = result if isinstance(result, dict) else result.model_dump(mode="json")
    return {name: document[name] for name in VALUES}


async def event_of_a_worker() -> tuple[bytes, list[tuple[str, bytes]]]:
    publisher = GatedPublisher()
    intake, _ = make_intake(publisher, WideScorer())
    intake.start(("generations", 0), [FakeRecord(0, json.dumps(EVENT).encode())])
    assert await intake.drain(20)
    ((_, _, message),) = publisher.acknowledged
    return message.value or b"", list(message.headers)


async def test_from_python() -> None:
    assert added(await ascore(SUITE, EVENT)) == VALUES


def test_over_files_and_in_their_report(tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    file.write_text(json.dumps(EVENT))
    run = Run(SUITE, NoSettings())
    facts = run.score([Source(file)])
    assert [added(result) for result in run.entries if isinstance(result, ScoreResult)] == [VALUES]
    report = SUITE.report(run.entries, facts)
    document = json.loads("".join(json_pieces(SUITE, report, LayoutOptions(verdict=SUITE.verdict(report, None)))))
    assert [added(result) for result in document["results"]] == [VALUES]


async def test_between_processes() -> None:
    result = await ascore(SUITE, EVENT)
    assert unpacked(packed(result).line) == result


async def test_on_the_topic_in_the_store_and_in_its_report(tmp_path: Path) -> None:
    value, headers = await event_of_a_worker()
    assert added(json.loads(value)) == VALUES
    store = ResultStore.open(f"sqlite:///{tmp_path / 'store.db'}", create=True)
    store.apply(project("results", {0: None}, {0: [FakeRecord(0, value, headers=headers)]}), 1.0)
    (result,) = StoredEntries(store, choose(store, Wanted("step")))
    store.close()
    assert added(result) == VALUES
    assert result.model_dump_json() == WiderResult.model_validate_json(value).model_dump_json()


async def test_in_the_stream_of_events() -> None:
    value, _ = await event_of_a_worker()
    async with served(suites=("step",)) as web, web.stream("/v1/events?snapshot=1") as stream:
        publish(web.hub, read(record(R0, 0, value)))  # type: ignore[arg-type]
        assert added((await anext(stream)).data) == VALUES
