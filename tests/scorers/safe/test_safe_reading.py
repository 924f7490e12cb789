import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scorers.safe.cases import case
from touchstone.schemas.case import SafeCase
from touchstone.schemas.reading import CaseReading, ChecksSection, Item, TextSection
from touchstone.schemas.result import FileRef, Finding, ScoreResult
from touchstone.scorers.safe import SUITE
from touchstone.scorers.safe.matching import fold
from touchstone.scorers.safe.places import FoldedText
from touchstone.scorers.safe.settings import SafeSettings
from touchstone.scorers.scoring import Scoring

CANARY = "Xylander Quiborax"


def scored(one: SafeCase) -> ScoreResult:
    scoring = Scoring(SUITE, SafeSettings())
    return asyncio.run(scoring.result(one, "e-1", FileRef(file="a.json")))


def read(one: SafeCase) -> CaseReading:
    return SUITE.reading_of(one, scored(one))


def section(reading: CaseReading, section_id: str) -> Any:
    return next(one for one in reading.sections if one.id == section_id)


def items(reading: CaseReading, section_id: str) -> dict[str, Item]:
    found: ChecksSection = section(reading, section_id)
    return {item.text: item for item in found.items}


def marked(part: TextSection) -> list[str]:
    return [part.text[mark.start : mark.end] for mark in part.marks]


FAILED = case(
    signals=["Waited over  24 hours", "no ticket"],
    terms=["policy", "blame"],
    phrases=["second queue"],
    found=["the patient waited\nover 24 HOURS"],
    questions=["Since when?", "Which Policy says so?"],
    summary="It waited.",
)


def test_each_expectation_says_whether_it_was_met_and_where() -> None:
    reading = read(FAILED)
    signals, terms, phrases = (items(reading, name) for name in ("signals-expected", "terms-forbidden", "phrases-expected"))
    assert (signals["Waited over  24 hours"].state, signals["Waited over  24 hours"].to) == ("good", ("signals",))
    assert signals["no ticket"].state == phrases["second queue"].state == "missing"
    assert (terms["policy"].state, terms["policy"].to, terms["blame"].state) == ("bad", ("questions",), "good")
    assert marked(section(reading, "signals")) == ["waited\nover 24 HOURS"]
    assert marked(section(reading, "questions")) == ["Policy"]


def test_unmet_expectations_are_listed_first_and_name_their_finding() -> None:
    result = scored(FAILED)
    found = SUITE.reading_of(FAILED, result)
    first = section(found, "signals-expected").items[0]
    assert first.text == "no ticket"
    assert result.findings[first.finding].path == "expectations.signal_generation.must_find_signals[1]"
    used = section(found, "terms-forbidden").items[0]
    assert section(found, "questions").marks[0].to == (used.id,)


def test_a_judges_finding_marks_its_question() -> None:
    finding = Finding(severity="major", code="ah_judge.blame", path="output.followup_questions[1]", message="a judge reads blame")
    result = scored(FAILED)
    reading = SUITE.reading_of(FAILED, result.model_copy(update={"findings": (*result.findings, finding)}))
    assert "Which Policy says so?" in marked(section(reading, "questions"))
    assert [item.code for item in section(reading, "findings").items] == ["ah_judge.blame"]


def test_without_the_case_the_result_says_which_expectations_are_missing() -> None:
    reading = SUITE.reading_of(None, scored(FAILED))
    assert not reading.has_text
    assert [item.label for item in section(reading, "signals-expected").items] == ["signal 2", "1 found"]


def test_nothing_but_texts_quotes_the_case() -> None:
    one = case(signals=[CANARY, "absent"], terms=[CANARY], phrases=[CANARY], found=[CANARY], questions=[CANARY], summary=CANARY)
    reading = read(one)
    assert CANARY in reading.model_dump_json()
    assert CANARY not in reading.without_text().model_dump_json()


#: Letters that fold in every way: composed, decomposed, ligatures, full width, taken apart by casefolding, Hangul, marks, white space.
LETTERS = st.sampled_from("aAzé\u0301\u0308\u0345ßﬁＡΐΣς가\u1100\u1161\u11a8\u00a0\u3000 \n\t.ͺ\u09c7\u09be½")
TEXTS = st.one_of(st.text(LETTERS, max_size=30), st.text(max_size=30))


@given(TEXTS, TEXTS)
def test_an_expectation_is_located_where_matching_finds_it_and_nowhere_else(text: str, sought: str) -> None:
    folded, mapped = fold(sought), FoldedText(text)
    places = list(mapped.places_of(folded))
    assert mapped.is_mapped
    assert bool(places) == (bool(folded) and folded in fold(text))
    for place in places:
        assert 0 <= place.start < place.end <= len(text)
        assert folded in fold(text[place.start : place.end])


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_the_states_of_a_reading_are_those_of_the_score(written: list[str], sought: str) -> None:
    if not any(map(str.isalnum, sought)):
        return
    one = case(signals=[sought], terms=[sought], found=written, questions=written)
    result, reading = scored(one), read(one)
    (signal,), (term,) = section(reading, "signals-expected").items, section(reading, "terms-forbidden").items
    assert (signal.state == "good") == (result.values["CR"] == 1.0)
    assert (term.state == "bad") == (result.values["AH"] < 1.0)
    assert bool(signal.to) == (signal.state == "good")
    for part in (section(reading, name) for name in ("signals", "questions", "summary")):
        assert all(0 <= mark.start < mark.end <= len(part.text) for mark in part.marks)


@pytest.mark.parametrize("text", ["e" + "\u0301" * 20_000, "ab " * 100_000], ids=["marks", "words"])
def test_a_long_text_is_mapped(text: str) -> None:
    assert FoldedText(text).is_mapped
