import dataclasses
import json
import random
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

import pytest

from tests.ops.reports.test_html import Page
from tests.ops.reports.toy import HOSTILE, SUITE, finding, options, report_of, result
from touchstone.ops.reports import comparing
from touchstone.ops.reports.changes import headline, remarks
from touchstone.ops.reports.comparing import Reported, compare
from touchstone.ops.reports.earlier import reported
from touchstone.ops.reports.layouts import FORMATS, lay_out
from touchstone.schemas.reports.changes import Comparison
from touchstone.schemas.reports.suite import SuiteReportDocument
from touchstone.schemas.result import Label, ScoreResult
from touchstone.scorers.reporting.verdict import Gate, with_drop
from touchstone.scorers.suite import Suite


def batch(labels: Sequence[Label], *, names: str = "case", shift: float = 0.0, code: str = "toy.small") -> list[ScoreResult]:
    return [
        result(
            f"{names}-{number:03}",
            label,
            number=number,
            findings=() if label == "Pass" else (finding(code),),
            values={} if label == "unscored" else {"size": number % 7 / 10 + shift, "weight": number % 5 / 10},
        )
        for number, label in enumerate(labels)
    ]


def side(results: Sequence[ScoreResult], suite: Suite = SUITE, **facts: str) -> Reported:
    return dataclasses.replace(reported(report_of(results, suite), suite), **facts)


def compared(before: Sequence[ScoreResult], now: Sequence[ScoreResult], suite: Suite = SUITE) -> Comparison:
    return compare(suite, side(before, suite, name="batch B0"), side(now, suite))


PASSES: list[Label] = ["Pass"] * 40
MIXED: list[Label] = ["Pass"] * 30 + ["Review"] * 4 + ["Fail"] * 6


def test_the_same_batch_twice_has_no_change_anywhere() -> None:
    found = compared(batch(MIXED), batch(MIXED))
    assert (found.pairs, found.improved, found.worsened, found.no_longer_scored) == (40, 0, 0, 0)
    assert {one.direction for one in (found.pass_rate, *found.values)} == {"unclear"}
    assert (found.alike, found.codes, found.worse) == (True, (), ())


def test_a_value_is_better_where_its_column_says_and_its_interval_leaves_zero() -> None:
    up = compared(batch(PASSES), batch(PASSES, shift=0.1))
    assert {one.name: one.direction for one in up.values} == {"size": "better", "weight": "unclear"}
    down = compared(batch(PASSES, shift=0.1), batch(PASSES))
    assert {one.name: one.direction for one in down.values} == {"size": "worse", "weight": "unclear"}


def test_of_a_value_that_is_better_lower_less_is_better() -> None:
    heavy = [one.model_copy(update={"values": one.values | {"weight": one.values["weight"] + 0.3}}) for one in batch(PASSES)]
    assert [one.direction for one in compared(heavy, batch(PASSES)).values if one.name == "weight"] == ["better"]


def test_a_value_without_a_direction_is_changed() -> None:
    plain = dataclasses.replace(SUITE, columns=())
    found = compared(batch(PASSES), batch(PASSES, shift=0.1), plain)
    assert {one.name: one.direction for one in found.values} == {"size": "changed", "weight": "unclear"}


def test_cases_are_recognised_by_their_id_whatever_their_event() -> None:
    later = [one.model_copy(update={"event_id": f"later-{one.event_id}"}) for one in batch(PASSES)]
    assert compared(batch(PASSES), later).pairs == 40


def test_where_case_ids_recur_events_are_what_cases_are_recognised_by() -> None:
    twice = [one.model_copy(update={"case_id": "same"}) for one in batch(PASSES)]
    assert compared(twice, twice).pairs == 40


def test_other_cases_are_an_independent_sample() -> None:
    others = [one.model_copy(update={"event_id": f"other-{one.event_id}"}) for one in batch(MIXED, names="other")]
    found = compared(batch(MIXED), others)
    assert (found.pairs, found.worsened) == (0, 0)
    assert "independent samples" in " ".join(remarks(found))
    paired = compared(batch(MIXED), batch(MIXED)).pass_rate.interval
    assert found.pass_rate.interval is not None
    assert paired is not None
    assert paired.high < found.pass_rate.interval.high


def test_cases_that_became_worse_are_listed_the_deepest_fall_first_and_all_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "WORSE_MAX", 3)
    now: list[Label] = ["unscored", "Review", "Warn", "Fail", *PASSES[4:]]
    found = compared(batch(PASSES), batch(now))
    assert [(one.case, one.now) for one in found.worse] == [("case-003", "Fail"), ("case-001", "Review"), ("case-002", "Warn")]
    assert (found.worsened, found.no_longer_scored) == (3, 1)
    assert "the first 3 of 4" in laid_out(found, batch(now), "console")


def test_an_unscored_case_is_neither_better_nor_worse_than_one_that_was_scored_before() -> None:
    found = compared(batch(["unscored", "Fail"]), batch(["Fail", "unscored"]))
    assert (found.improved, found.worsened, found.no_longer_scored) == (0, 0, 1)
    assert found.pass_rate.pairs == 0


def test_codes_that_changed_most_come_first_as_shares_of_their_side() -> None:
    before = batch(["Fail"] * 10) + batch(["Pass"] * 10, names="more")
    now = batch(["Fail"] * 10, code="toy.heavy")
    assert [(one.code, one.before, one.now) for one in compared(before, now).codes] == [("toy.heavy", 0, 10), ("toy.small", 10, 0)]


def test_the_order_of_the_cases_changes_nothing() -> None:
    before, now = batch(MIXED), batch(list(reversed(MIXED)), shift=0.02)
    shuffled = random.Random(5).sample(before, len(before)), random.Random(6).sample(now, len(now))
    assert compared(*shuffled) == compared(before, now)


@pytest.mark.parametrize(
    ("facts", "alike", "said"),
    [
        ({"suite_version": "1.1.0"}, False, "may not be comparable"),
        ({"config_digest": "0000"}, False, "may not be comparable"),
        ({"suite_version": "", "config_digest": ""}, None, "does not say which version"),
        ({}, True, "Every case is in both"),
    ],
)
def test_it_says_whether_both_were_scored_alike(facts: dict[str, str], alike: bool | None, said: str) -> None:
    found = compare(SUITE, side(batch(PASSES), **facts), side(batch(PASSES)))
    assert found.alike is alike
    assert said in " ".join(remarks(found))


def test_without_a_scored_case_on_a_side_there_is_no_difference() -> None:
    found = compared(batch(["unscored"] * 3), batch(PASSES))
    assert (found.pass_rate.before, found.pass_rate.difference, found.pass_rate.direction) == (None, None, "unclear")
    assert "no pass rate to compare" in headline(found)
    assert all(laid_out(found, batch(PASSES), name) for name in FORMATS)


def laid_out(comparison: Comparison, results: Sequence[ScoreResult], format: str, suite: Suite = SUITE) -> str:
    report = report_of(results, suite)
    return "".join(lay_out(suite, report, format, dataclasses.replace(options(report), comparison=comparison)))


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in {"json", "junit"}])
def test_every_format_for_people_says_the_difference_its_interval_and_which_way_it_went(format: str) -> None:
    text = laid_out(compared(batch(PASSES), batch(MIXED)), batch(MIXED), format)
    text = text.replace("\\", "")
    assert all(part in text for part in ("Against batch B0", "100%", "75%", "−25.0", "worse", "case-039", "toy.small"))


def test_json_has_the_comparison_in_the_form_that_its_schema_says() -> None:
    document = json.loads(laid_out(compared(batch(PASSES), batch(MIXED)), batch(MIXED), "json"))
    assert document["comparison"]["pass_rate"]["difference"] == -0.25
    assert SuiteReportDocument.model_validate_json(json.dumps(document)).comparison == compared(batch(PASSES), batch(MIXED))


def test_junit_has_the_comparison_once_as_properties_of_the_first_suite() -> None:
    def grouped(report: Any) -> Any:
        view = SUITE.view(report)
        return dataclasses.replace(view, cases=[dataclasses.replace(case, group=case.label) for case in view.cases])

    suite = dataclasses.replace(SUITE, view=grouped)
    root = ET.fromstring(laid_out(compared(batch(PASSES), batch(MIXED)), batch(MIXED), "junit", suite))  # our own text
    assert len(root.findall("testsuite")) == 3
    named = [one.get("name") for one in root.iter("property")]
    values = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert named.count("against") == 1
    assert (values["against.pass_rate_difference"], values["against.pass_rate_change"], values["against.cases_worse"]) == ("-0.2500", "worse", "10")


@pytest.mark.parametrize("format", ["console", "markdown"])
def test_it_follows_a_layout_of_the_suites_own(format: str) -> None:
    def own(report: Any, _: Any) -> list[str]:
        return ["as it is drawn\n"]

    text = laid_out(compared(batch(PASSES), batch(MIXED)), batch(MIXED), format, dataclasses.replace(SUITE, layouts={format: own}))
    assert text.startswith("as it is drawn\n")
    assert "batch B0" in text.replace("\\", "")


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "json"])
def test_nothing_that_an_earlier_report_says_acts_on_its_reader(format: str) -> None:
    hostile = [one.model_copy(update={"case_id": HOSTILE}) for one in batch(["Pass"])]
    failed = [one.model_copy(update={"case_id": HOSTILE, "findings": (finding(HOSTILE),)}) for one in batch(["Fail"])]
    found = compare(SUITE, side(hostile, name=HOSTILE, suite_version=HOSTILE), side(failed))
    text = laid_out(found, batch(PASSES), format)
    assert not [character for character in ("\x1b", "\x07", "\x00", "\u202e", "\ufffe") if character in text]
    if format == "html":
        assert len(Page(text).all("script")) == 1


def test_half_a_surrogate_pair_in_a_name_is_kept_apart_and_breaks_nothing() -> None:
    odd = [one.model_copy(update={"case_id": "case-\ud800"}) for one in batch(["Pass"])]
    assert compared(odd, odd).pairs == 1


@pytest.mark.parametrize(
    ("drop", "gate", "code", "said"),
    [
        (0.2, None, 1, "-25.0 points"),
        (0.25, None, 0, "a drop of at most 25"),
        (0.3, Gate(min_pass_rate=0.9), 1, "pass rate 75%"),
        (0.3, Gate(min_pass_rate=0.5), 0, "pass rate 75%"),
    ],
)
def test_a_drop_of_the_pass_rate_is_a_gate_beside_the_others(drop: float, gate: Gate | None, code: int, said: str) -> None:
    report = report_of(batch(MIXED))
    verdict = with_drop(SUITE.verdict(report, gate), gate, compared(batch(PASSES), batch(MIXED)), drop)
    assert (verdict.exit_code, said in verdict.reason) == (code, True)


def test_an_error_stays_one_whatever_the_drop() -> None:
    report = report_of(batch(["unscored"]))
    verdict = with_drop(SUITE.verdict(report, None), None, compared(batch(PASSES), batch(["unscored"])), 1.0)
    assert (verdict.word, verdict.exit_code) == ("ERROR", 3)
