import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.ops.loss_cases import NOW, card, hard_fail, result, unscored
from touchstone.ops.reports.layouts import FORMATS, lay_out
from touchstone.schemas.reports.summary import LossReport
from touchstone.schemas.result import Failure, FileRef, Finding, Problem, Scorecard, ScoreResult
from touchstone.scorers.base import NoSettings
from touchstone.scorers.reporting import Gate, Group, LayoutOptions, RunFacts
from touchstone.scorers.summary import SUITE
from touchstone.scorers.summary.batch import percentile
from touchstone.scorers.summary.samples import expected, samples, unmet

CONFIGURATION = {"weights": {"facts": 0.4}}
BAD = Problem(source=FileRef(file="a.jsonl", place="line 9"), what="is not valid JSON")


def made_of(entries: list[ScoreResult | Problem], worst: int = 0) -> LossReport:
    facts = RunFacts(SUITE, NoSettings(), "0" * 16, NOW, configuration=CONFIGURATION, asked={"worst": worst}, repeated=2)
    made = SUITE.report(entries, facts)
    assert isinstance(made, LossReport)
    return made


def report(*cards: Scorecard, worst: int = 0, errors: tuple[Problem, ...] = ()) -> LossReport:
    return made_of([*(result(str(number), each) for number, each in enumerate(cards, 1)), *errors], worst)


def text_of(made: LossReport, format: str, gate: Gate | None = None) -> str:
    return "".join(lay_out(SUITE, made, format, LayoutOptions(SUITE.verdict(made, gate))))


MIXED = (card(0.1), card(0.5, "Review"), hard_fail("truncated"), unscored("no_gold"), card(0.7, "Fail"), hard_fail("truncated"))


def test_counts_means_and_percentiles_are_of_what_was_scored() -> None:
    made = report(*MIXED)
    assert (made.total_cases, made.scored_cases, made.repeated_cases) == (6, 5, 2)
    assert made.label_distribution.model_dump() == {"Pass": 1, "Review": 1, "Fail": 3, "unscored": 1}
    assert made.loss is not None
    assert (made.loss.mean, made.loss.p50, made.loss.max) == (pytest.approx(0.66), 0.7, 1.0)
    assert (made.hard_fails, made.unscored) == ({"truncated": 2}, {"no_gold": 1})


def test_the_pass_rate_and_the_means_have_intervals() -> None:
    intervals = report(*MIXED).intervals
    assert intervals is not None
    assert intervals.pass_rate is not None
    assert intervals.pass_rate.low < 1 / 5 < intervals.pass_rate.high
    assert list(intervals.means)[:2] == ["loss", "facts_loss"]
    assert intervals.means["loss"].low < 0.66 < intervals.means["loss"].high


def test_a_component_counts_only_the_cases_that_have_it() -> None:
    made = report(*MIXED)
    assert (made.components["recall"].cases, made.components["recall"].mean) == (3, pytest.approx(1.3 / 3))
    assert list(made.components)[:4] == ["facts_loss", "recall", "precision", "entities_loss"]
    assert "loss" not in made.components


def test_the_worst_are_the_highest_losses_in_the_order_of_the_files() -> None:
    assert [case.event_id for case in report(*MIXED, worst=3).worst] == ["3", "6", "5"]


def test_nothing_scored_has_no_loss() -> None:
    assert report(unscored("no_gold")).loss is None


@pytest.mark.parametrize(("share", "value"), [(0.0, 1.0), (0.5, 2.5), (0.9, 3.7), (1.0, 4.0)])
def test_percentiles_lie_between_neighbours(share: float, value: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], share) == pytest.approx(value)


@pytest.mark.parametrize(
    ("made", "gate", "code"),
    [
        (report(card(0.1)), None, 0),
        (report(card(0.1), card(0.5, "Review")), None, 2),
        (report(card(0.5, "Review"), hard_fail("json")), None, 1),
        (report(card(0.1), unscored("no_gold")), None, 3),
        (report(card(0.1), unscored("no_gold")), Gate(allow_unscored=True), 0),
        (report(unscored("no_gold")), Gate(allow_unscored=True), 3),
        (report(card(0.1), errors=(BAD,)), Gate(allow_unscored=True), 3),
        (report(), None, 3),
        (report(card(0.2), card(0.4, "Fail")), Gate(max_mean=(("loss", 0.3),)), 0),
        (report(card(0.2), card(0.5)), Gate(max_mean=(("loss", 0.3),)), 1),
    ],
)
def test_the_verdict_says_what_its_exit_code_says(made: LossReport, gate: Gate | None, code: int) -> None:
    verdict = SUITE.verdict(made, gate)
    assert verdict.exit_code == code
    assert verdict.word == {0: "PASS", 1: "FAIL", 2: "REVIEW", 3: "ERROR"}[code]


def test_a_batch_whose_judge_did_not_answer_is_no_clean_pass() -> None:
    silent = card(0.1).model_copy(update={"failures": (Failure(component="judge", kind="unavailable", code="judge_timeout"),)})
    verdict = SUITE.verdict(report(card(0.1), silent), None)
    assert (verdict.exit_code, verdict.reason) == (2, "2 cases passed, some without a part that failed (judge_timeout 1)")


def test_json_is_one_document_that_reads_back() -> None:
    made = report(*MIXED, worst=2, errors=(BAD,))
    text = text_of(made, "json")
    assert LossReport.model_validate_json(text).results == made.results
    document = json.loads(text)
    assert document["generated_at"] == "2026-01-15T10:30:00Z"
    assert document["results"][0]["values"]["recall"] == 0.1


def test_console_names_figures_components_rules_and_codes() -> None:
    rows = [line.split() for line in text_of(report(*MIXED, worst=2, errors=(BAD,)), "console").splitlines()]
    for told in ("Pass 1 Review 1 Fail 3 unscored 1", "mean 0.660 0.300 to 0.900", "recall 0.43 0.10 to 0.63 3 higher", "truncated 2", "no_gold 1", "Worst 2"):
        assert told.split() in rows, told
    assert ["a.jsonl,", "line", "9:", "is", "not", "valid", "JSON"] in rows
    assert ["4", "m<1>", "unscored", *["–"] * 6, "no_gold"] in rows


def test_a_case_with_an_id_made_by_a_machine_is_called_by_its_source() -> None:
    made = made_of([result("7c95680d-4c49-5b57-a4da-4ece13fbb018", card(0.1))])
    assert ["doc-1", "7c95680d", "m<1>", "Pass"] in [line.split()[:4] for line in text_of(made, "console").splitlines()]


def test_markdown_shows_names_as_they_are() -> None:
    made = report(*MIXED, worst=1, errors=(BAD,))
    text = text_of(made, "markdown")
    assert text.startswith("# Loss V3\n\n**ERROR**")
    assert "m\\<1>" in text
    assert text.count(" | m\\<1> | ") == 7


def test_junit_has_a_test_per_case() -> None:
    made = report(*MIXED, errors=(BAD,))
    root = ET.fromstring(text_of(made, "junit").encode())
    tests = root.findall(".//testcase")
    assert len(tests) == 7
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("3", "2", "1")
    assert [case.find("error").get("message") for case in tests if case.find("error") is not None] == ["no_gold", "is not valid JSON"]  # type: ignore[union-attr]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_can_show_a_batch_of_nothing(form: str) -> None:
    assert text_of(report(), form).endswith("\n")


@pytest.mark.parametrize(
    ("wanted", "got", "met"),
    [
        ({"good": True}, card(0.2), True),
        ({"good": True}, hard_fail("json"), False),
        ({"rule": "json"}, hard_fail("json"), True),
        ({"rule": "json"}, hard_fail("truncated"), False),
        ({"rule": "json"}, card(1.0, "Fail"), False),
        ({"unscored": "no_gold"}, unscored("no_gold"), True),
        ({"unscored": "no_gold"}, unscored("gold_not_found"), False),
        ({"worse_than": "base", "in": ["loss", "facts_loss"]}, card(0.4), True),
        ({"worse_than": "base", "in": ["loss", "facts_loss"]}, card(0.305), False),
    ],
)
def test_a_sample_that_misses_what_it_was_written_for_is_told(wanted: dict[str, Any], got: Scorecard, met: bool) -> None:
    problems = unmet({"base": result("base", card(0.3)), "x": result("x", got)}, {"x": wanted})
    assert (not problems) is met
    assert unmet({}, {"x": wanted}) == ["x: no result"]


def test_the_samples_tell_what_is_not_what_they_were_written_for() -> None:
    assert samples().unexpected([]) == [f"{event_id}: no result" for event_id in expected()]


@pytest.mark.parametrize(
    ("changes", "group"),
    [
        ({"correlation": {"batch_id": "b", "concern_id": "c", "batch_size": "7"}}, Group("c", "b", 7)),
        ({"correlation": {"batch_id": "b"}}, Group("m<1>", "b", None)),
        ({"correlation": {"batch_id": "b", "batch_size": "9" * 400}}, Group("m<1>", "b", None)),
        ({"attributes": {"model": "m", "generated_at": "2026-01-15T23:59:00+00:00"}}, Group("m", "2026-01-15", None)),
        ({"attributes": {"generated_at": "2026-01-15T23:59:00+00:00"}}, Group("summaries", "2026-01-15", None)),
        ({"attributes": {"model": "m"}}, None),
    ],
)
def test_a_result_is_in_the_batch_that_its_producer_names_else_among_its_models_of_the_day(changes: dict[str, Any], group: Group | None) -> None:
    assert SUITE.group(result("1", card(0.1), **changes)) == group


def test_conflicts_are_counted_beside_hard_fails_and_told_of_a_case() -> None:
    wrong = Scorecard(
        label="Fail",
        values=card(0.2).values,
        findings=tuple(Finding(severity="critical", code=code, path="generated.sentences[0]", message="") for code in ("conflict.quantity", "conflict.date")),
    )
    made = report(wrong, wrong, hard_fail("truncated"), worst=1)
    assert (made.hard_fails, made.conflicts) == ({"truncated": 1}, {"conflict.date": 2, "conflict.quantity": 2})
    assert "conflict.quantity, conflict.date" in text_of(made, "console")


def test_what_is_in_doubt_is_counted_apart_from_conflicts() -> None:
    codes = (("minor", "unsupported"), ("minor", "altered"), ("info", "unsure"), ("info", "label.bound"), ("major", "conflict.date"), ("minor", "missing_fact"))
    findings = tuple(Finding(severity=severity, code=code, path="generated", message="") for severity, code in codes)  # type: ignore[arg-type]
    made = report(Scorecard(label="Review", values=card(0.2).values, findings=findings), worst=1)
    assert (made.conflicts, made.doubts, made.omissions) == ({"conflict.date": 1}, {"altered": 1, "unsupported": 1}, {"missing_fact": 1})
    (shown,) = SUITE.view(made).cases
    assert shown.why.startswith("conflict.date, unsupported, altered")
    assert [table.title for table in SUITE.view(made).tables][1:4] == ["Conflicts", "In doubt", "Left out"]
