from typing import Any

import orjson
import pytest

from tests.scorers.summary.fakes import FACTS, case, gold
from tests.scorers.summary.judging.judges import USAGE, TableJudge, scorer
from tests.streams.fakes import FakeRecord, GatedPublisher
from tests.streams.intake.test_intake import until
from touchstone.ops.batch.call import ascore
from touchstone.schemas.result import Failure, NotChecked, Scorecard
from touchstone.schemas.settings.house import WorkerSettings
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import Lost, Shed, Unavailable
from touchstone.scorers.judges.ask.judge import OverBudget, Unanswered
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.summary import NAME, SUITE, VERSION
from touchstone.scorers.summary.settings import resolve
from touchstone.streams.intake.intake import Destinations, Intake
from touchstone.streams.intake.scoring import RunningSuite
from touchstone.streams.telemetry.metrics import WorkerMetrics
from touchstone.streams.wire.codec import Codec

ALL = " ".join(FACTS)
EVENT = {"kind": "summary", "id": "e1", "datum": gold().model_dump(mode="json"), "generated": ALL}


def scoring(judge: Any, **document: Any) -> Scoring:
    return Scoring(SUITE, resolve({}, {"support": "judge"}), scorer=scorer(judge, **document))


def worker(judge: Any, **document: Any) -> tuple[Intake, GatedPublisher, WorkerMetrics]:
    publisher, metrics = GatedPublisher(), WorkerMetrics(NAME, VERSION, "test")
    suite = RunningSuite(NAME, VERSION, "0" * 16, scorer(judge, **document), Codec({"summary": SummaryCase}, (), 1_000_000), False)
    settings = WorkerSettings(retry_backoff_min_s=0.01, retry_backoff_max_s=0.02)
    return Intake(suite, publisher, Destinations("results", 4, "dead", 4), settings, metrics), publisher, metrics


async def models_alone() -> Scorecard:
    return await scorer(None, support="auto").score(case(ALL))


async def test_without_a_key_the_models_word_stands_and_the_result_says_so() -> None:
    card, alone = await scorer(None).score(case(ALL)), await models_alone()
    assert (card.values, card.label, card.findings, card.failures) == (alone.values, alone.label, alone.findings, ())
    assert NotChecked(check="judge", reason="no judge is configured: there is no key for it; the models' word stands") in card.not_checked
    assert card.details["judge"]["state"] == "no_judge"


def test_without_a_key_the_worker_is_told_once() -> None:
    assert SUITE.notes is not None
    (note,) = [note for note in SUITE.notes(resolve({}, {"support": "judge"})) if "OPENAI_API_KEY" in note]
    assert "stays with the models" in note


@pytest.mark.parametrize("code", ["refused", "truncated", "no_json", "wrong_form", "too_long"])
async def test_a_judge_without_a_verdict_is_a_failure_and_no_zero(code: str) -> None:
    card, alone = await scorer(TableJudge(Unanswered(code, USAGE))).score(case(ALL)), await models_alone()
    assert card.failures == (Failure(component="judge", kind="judge", code=code),)
    assert (card.values, card.label, alone.label) == (alone.values, "Review", "Pass")
    assert (card.details["judge"]["state"], card.details["judge"]["cost_usd"]) == ("unanswered", USAGE.cost_usd)


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [(Unavailable("judge_5xx"), "unavailable", "judge_5xx"), (Lost("judge_key"), "unavailable", "judge_key"), (OverBudget(9.0), "shed", "budget")],
)
@pytest.mark.parametrize("on_budget", ["wait", "shed"])
async def test_from_a_file_the_models_word_stands_with_a_failure_that_says_why(error: Exception, kind: str, code: str, on_budget: str) -> None:
    result, alone = await ascore(scoring(TableJudge(error), on_budget=on_budget), EVENT), await models_alone()
    assert result.failures == (Failure(component="judge", kind=kind, code=code),)
    assert (result.values, result.label, alone.label) == (alone.values, "Pass" if kind == "shed" else "Review", "Pass")


async def test_live_nothing_is_acknowledged_until_the_judge_is_back() -> None:
    judge = TableJudge(Unavailable("judge_5xx"))
    intake, publisher, metrics = worker(judge)
    intake.start(("generations", 0), [FakeRecord(0, orjson.dumps(EVENT))])
    await until(lambda: len(judge.asked) >= 3, 30)
    assert publisher.acknowledged == []
    judge.says = None
    assert await intake.drain(30)
    (result,) = publisher.values("results")
    assert (result["failures"], result["details"]["judge"]["state"]) == ([], "answered")
    assert metrics.totals()["scored"] == 1


async def test_live_without_budget_a_case_waits_or_is_put_aside_as_the_settings_say() -> None:
    with pytest.raises(Unavailable, match="judge_budget"):
        await scorer(TableJudge(OverBudget(60.0))).score(case(ALL))
    with pytest.raises(Shed, match="budget"):
        await scorer(TableJudge(OverBudget(60.0)), on_budget="shed").score(case(ALL))
    intake, publisher, metrics = worker(TableJudge(OverBudget(60.0)), on_budget="shed")
    intake.start(("generations", 0), [FakeRecord(0, orjson.dumps(EVENT))])
    assert await intake.drain(30)
    await intake.settle()
    (ledger,) = publisher.values("results")
    assert ledger["entries"] == [{"outcome": "shed", "reason": "budget", "ranges": [[0, 0]]}]
    assert metrics.totals()["shed"] == 1


async def test_a_worker_and_files_say_the_same() -> None:
    def says(name: str) -> str:
        return "absent" if name in {"F2", "S4"} else "supported"

    result = await ascore(scoring(TableJudge(says)), EVENT)
    intake, publisher, _ = worker(TableJudge(says))
    intake.start(("generations", 0), [FakeRecord(0, orjson.dumps(EVENT))])
    assert await intake.drain(30)
    (live,) = publisher.values("results")
    of_file = orjson.loads(result.model_dump_json())
    for name in ("label", "values", "findings", "failures", "not_checked", "details", "models"):
        assert live[name] == of_file[name]


async def test_the_scorer_reads_and_closes_its_judge() -> None:
    judge = TableJudge()
    made = scorer(judge)
    assert [reading.name for reading in made.readings()] == ["pairs", "judge_calls"]
    await made.close()
    assert judge.closed
