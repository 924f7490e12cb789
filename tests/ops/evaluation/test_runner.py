import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from touchstone.ops.evaluation.batch import summarise, verdict_on
from touchstone.ops.evaluation.items import Field, Item
from touchstone.ops.evaluation.run import Plan, evaluate, open_state, report_path
from touchstone.ops.evaluation.runner import is_deeper
from touchstone.ops.evaluation.state import RunState
from touchstone.ops.evaluation.systems import Answer, StepFailed
from touchstone.schemas.reports.evaluation import AddedCode, EvaluatedCase, EvaluationReport
from touchstone.schemas.result import Failure, Finding, Scorecard
from touchstone.schemas.trace import ClinicalFormat, ProductionTrace
from touchstone.scorers.base import ConfigError, NoSettings
from touchstone.scorers.reporting import Gate
from touchstone.scorers.scoring import Scoring
from touchstone.scorers.suite import Suite

CARD = Scorecard(
    label="Pass",
    values={"overall": 82.0, "format": 100.0, "terminology": 100.0, "clinical": 64.0, "hl7v2_format": 99.0},
    findings=(Finding(severity="major", code="a.b", path="outputs.hl7v2/PID-8", message="m"), Finding(severity="minor", code="c", path="trace", message="n")),
)


class System:
    """Answers at once, or as it is told to. `most`: tests that were in it at a time."""

    where = "here"

    def __init__(self, failing: Mapping[tuple[str, str], str] | None = None, stop_at: str | None = None) -> None:
        self.failing = dict(failing or {})
        self.stop_at = stop_at
        self.asked: list[str] = []
        self.closed = False
        self.inside = self.most = 0

    async def persona(self, item: Item) -> Answer:
        self.asked.append(item.id)
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0)
        self._fail(item, "persona")
        return Answer({"name": item.id})

    async def document(self, item: Item, persona: Mapping[str, Any] | None, form: ClinicalFormat) -> Answer:
        if item.id == self.stop_at:
            raise ConfigError("the disk is full")
        await asyncio.sleep(0.005)
        self.inside -= form == "hl7v2"
        self._fail(item, form)
        return Answer(f"{form} of {item.id}, {sorted(persona or {})}")

    def _fail(self, item: Item, step: str) -> None:
        if (code := self.failing.get((item.id, step))) is not None:
            self.inside -= step == "persona"
            raise StepFailed(code, 4)

    def made_at(self, item: Item) -> datetime | None:
        return datetime(2026, 9, 10, tzinfo=UTC)

    async def close(self) -> None:
        self.closed = True


class Stub:
    name, version = "stub", "1"

    def __init__(self, card: Scorecard | Exception) -> None:
        self._card = card
        self.seen: list[ProductionTrace] = []

    async def score(self, case: ProductionTrace) -> Scorecard:
        self.seen.append(case)
        if isinstance(self._card, Exception):
            raise self._card
        return self._card


def scoring(card: Scorecard | Exception = CARD, name: str = "stub") -> Scoring:
    suite = Suite(name, "1.0", ("traces",), {"trace": ProductionTrace}, lambda *_: NoSettings(), lambda _: Stub(card))
    return Scoring(suite, NoSettings())


PARTS = (("format", "Format"), ("terminology", "Terminology"), ("clinical", "Clinical"))
ITEMS = tuple(Item(f"t-{number}", f"prompt {number}", "test", "c", {"overall": 80}) for number in range(6))


def run(tmp_path: Path, system: System, *scorings: Scoring, items: tuple[Item, ...] = ITEMS, known: Field | None = None, **given: Any) -> EvaluationReport:
    plan = Plan(items, ("fhir", "hl7v2"), tmp_path / "out", **given)
    used = scorings or (scoring(),)
    state, _ = open_state(plan, system, used)
    return evaluate(plan, system, used, known or Field(), state)


def test_every_test_is_reported_in_order_and_the_report_is_written(tmp_path: Path) -> None:
    system = System()
    report = run(tmp_path, system)
    assert [case.case_id for case in report.cases] == [item.id for item in ITEMS]
    assert (report.summary.passed, report.summary.average_score, report.summary.pass_rate) == (6, 82.0, 1.0)
    (path,) = (tmp_path / "out").glob("eval-*.json")
    assert EvaluationReport.model_validate_json(path.read_bytes()) == report
    assert system.closed


def test_no_more_tests_are_in_flight_than_asked_for(tmp_path: Path) -> None:
    system = System()
    run(tmp_path, system, items=tuple(Item(f"t-{number}", "p", "test") for number in range(20)), concurrency=3)
    assert system.most == 3


def test_a_test_without_a_persona_is_not_evaluated_and_the_others_are(tmp_path: Path) -> None:
    report = run(tmp_path, System({("t-2", "persona"): "timeout"}))
    case = report.cases[2]
    assert (case.status, case.failures) == ("unscored", (Failure(component="persona", kind="system", code="timeout"),))
    assert (report.summary.passed, report.summary.not_evaluated, case.steps[0].attempts) == (5, 1, 4)
    assert verdict_on(report.summary).exit_code == 3


def test_a_format_that_was_not_generated_makes_its_test_unscored_and_keeps_the_scores_of_the_rest(tmp_path: Path) -> None:
    report = run(tmp_path, System({("t-1", "fhir"): "status_500"}))
    case = report.cases[1]
    assert (case.status, case.label, case.scores["overall"]) == ("unscored", "Pass", 82.0)
    assert [failure.component for failure in case.failures] == ["generate.fhir"]


def test_a_score_below_the_test_s_minimum_fails_it_whatever_the_label(tmp_path: Path) -> None:
    items = (Item("t-0", "p", "test", None, {"overall": 82.5, "format": 100}), Item("t-1", "p", "test", None, {"overall": 82.0, "other": 1}))
    report = run(tmp_path, System(), items=items)
    assert [(case.status, case.label) for case in report.cases] == [("Fail", "Pass"), ("Pass", "Pass")]
    assert [(one.score, one.value, one.minimum) for one in report.cases[0].below_minimum] == [("overall", 82.0, 82.5)]
    assert [skipped.check for skipped in report.cases[1].not_checked] == ["minimum.other"]


def test_a_scorer_that_fails_is_a_failure_and_no_zero(tmp_path: Path) -> None:
    report = run(tmp_path, System(), scoring(RuntimeError("secret")))
    assert {case.status for case in report.cases} == {"unscored"}
    assert report.summary.average_score is None
    assert "secret" not in report.model_dump_json()


def test_the_last_suite_s_label_counts_and_all_scores_and_findings_are_told(tmp_path: Path) -> None:
    judged = Scorecard(
        label="Warn",
        values={"overall": 70.0, "clinical": 50.0},
        findings=(Finding(severity="info", code="j", path="persona", message="o"),),
        failures=(Failure(component="clinical", kind="judge", code="refused"),),
    )
    report = run(tmp_path, System(), scoring(), scoring(judged, "second"), items=(Item("t-0", "p", "test"),))
    (case,) = report.cases
    assert (case.status, case.scores["overall"], case.scores["hl7v2_format"], case.scores["clinical"]) == ("Warn", 70.0, 99.0, 50.0)
    assert (len(case.findings), set(case.result_ids), len(case.failures)) == (3, {"stub", "second"}, 1)
    assert [one.suite for one in report.suites] == ["stub", "second"]


def test_a_judge_that_breaks_down_leaves_the_label_of_the_others(tmp_path: Path) -> None:
    (case,) = run(tmp_path, System(), scoring(), scoring(RuntimeError("x"), "second"), items=ITEMS[:1]).cases
    assert (case.status, case.scores["overall"], [failure.component for failure in case.failures]) == ("Pass", 82.0, ["second"])


def test_a_finished_run_is_not_gone_on_with_and_a_test_that_failed_is_asked_again(tmp_path: Path) -> None:
    first = run(tmp_path, System({("t-2", "persona"): "timeout", ("t-4", "hl7v2"): "connection"}))
    again = System()
    second = run(tmp_path, again, resume=True)
    assert (again.asked, second.run_id, second.resumed) == (["t-2", "t-4"], first.run_id, 4)
    assert second.summary.passed == 6
    third = System()
    assert run(tmp_path, third, resume=True).run_id != first.run_id
    assert len(third.asked) == 6


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the disk is full"):
        run(tmp_path, System(stop_at="t-3"), concurrency=1)
    assert not list((tmp_path / "out").glob("eval-*.json"))
    system = System()
    report = run(tmp_path, system, resume=True)
    assert (system.asked, report.resumed, report.summary.total) == (["t-3", "t-4", "t-5"], 3, 6)


def test_a_run_whose_report_could_not_be_written_asks_nothing_again(tmp_path: Path) -> None:
    plan, used = Plan(ITEMS, ("fhir", "hl7v2"), tmp_path / "out"), (scoring(),)
    state, _ = open_state(plan, System(), used)
    report_path(plan.output, state).mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        evaluate(plan, System(), used, Field(), state)
    report_path(plan.output, state).rmdir()
    system = System()
    report = run(tmp_path, system, resume=True)
    assert (system.asked, report.resumed, report.run_id) == ([], 6, state.run_id)


def test_a_run_is_gone_on_with_by_one_process_at_a_time(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        run(tmp_path, System(stop_at="t-3"), concurrency=1)
    plan = Plan(ITEMS, ("fhir", "hl7v2"), tmp_path / "out", resume=True)
    first, _ = open_state(plan, System(), (scoring(),))
    with pytest.raises(ConfigError, match=rf"{first.run_id}: another process is at this run; wait until it has ended, or leave --resume out"):
        open_state(plan, System(), (scoring(),))
    anew, goes_on = open_state(replace(plan, resume=False), System(), (scoring(),))
    assert (anew.run_id != first.run_id, goes_on) == (True, False)
    anew.end()
    run_id = first.run_id
    del first  # its process has died
    assert open_state(plan, System(), (scoring(),))[0].run_id == run_id


@pytest.mark.parametrize("changed", ["prompt", "minimum", "formats", "suite", "save_traces"])
def test_a_run_of_other_tests_or_settings_is_another_run(tmp_path: Path, changed: str) -> None:
    with pytest.raises(ConfigError):
        run(tmp_path, System(stop_at="t-3"), concurrency=1)
    items = tuple(
        Item(one.id, f"{one.prompt}!" if changed == "prompt" else one.prompt, one.place, one.category, {} if changed == "minimum" else one.minimum)
        for one in ITEMS
    )
    plan = Plan(items, ("fhir",) if changed == "formats" else ("fhir", "hl7v2"), tmp_path / "out", resume=True, save_traces=changed == "save_traces")
    assert not open_state(plan, System(), (scoring(name="other" if changed == "suite" else "stub"),))[1]


def test_half_a_file_of_the_state_counts_as_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        run(tmp_path, System(stop_at="t-3"), concurrency=1)
    (kept,) = (tmp_path / "out" / "runs").glob("*/t-1.json")
    kept.write_text(kept.read_text()[:40])
    system = System()
    run(tmp_path, system, resume=True)
    assert system.asked == ["t-1", "t-3", "t-4", "t-5"]


def test_a_trace_holds_what_was_asked_generated_and_scored(tmp_path: Path) -> None:
    def coded(persona: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[AddedCode, ...]]:
        return {**persona, "coded": True}, (AddedCode(path="persona.x", system="s", code="c", written=True),)

    report = run(tmp_path, System(), items=ITEMS[:1], known=Field(enrich=coded, parts=PARTS), save_traces=True)
    (case,) = report.cases
    assert case.trace_file is not None
    trace = json.loads((tmp_path / "out" / case.trace_file).read_text())
    assert (trace["traceId"], trace["testCaseId"], trace["prompt"], trace["timestamp"]) == (case.trace_id, "t-0", "prompt 0", "2026-09-10T00:00:00Z")
    assert trace["persona"] == {"name": "t-0", "coded": True}
    assert trace["outputs"]["hl7v2"] == {
        "content": "hl7v2 of t-0, ['coded', 'name']",
        "scores": {"format": 99.0},
        "findings": [{"severity": "major", "code": "a.b", "path": "outputs.hl7v2/PID-8", "message": "m"}],
    }
    assert trace["aggregateScores"] == {"format": 100.0, "terminology": 100.0, "clinical": 64.0, "overall": 82.0}
    assert set(trace["timing"]) == {"personaGeneration", "total"}
    assert case.enriched[0].code == "c"


def test_nothing_is_left_beside_the_files_that_are_whole(tmp_path: Path) -> None:
    run(tmp_path, System(), save_traces=True)
    assert not [path.name for path in (tmp_path / "out").rglob(".*")]


def test_a_document_nested_too_deep_is_a_failure(tmp_path: Path) -> None:
    class Deep(System):
        async def document(self, item: Item, persona: Mapping[str, Any] | None, form: ClinicalFormat) -> Answer:
            value: Any = {}
            for _ in range(500):
                value = {"a": value}
            return Answer(value)

    (case,) = run(tmp_path, Deep(), items=ITEMS[:1], save_traces=True).cases
    assert [failure.code for failure in case.failures] == ["too_deep", "too_deep"]
    assert not is_deeper({"a": [{}]}, 3)
    assert is_deeper({"a": [{}]}, 2)


def case_of(status: Any, overall: float | None = None) -> EvaluatedCase:
    scores = {} if overall is None else {"overall": overall}
    return EvaluatedCase(case_id="t", category=None, place="p", trace_id="x", status=status, label=status, scores=scores)


@pytest.mark.parametrize(
    ("statuses", "gate", "code"),
    [
        (["Pass", "Pass"], None, 0),
        (["Pass", "Warn"], None, 2),
        (["Warn", "Fail"], None, 1),
        (["Fail", "unscored"], None, 3),
        (["unscored"], Gate(allow_unscored=True), 3),
        ([], None, 3),
        (["Pass", "Fail"], Gate(0.5), 0),
        (["Pass", "Fail", "Fail"], Gate(0.5), 1),
    ],
)
def test_the_exit_code_is_the_house_s(statuses: list[Any], gate: Gate | None, code: int) -> None:
    assert verdict_on(summarise([case_of(status) for status in statuses], 1.0), gate).exit_code == code


def test_a_run_s_files_are_named_after_it(tmp_path: Path) -> None:
    state = RunState.new(tmp_path, "i")
    assert report_path(tmp_path, state).name == f"eval-{state.run_id}.json"
    assert state.trace_id(ITEMS[0]) == f"eval-{state.run.started_at:%Y-%m-%d}-{state.run_id[-6:]}-t-0"
