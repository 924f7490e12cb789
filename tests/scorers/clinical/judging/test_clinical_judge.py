import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.scorers.clinical.judging.judges import TRACE, USAGE, FakeJudge, answer, request, scorer
from touchstone.ops.batch.call import ascore
from touchstone.ops.batch.run import Run
from touchstone.ops.batch.sources import find_sources
from touchstone.ops.reports.layouts import lay_out
from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.result import Failure
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import ConfigError, Document, Lost, Shed, Unavailable
from touchstone.scorers.clinical import SUITE as VALIDATORS
from touchstone.scorers.clinical import ClinicalSettings
from touchstone.scorers.clinical.judging import NAME, SUITE, VERSION, CoherenceSettings
from touchstone.scorers.clinical.judging.settings import prompt
from touchstone.scorers.clinical.judging.verdicts import DIMENSIONS, CoherenceVerdict
from touchstone.scorers.clinical.samples import TRACES
from touchstone.scorers.clinical.settings import JudgeRequestSettings
from touchstone.scorers.judges.ask.judge import OverBudget, Unanswered, Usage
from touchstone.scorers.reporting import LayoutOptions
from touchstone.scorers.scoring import Scoring

SAMPLE = TRACES / "sample-diabetes.json"


def scoring(judge: Any, **settings: Any) -> Scoring:
    return Scoring(SUITE, CoherenceSettings.model_validate(settings), scorer=scorer(judge, **settings))


async def test_one_call_runs_validators_and_judge() -> None:
    result = await ascore(scoring(FakeJudge(answer(4))), json.loads(SAMPLE.read_text()))
    assert result.values["clinical"] == 75.0
    assert result.values["overall"] == pytest.approx(0.25 * result.values["format"] + 0.25 * result.values["terminology"] + 37.5)
    assert (result.label, result.components_missing, result.suite, result.suite_version) == ("Pass", (), NAME, VERSION)


async def test_the_validators_scores_are_those_of_their_own_suite() -> None:
    trace = json.loads((TRACES / "sample-implausible.json").read_text())
    own = await ascore(Scoring(VALIDATORS, VALIDATORS.resolve({}, None)), trace)
    judged = await ascore(scoring(FakeJudge()), trace)
    assert {name: judged.values[name] for name in ("format", "terminology")} == {name: own.values[name] for name in ("format", "terminology")}
    assert (judged.event_id, judged.details["validators"]["label"]) == (own.event_id, own.label)
    assert (judged.label, own.label) == ("Warn", "Warn")
    assert judged.details["validators"]["config_digest"] == own.config_digest


@pytest.mark.parametrize("document", [json.loads(path.read_text()) for path in sorted(TRACES.glob("*.json"))], ids=lambda document: document["traceId"])
async def test_a_request_that_the_validators_hand_on_is_judged_like_the_trace_itself(document: dict[str, Any]) -> None:
    trace, validators = ProductionTrace.model_validate({**document, "id": "e1"}), VALIDATORS.build(ClinicalSettings(judge=JudgeRequestSettings(requests=True)))
    own = await validators.score(trace)
    handed = await validators.follow_up(trace, "e1", own)
    whole = await scorer(FakeJudge(answer(3))).score(trace)
    assert [one.role for one in handed] == (["judge"] if whole.details["judge"]["state"] == "answered" else [])
    for one in handed:
        request_again = JudgeRequest.model_validate_json(orjson.dumps(one.record))
        assert request_again.id == "e1"
        live = await scorer(FakeJudge(answer(3))).score(request_again)
        assert live == whole


@pytest.mark.parametrize("code", ["refused", "truncated", "no_json", "wrong_form", "too_long", "rejected"])
async def test_a_judge_without_a_verdict_is_a_missing_component_and_never_a_zero(code: str) -> None:
    card = await scorer(FakeJudge(Unanswered(code, USAGE))).score(ProductionTrace.model_validate(TRACE))
    assert card.failures == (Failure(component="clinical", kind="judge", code=code),)
    assert "clinical" in card.components_missing
    assert "clinical" not in card.values
    assert (card.values["overall"], card.details["overall_weighted"]) == (79.9, card.values["format"])
    assert card.findings[0].message.endswith(f"because the judge was asked and gave no verdict ({code}); the weighted mean is 100")
    assert card.details["judge"]["cost_usd"] == USAGE.cost_usd
    assert (card.label, card.details["validators"]["label"]) == ("Warn", "Pass")


@pytest.mark.parametrize("error", [OverBudget(60.0), OverBudget(60.0, Usage(calls=1, wasted=1))], ids=["not asked", "asked in vain"])
async def test_without_money_the_label_is_bounded_only_if_the_judge_was_asked(error: OverBudget) -> None:
    card = await scorer(FakeJudge(error)).score(ProductionTrace.model_validate(TRACE))
    assert card.label == ("Warn" if error.usage.calls else "Pass")


@pytest.mark.parametrize("scores", [{}, {name: {"score": 5} for name in DIMENSIONS}, {name: {"score": 5, "findings": []} for name in DIMENSIONS[1:]}])
def test_an_answer_that_leaves_out_a_score_or_findings_is_no_verdict(scores: Any) -> None:
    with pytest.raises(ValueError, match="missing"):
        CoherenceVerdict.model_validate(scores)


async def test_a_judge_that_is_away_costs_a_trace_from_a_file_its_own_component_only() -> None:
    card = await scorer(FakeJudge(Unavailable("judge_down"))).score(ProductionTrace.model_validate(TRACE))
    assert card.failures == (Failure(component="clinical", kind="unavailable", code="judge_down"),)
    assert (card.label, card.details["overall_weighted"]) == ("Warn", card.values["format"])


async def test_a_spent_budget_costs_a_trace_from_a_file_its_own_component_only() -> None:
    card = await scorer(FakeJudge(OverBudget(60.0))).score(ProductionTrace.model_validate(TRACE))
    assert card.failures == (Failure(component="clinical", kind="shed", code="budget"),)


@pytest.mark.parametrize("error", [Unavailable("judge_down"), Lost("judge_lost")])
async def test_a_request_waits_for_a_judge_that_is_away(error: Unavailable) -> None:
    with pytest.raises(type(error)):
        await scorer(FakeJudge(error)).score(request(format=100.0))


async def test_a_request_waits_for_the_next_period_of_the_budget() -> None:
    with pytest.raises(Unavailable, match="judge_budget"):
        await scorer(FakeJudge(OverBudget(60.0))).score(request(format=100.0))


async def test_a_request_is_shed_without_budget_where_the_settings_say_so() -> None:
    with pytest.raises(Shed, match="budget") as told:
        await scorer(FakeJudge(OverBudget(60.0)), on_budget="shed").score(request(format=100.0))
    assert told.value.again_in_s == 60.0


async def test_without_a_key_every_result_names_what_is_missing_and_the_worker_is_told_once() -> None:
    settings = SUITE.resolve({}, None)
    assert not settings.judge.is_usable  # type: ignore[attr-defined]
    card = await SUITE.build(settings).score(ProductionTrace.model_validate(TRACE))
    assert (card.components_missing[-1], card.failures) == ("clinical", ())
    assert card.details["judge"]["state"] == "no_judge"
    assert SUITE.notes is not None
    (note,) = SUITE.notes(settings)
    assert "Clinical is missing" in note
    assert "OPENAI_API_KEY" in note


async def test_the_scorer_reads_and_closes_its_judge() -> None:
    judge = FakeJudge()
    made = scorer(judge)
    assert [reading.name for reading in made.readings()] == ["judge_calls"]
    await made.close()
    assert judge.closed


@pytest.mark.parametrize("word", ["n/a", "Not applicable", "null", ""])
def test_a_score_in_words_that_mean_none_is_none(word: str) -> None:
    assert CoherenceVerdict.model_validate({name: {"score": word, "findings": []} for name in DIMENSIONS}).scores == {}


@pytest.mark.parametrize("score", [0, 6, 3.5, "good", True])
def test_a_score_that_is_none_of_the_five_is_refused(score: object) -> None:
    with pytest.raises(ValueError, match=DIMENSIONS[0]):
        CoherenceVerdict.model_validate({DIMENSIONS[0]: {"score": score}})


def test_a_wordy_verdict_is_cut_and_still_a_verdict() -> None:
    found = {"severity": " MAJOR", "what": "w" * 9_000, "where": "persona"}
    wordy = {"score": 2, "rationale": "r" * 9_000, "findings": [found] * 90}
    one = CoherenceVerdict.model_validate(dict.fromkeys(DIMENSIONS, wordy)).of(DIMENSIONS[0])
    assert (len(one.rationale), len(one.findings), len(one.findings[0].what), one.findings[0].severity) == (1_000, 20, 300, "major")


def test_the_rubric_anchors_every_score_of_every_dimension() -> None:
    text = prompt().system
    for number, name in enumerate(DIMENSIONS, 1):
        part = text.partition(f"{number}. {name}:")[2].partition(f"\n{number + 1}. ")[0]
        assert [line[:5] for line in part.splitlines() if line[3:5] in {"5:", "4:", "3:", "2:", "1:"}] == [f"   {score}:" for score in (5, 4, 3, 2, 1)], name


def test_what_changes_scores_is_in_the_fingerprint_and_a_key_is_not() -> None:
    def of(env: dict[str, str]) -> Any:
        return SUITE.fingerprint(SUITE.resolve(env, None))

    key = {"OPENAI_API_KEY": "sk-secret"}
    assert "secret" not in json.dumps(of(key))
    assert of(key)["judge"]["prompts"]["coherence"] == prompt().digest
    for changed in (
        {},
        key | {"COHERENCE_JUDGE_MODEL": "another"},
        key | {"CLINICAL_JUDGE_SAMPLE_RATE": "0.5"},
        key | {"CLINICAL_FHIR_EXTENSIONS": "known"},
        key | {"CLINICAL_JUDGE_OUTPUTS_CHARS_MAX": "500"},
    ):
        assert of(changed) != of(key), changed
    for unchanged in (key | {"COHERENCE_QUOTE": "true"}, key | {"CLINICAL_JUDGE_REQUESTS": "true"}, key | {"COHERENCE_ON_BUDGET": "shed"}):
        assert of(unchanged) == of(key), unchanged


def test_the_requests_of_the_validators_change_none_of_their_scores() -> None:
    assert VALIDATORS.fingerprint(VALIDATORS.resolve({"CLINICAL_JUDGE_REQUESTS": "1"}, None)) == VALIDATORS.fingerprint(VALIDATORS.resolve({}, None))


def test_a_mistyped_variable_is_refused_by_its_name() -> None:
    with pytest.raises(ConfigError, match="COHERENCE_ON_BUDGETS: unknown variable; did you mean COHERENCE_ON_BUDGET"):
        SUITE.resolve({"COHERENCE_ON_BUDGETS": "wait"}, None)


def test_a_file_of_requests_is_read_as_cases_and_a_document_as_a_trace_of_one(tmp_path: Path) -> None:
    settings = CoherenceSettings()
    assert SUITE.read is not None
    line = request(format=100.0).model_dump_json().encode()
    assert SUITE.read(Document("requests.jsonl", line), settings) is None
    (found,) = SUITE.read(Document("p.json", b'{"resourceType": "Patient"}'), settings) or ()
    assert found.record["traceId"] == "p.json"  # type: ignore[union-attr]


def test_the_report_tells_what_the_judge_was_asked_and_what_it_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = FakeJudge(answer(4))
    monkeypatch.setattr("touchstone.scorers.clinical.judging.scorer.CoherenceScorer.close", FakeJudge.close)
    settings = CoherenceSettings()
    run = Run(replace(SUITE, build=lambda _: scorer(judge)), settings)
    facts = run.score(find_sources((TRACES,), any_file=True))
    report = SUITE.report(list(run.entries), facts)
    table = dict(SUITE.view(report).tables[0].rows)
    assert table["traces judged"] == "4"
    assert table["traces not readable"] == "1"
    assert (table["requests"], table["requests in vain"], table["tokens in"], table["cost, USD"]) == ("8", "4", "4800", "0.0016")
    text = "".join(lay_out(SUITE, report, "console", LayoutOptions(SUITE.verdict(report, None))))
    assert "Clinical" in text
