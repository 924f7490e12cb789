"""Findings that name what a summary leaves out, and everything that counts findings."""

from datetime import UTC, datetime

import pytest

from tests.scorers.summary.fakes import FACTS, TableEngines, case, gold, scorer
from tests.scorers.summary.test_summary_reading import by_id, result_of, section
from touchstone.schemas.reports.summary import LossReport
from touchstone.schemas.result import Finding, Scorecard
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.reporting import RunFacts
from touchstone.scorers.summary import SUITE
from touchstone.scorers.summary.omissions import QUOTED_CHARS_MAX, SHOWN_MAX
from touchstone.scorers.summary.settings import SummarySettings

ALL = " ".join(FACTS)


def omissions(card: Scorecard) -> list[Finding]:
    return [finding for finding in card.findings if finding.code in {"missing_fact", "missing_entity", "uncovered_point"}]


async def test_what_is_left_out_is_named_by_its_number_with_what_to_do_and_costs_nothing() -> None:
    datum = gold(entity_list=("Amara Nwosu", "one"))
    card = await scorer().score(case(" ".join(FACTS[:8]), datum=datum))
    found = omissions(card)
    assert [(finding.code, finding.path) for finding in found] == [
        ("missing_fact", "gold.key_facts[8]"),
        ("missing_fact", "gold.key_facts[9]"),
        ("missing_entity", "gold.entity_list[0]"),
        ("uncovered_point", "gold.logical_outline[2]"),
    ]
    assert {finding.severity for finding in found} == {"minor"}
    assert "key fact 9 " in found[0].message
    assert all(finding.suggestion for finding in found)
    assert (card.details["facts"]["missing"], card.details["flow"]["uncovered"]) == ([8, 9], [2])


async def test_a_text_that_says_everything_has_no_finding() -> None:
    assert (await scorer().score(case(ALL))).findings == ()


async def test_the_least_supported_comes_first() -> None:
    def answer(premise: str, hypothesis: str) -> tuple[float, float]:
        return (0.15, 0.0) if "three" in hypothesis else (0.1, 0.0) if "seven" in hypothesis else (0.01, 0.0) if "nine" in hypothesis else (0.9, 0.0)

    card = await scorer(TableEngines(answer)).score(case(ALL))
    assert [finding.path for finding in omissions(card)] == ["gold.key_facts[8]", "gold.key_facts[6]", "gold.key_facts[2]"]


async def test_a_fact_that_is_stated_wrongly_is_a_conflict_and_not_missing() -> None:
    dose = "The patient takes 5 mg of apixaban daily."
    datum = gold(key_facts=(*FACTS[:9], dose), summary=f"{' '.join(FACTS[:9])} {dose}")
    card = await scorer().score(case(f"{' '.join(FACTS[:9])} The patient takes 50 mg of apixaban daily.", datum=datum))
    assert card.findings[0].code == "conflict.quantity"
    assert "gold.key_facts[9]" not in {finding.path for finding in omissions(card)}


@pytest.mark.parametrize("quote", [True, False])
async def test_words_are_quoted_where_they_may_be_and_bounded(quote: bool) -> None:
    long = f"Chapter {'very ' * 100}long."
    made_up = "The moon is a cheese."
    card = await scorer(quote=quote).score(case(f"{ALL} {made_up}", datum=gold(logical_outline=(long,), entity_list=("Amara Nwosu",))))
    by_code = {finding.code: finding.message for finding in card.findings}
    assert ("'Amara Nwosu'" in by_code["missing_entity"], made_up in by_code["unsupported"], "Chapter" in by_code["uncovered_point"]) == (quote,) * 3
    assert len(by_code["uncovered_point"]) < QUOTED_CHARS_MAX + 60


async def test_a_long_list_is_bounded_and_says_how_many_more_there_are() -> None:
    card = await scorer().score(case(ALL, datum=gold(entity_list=tuple(f"Person {number} Nobody" for number in range(SHOWN_MAX + 13)))))
    found = omissions(card)
    assert len(found) == SHOWN_MAX + 1
    assert "13 more" in found[-1].message
    assert len(card.details["entities"]["missing"]) == SHOWN_MAX + 13


async def test_the_worst_conflict_comes_first_whatever_its_sentence_and_the_reading_shows_its_own_words() -> None:
    said = "The bridge opened in 1998. The patient takes 5 mg of apixaban daily."
    datum = gold(summary=f"{ALL} {said}", key_facts=(*FACTS[:9], "The bridge opened in 1998."))
    one = case(f"{FACTS[0]} The bridge opened in 1989. The patient takes 50 mg of apixaban daily.", datum=datum.model_dump())
    result = await result_of(one)
    assert [(finding.severity, finding.path) for finding in result.findings[:2]] == [
        ("critical", "generated.sentences[2]"),
        ("major", "generated.sentences[1]"),
    ]
    items = by_id(SUITE.reading_of(one, result), "findings")
    assert "50 mg" in items["finding-0"].text
    assert "1989" in items["finding-1"].text


async def test_a_case_tells_what_is_left_out_at_the_lists_of_its_gold_and_not_twice() -> None:
    one = case(" ".join(FACTS[:8]), datum=gold(entity_list=("Amara Nwosu",)).model_dump())
    result = await result_of(one)
    reading = SUITE.reading_of(one, result)
    told = [item for part in reading.sections if part.id == "findings" for item in part.items]
    assert not any("gold." in item.label or item.code.startswith(("missing_", "uncovered_")) for item in told)
    for part, item in (("facts", "fact-8"), ("entities", "entity-0"), ("outline", "point-2")):
        first = section(reading, part).items[0]
        assert (first.id, first.state) == (item, "missing")
        assert result.findings[first.finding].code == first.code
        assert (result.findings[first.finding].suggestion or "-") in first.note
        assert "missing" in section(reading, part).note
    assert "Amara" not in reading.without_text().model_dump_json()


async def test_a_case_shows_what_is_missing_in_the_order_of_the_findings() -> None:
    result = await result_of(case(" ".join(FACTS[:5])))
    # As a model gives them: each with a support of its own, and the findings in that order.
    shuffled = [finding for finding in result.findings if finding.code == "missing_fact"][::-1]
    result = result.model_copy(update={"findings": (*shuffled, *(one for one in result.findings if one.code != "missing_fact"))})
    items = section(SUITE.reading_of(case(" ".join(FACTS[:5])), result), "facts").items
    missing = [item for item in items if item.state == "missing"]
    assert [f"gold.key_facts[{item.id.removeprefix('fact-')}]" for item in missing] == [finding.path for finding in shuffled]
    assert len(missing) == 5


async def made_of(one: SummaryCase) -> LossReport:
    report = SUITE.report([await result_of(one)], RunFacts(SUITE, SummarySettings(), "digest", datetime(2031, 5, 6, tzinfo=UTC)))
    assert isinstance(report, LossReport)
    return report


async def test_a_report_counts_omissions_apart_from_conflicts_and_a_case_that_passed_has_none_to_answer_for() -> None:
    passed, failed = case(f"{' '.join(FACTS[:9])}"), case(FACTS[0])
    report = await made_of(passed)
    assert (report.results[0].label, report.conflicts, report.omissions) == ("Pass", {}, {"missing_fact": 1, "uncovered_point": 1})
    (shown,) = SUITE.view(report).cases
    assert shown.why == ""
    assert not any(table.title.startswith("Left out by") for table in SUITE.view(report).tables)
    (shown,) = SUITE.view(await made_of(failed)).cases
    assert shown.why == "missing_fact (9), uncovered_point (2)"
