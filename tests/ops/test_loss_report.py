"""Reports over summaries: what they count, how they are written, which verdict they end with."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.ops.loss_cases import TableScorer, card, hard_fail, summary, unscored
from touchstone.ops.batch.loss_batches import SummaryEntry, completed
from touchstone.ops.batch.loss_scoring import Origin, Scored, build_report, close, percentile, score_entries
from touchstone.ops.local.demo_summaries import differs, unexpected
from touchstone.ops.reports.loss import FORMATS, loss_verdict, render
from touchstone.schemas.reports.summary import LossError, LossReport
from touchstone.schemas.result import Scorecard
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.base import Unavailable

ORIGIN = Origin("3.0", "0" * 16, {"weights": {"facts": 0.4}}, ("loss", "facts_loss", "recall", "entities_loss"))
NOW = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)


def entry(event_id: str, source_id: str = "doc-1", **extra: Any) -> SummaryEntry:
    return SummaryEntry(f"a.jsonl, line {event_id}", event_id, SummaryCase.model_validate(completed(summary(event_id, source_id, **extra))))


def report(*cards: Scorecard, worst: int = 0, errors: tuple[LossError, ...] = ()) -> LossReport:
    scored = [Scored(entry(str(number), model="m<1>"), each) for number, each in enumerate(cards, 1)]
    return build_report(scored, ORIGIN, errors=errors, repeated=2, worst=worst, generated_at=NOW)


MIXED = (card(0.1), card(0.5, "Review"), hard_fail("truncated"), unscored("no_gold"), card(0.7, "Fail"), hard_fail("truncated"))


def test_counts_means_and_percentiles_are_of_what_was_scored() -> None:
    made = report(*MIXED)
    assert (made.total_cases, made.scored_cases, made.repeated_cases) == (6, 5, 2)
    assert made.label_distribution.model_dump() == {"Pass": 1, "Review": 1, "Fail": 3, "unscored": 1}
    assert made.loss is not None
    assert (made.loss.mean, made.loss.p50, made.loss.max) == (pytest.approx(0.66), 0.7, 1.0)
    assert (made.hard_fails, made.unscored) == ({"truncated": 2}, {"no_gold": 1})


def test_a_component_counts_only_the_cases_that_have_it() -> None:
    made = report(*MIXED)
    assert (made.components["recall"].cases, made.components["recall"].mean) == (3, pytest.approx(1.3 / 3))
    assert list(made.components)[:3] == ["facts_loss", "recall", "entities_loss"]
    assert "loss" not in made.components


def test_the_worst_are_the_highest_losses_in_the_order_of_the_files() -> None:
    assert [case.event_id for case in report(*MIXED, worst=3).worst] == ["3", "6", "5"]


def test_nothing_scored_has_no_loss() -> None:
    assert report(unscored("no_gold")).loss is None


@pytest.mark.parametrize(("share", "value"), [(0.0, 1.0), (0.5, 2.5), (0.9, 3.7), (1.0, 4.0)])
def test_percentiles_lie_between_neighbours(share: float, value: float) -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], share) == pytest.approx(value)


BAD = (LossError(where="a.jsonl, line 9", what="is not valid JSON"),)


@pytest.mark.parametrize(
    ("made", "options", "code"),
    [
        (report(card(0.1)), {}, 0),
        (report(card(0.1), card(0.5, "Review")), {}, 2),
        (report(card(0.5, "Review"), hard_fail("json")), {}, 1),
        (report(card(0.1), unscored("no_gold")), {}, 3),
        (report(card(0.1), unscored("no_gold")), {"allow_unscored": True}, 0),
        (report(unscored("no_gold")), {"allow_unscored": True}, 3),
        (report(card(0.1), errors=BAD), {"allow_unscored": True}, 3),
        (report(), {}, 3),
        (report(card(0.2), card(0.4, "Fail")), {"max_mean_loss": 0.3}, 0),
        (report(card(0.2), card(0.5)), {"max_mean_loss": 0.3}, 1),
    ],
)
def test_the_verdict_says_what_its_exit_code_says(made: LossReport, options: dict[str, Any], code: int) -> None:
    verdict = loss_verdict(made, **options)
    assert verdict.exit_code == code
    assert verdict.word == {0: "PASS", 1: "FAIL", 2: "REVIEW", 3: "ERROR"}[code]


def test_json_is_one_document_that_reads_back() -> None:
    made = report(*MIXED, worst=2, errors=BAD)
    text = render(made, "json", loss_verdict(made))
    assert LossReport.model_validate_json(text).results == made.results
    document = json.loads(text)
    assert document["generated_at"] == "2026-01-15T10:30:00Z"
    assert document["results"][0]["values"]["recall"] == 0.1


def test_console_names_components_rules_and_codes() -> None:
    made = report(*MIXED, worst=2, errors=BAD)
    text = render(made, "console", loss_verdict(made))
    assert "Pass 1 (17%)   Review 1 (17%)   Fail 3 (50%)   unscored 1 (17%)" in text
    assert "Hard fails  truncated 2" in text
    assert "Unscored    no_gold 1" in text
    assert "Worst 2 of 5:" in text
    assert "a.jsonl, line 9: is not valid JSON" in text
    (row,) = [line for line in text.splitlines() if "no_gold" in line and "Unscored" not in line]
    assert row.split() == ["4", "m<1>", "unscored", *["–"] * 6, "no_gold"]


def test_a_case_with_an_id_made_by_a_machine_is_called_by_its_source() -> None:
    made = build_report([Scored(entry("7c95680d-4c49-5b57-a4da-4ece13fbb018"), card(0.1))], ORIGIN, generated_at=NOW)
    assert "  doc-1 7c95680d  Pass" in render(made, "console", loss_verdict(made))


def test_markdown_shows_names_as_they_are() -> None:
    made = report(*MIXED, worst=1, errors=BAD)
    text = render(made, "markdown", loss_verdict(made))
    assert text.startswith("# Loss V3\n\n**ERROR**")
    assert "m\\<1\\>" in text
    assert text.count(" | m\\<1\\> | ") == 7


def test_junit_has_a_test_per_case() -> None:
    made = report(*MIXED, errors=BAD)
    root = ET.fromstring(render(made, "junit", loss_verdict(made)).encode())
    tests = root.findall(".//testcase")
    assert len(tests) == 7
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("3", "2", "1")
    assert [case.find("error").get("message") for case in tests if case.find("error") is not None] == ["no_gold", "is not valid JSON"]  # type: ignore[union-attr]


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_can_show_a_batch_of_nothing(form: str) -> None:
    assert render(report(), form, loss_verdict(report())).endswith("\n")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="known: json"):
        render(report(), "pdf", loss_verdict(report()))


async def test_cases_are_scored_together_within_the_window_and_come_back_in_order() -> None:
    scorer = TableScorer({str(number): card(number / 100) for number in range(40)})
    steps: list[int] = []
    scored = await score_entries(scorer, [entry(str(number)) for number in range(40)], window=8, on_step=steps.append)
    assert [each.entry.event_id for each in scored] == [str(number) for number in range(40)]
    assert scorer.in_flight_max == 8
    assert steps == list(range(1, 41))


async def test_a_defect_or_an_outage_is_a_named_failure_of_its_case_alone() -> None:
    def breaks() -> None:
        raise KeyError("CANARY")

    def is_down() -> None:
        raise Unavailable("nli_down")

    scorer = TableScorer({"a": card(0.1), "b": breaks, "c": is_down, "d": card(0.2)})
    scored = await score_entries(scorer, [entry(name) for name in "abcd"])
    assert [each.card.label for each in scored] == ["Pass", "unscored", "unscored", "Pass"]
    assert [(each.card.failures[0].kind, each.card.failures[0].code) for each in scored[1:3]] == [("scorer_error", "KeyError"), ("unavailable", "nli_down")]


async def test_a_cancelled_run_leaves_nothing_in_flight() -> None:
    started, never = asyncio.Event(), asyncio.Event()

    class Waiting(TableScorer):
        async def score(self, case: SummaryCase) -> Scorecard:
            self.in_flight += 1
            started.set()
            try:
                await never.wait()
            finally:
                self.in_flight -= 1
            return card(0.1)

    scorer = Waiting({})
    run = asyncio.create_task(score_entries(scorer, [entry("a"), entry("b")]))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert scorer.in_flight == 0


async def test_closing_is_the_scorers_own() -> None:
    scorer = TableScorer({})
    await close(scorer)
    assert scorer.closed


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (card(0.1), ""),
        (card(0.1009), ""),
        (card(0.2), "loss (0.1000, 0.2000)"),
        (card(0.1, "Review"), "the label (Pass, Review)"),
        (Scorecard(label="Pass", values={"loss": 0.1}), "their components"),
    ],
)
def test_live_and_batch_agree_within_a_thousandth(other: Scorecard, told: str) -> None:
    assert differs(card(0.1), other) == told


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
    problems = unexpected({"base": card(0.3), "x": got}, {"x": wanted})
    assert (not problems) is met
    assert unexpected({}, {"x": wanted}) == ["x: no result"]
