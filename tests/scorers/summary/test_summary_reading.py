import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.scorers.summary.fakes import FACTS, case, gold, scorer
from touchstone.schemas.reading import CaseReading, Item
from touchstone.schemas.result import FileRef, ScoreResult
from touchstone.schemas.summary import SummaryCase
from touchstone.scorers.reporting import RunFacts
from touchstone.scorers.scoring import ResultMaker
from touchstone.scorers.suite_settings import reading_here
from touchstone.scorers.summary import NAME, SUITE
from touchstone.scorers.summary.samples import GOLDS
from touchstone.scorers.summary.settings import SummarySettings

CANARY = "Xylander Quiborax"
DOSE = "The patient takes 5 mg of apixaban daily."
NARRATIVE = f"{' '.join(FACTS)} {DOSE}"


async def result_of(one: SummaryCase, **settings: object) -> ScoreResult:
    card = await scorer(**settings).score(one)
    return ResultMaker(NAME, "3.2", "digest").result(one, "e-1", FileRef(file="a.json"), card, 0.0)


def section(reading: CaseReading, section_id: str) -> Any:
    return next(one for one in reading.sections if one.id == section_id)


def by_id(reading: CaseReading, section_id: str) -> dict[str, Item]:
    return {item.id: item for item in section(reading, section_id).items}


async def read(generated: str, *, settings: dict[str, Any] | None = None, **changed: Any) -> CaseReading:
    one = case(generated, datum=gold(**changed).model_dump())
    return SUITE.reading_of(one, await result_of(one, **(settings or {})))


async def test_missing_facts_come_first_by_name_and_stated_ones_name_their_sentence() -> None:
    reading = await read(f"{FACTS[4]} {FACTS[0]}")
    facts = section(reading, "facts").items
    assert [item.id for item in facts[-2:]] == ["fact-0", "fact-4"]
    assert (facts[0].state, facts[0].text) == ("missing", FACTS[1])
    assert "sentence 2" in by_id(reading, "facts")["fact-0"].note
    text = section(reading, "summary")
    assert [(text.text[mark.start : mark.end], mark.state) for mark in text.marks] == [(FACTS[4], "good"), (FACTS[0], "good")]
    assert "fact-0" in text.marks[1].to


async def test_the_windows_of_the_evidence_name_the_sentence_where_the_result_has_them() -> None:
    reading = await read(f"{FACTS[4]} {FACTS[0]}", settings={"evidence": "ids"})
    assert "sentence 1" in by_id(reading, "facts")["fact-4"].note


async def test_a_wrong_dose_is_marked_at_its_words_and_shows_both_sides() -> None:
    reading = await read(f"{FACTS[0]} The patient takes 50 mg of apixaban daily.", summary=NARRATIVE)
    text, narrative = section(reading, "summary"), section(reading, "gold")
    wrong = next(mark for mark in text.marks if mark.state == "bad" and text.text[mark.start : mark.end].startswith("50"))
    finding = by_id(reading, "findings")[f"finding-{wrong.finding}"]
    assert "50 mg" in finding.text
    assert "5 mg" in finding.text
    assert finding.id in wrong.to
    assert any(narrative.text[mark.start : mark.end].startswith("5 mg") for mark in narrative.marks)


async def test_marks_never_overlap_and_lie_inside_the_text() -> None:
    reading = await read(f"{FACTS[0]} The patient takes 50 mg of apixaban daily. Nothing is here.", summary=NARRATIVE)
    text = section(reading, "summary")
    assert all(0 <= mark.start < mark.end <= len(text.text) for mark in text.marks)
    assert all(first.end <= second.start for first, second in zip(text.marks, text.marks[1:], strict=False))


async def test_entities_and_outline_are_ticked_or_open() -> None:
    reading = await read(f"{FACTS[0]} Amara Nwosu came.", entity_list=("Amara Nwosu", "apixaban"))
    entities, outline = by_id(reading, "entities"), by_id(reading, "outline")
    assert (entities["entity-0"].state, entities["entity-1"].state) == ("good", "missing")
    assert [outline[f"point-{n}"].state for n in range(3)] == ["good", "missing", "missing"]


async def test_a_hard_fail_marks_its_sentence() -> None:
    reading = await read(f"{FACTS[0]} This summary describes the text. {FACTS[1]}")
    text = section(reading, "summary")
    assert [(text.text[mark.start : mark.end], mark.code) for mark in text.marks] == [("This summary describes the text.", "meta_commentary")]


@pytest.mark.parametrize("has_gold", [True, False])
async def test_a_gold_that_is_not_in_the_event_is_said_and_facts_have_numbers(has_gold: bool) -> None:
    one = case(FACTS[0])
    named = one.model_copy(update={"datum": None, "gold_ref": "source-1"})
    reading = SUITE.reading_of(one if has_gold else named, await result_of(one))
    facts = section(reading, "facts")
    assert ("does not contain it" in facts.note) is not has_gold
    assert {item.label for item in facts.items} == {f"fact {n}" for n in range(1, 11)}
    assert bool(facts.items[0].text) is has_gold


@pytest.mark.parametrize("is_changed", [False, True])
async def test_a_gold_that_the_event_only_names_is_read_from_its_file_if_it_is_still_the_one_that_was_compared(tmp_path: Path, is_changed: bool) -> None:
    one = case(FACTS[0])
    result = await result_of(one)
    datum = gold().model_dump(mode="json")
    if is_changed:
        datum["summary"]["key_facts"][5] = "Another fact took its place."
    file = tmp_path / "golds.jsonl"
    file.write_text(json.dumps(datum), encoding="utf-8")
    named = one.model_copy(update={"datum": None, "gold_ref": datum["entry"]["source_id"]})
    facts = section(reading_here(SUITE, named, result, SummarySettings(gold=file)), "facts").items
    assert {item.text for item in facts} == ({""} if is_changed else set(FACTS))


async def test_a_file_of_golds_that_cannot_be_read_leaves_numbers(tmp_path: Path) -> None:
    one = case(FACTS[0])
    named = one.model_copy(update={"datum": None, "gold_ref": "source-1"})
    for file in (tmp_path / "nowhere", tmp_path):
        facts = section(reading_here(SUITE, named, await result_of(one), SummarySettings(gold=file)), "facts").items
        assert {item.text for item in facts} == {""}


async def test_without_the_case_the_facts_that_are_missing_have_numbers() -> None:
    reading = SUITE.reading_of(None, await result_of(case(FACTS[0])))
    assert not reading.has_text
    assert by_id(reading, "facts")["fact-3"].state == "missing"


async def test_the_shares_of_the_components_are_shown_with_the_default_weights_alone() -> None:
    bars = {bar.name: bar for bar in section(await read(FACTS[0]), "values").bars}
    assert bars["facts_loss"].share == pytest.approx(0.5)
    assert bars["loss"].share is None
    other = await read(FACTS[0], settings={"weights": {"facts": 0.9}})
    assert all(bar.share is None for bar in section(other, "values").bars)


async def test_nothing_but_texts_quotes_the_case() -> None:
    reading = await read(
        f"{CANARY} takes 50 mg of apixaban daily.", summary=f"{CANARY} takes 5 mg of apixaban daily.", entity_list=(CANARY,), key_facts=(CANARY,) * 10
    )
    assert CANARY in reading.model_dump_json()
    assert CANARY not in reading.without_text().model_dump_json()


async def test_details_of_any_shape_give_a_reading() -> None:
    one = case(FACTS[0])
    result = await result_of(one)
    for details in (
        {},
        {"facts": 3, "flow": [1], "conflicts": [{"sentence": "x"}, 4]},
        {"conflicts": [{"rule": "a", "sentence": 99, "fact": 99, "here": [5, 2]}]},
    ):
        assert SUITE.reading_of(one, result.model_copy(update={"details": details})).sections


def test_a_reading_loads_no_model_library() -> None:
    golds = {datum["entry"]["source_id"]: datum for datum in map(json.loads, GOLDS.read_text(encoding="utf-8").splitlines())}
    event = {"datum": golds["discharge-0417"], "generated": "Tomasz Wierzba went home."}
    program = (
        "import json,sys; from touchstone.scorers.summary import SUITE; from touchstone.schemas.result import FileRef\n"
        "from touchstone.schemas.summary import SummaryCase; from touchstone.scorers.scoring import ResultMaker, failed_card\n"
        "case = SummaryCase.model_validate(json.load(sys.stdin))\n"
        "result = ResultMaker('summary_loss', '3.2', 'd').result(case, 'e', FileRef(file='a'), failed_card('summary_loss', 'input', 'x'), 0.0)\n"
        "SUITE.reading_of(case, result)\n"
        "print([name for name in ('torch', 'onnxruntime', 'numpy', 'tokenizers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], input=json.dumps(event), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("quote", [True, False])
async def test_a_report_names_what_the_worst_summaries_leave_out_and_quotes_it_only_if_it_may(quote: bool) -> None:
    result = await result_of(case(f"{FACTS[4]} {FACTS[0]}"), quote=quote)
    report = SUITE.report([result], RunFacts(SUITE, SummarySettings(), "digest", datetime(2031, 5, 6, tzinfo=UTC)))
    table = next(one for one in SUITE.view(report).tables if one.title.startswith("Left out by"))
    said = [f"key fact {n} was not found in the summary" for n in (2, 3, 4, 6, 7, 8, 9, 10)] + ["outline point 3 was not found in the summary"]
    assert [row[2].partition(":")[0] for row in table.rows] == said
    assert (FACTS[1] in table.rows[0][2]) is quote
    assert all(row[3] for row in table.rows)
