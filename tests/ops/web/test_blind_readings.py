"""What a blind reviewer reads of a case: its texts, and nothing that a suite found in them."""

from typing import Any

import pytest

from tests.scorers.clinical.reading.test_case_reading import trace
from tests.scorers.safe.test_safe_reading import FAILED, scored
from tests.scorers.summary.fakes import FACTS, case, gold
from tests.scorers.summary.test_summary_reading import result_of
from touchstone.ops.web.api.blind import document_without_opinions, unscored, without_opinions
from touchstone.schemas.reading import CaseReading
from touchstone.scorers.clinical.failure_modes import SUITE as MODES
from touchstone.scorers.safe import SUITE
from touchstone.scorers.summary import SUITE as LOSS


def parts(reading: CaseReading) -> list[Any]:
    return [part for section in reading.sections for name in ("marks", "items", "pairs", "rows", "entries", "bars") for part in getattr(section, name, ())]


def check(blind: CaseReading) -> None:
    assert blind.label == "unscored"
    assert {getattr(part, "state", None) for part in parts(blind)} <= {None, "note"}
    assert {getattr(part, name, None) or "" for part in parts(blind) for name in ("note", "code", "to", "finding")} == {""}
    assert not any(section.note or getattr(section, "marks", ()) for section in blind.sections)
    assert "bars" not in {section.type for section in blind.sections}


def test_expectations_of_a_failed_case_stand_in_their_own_order_without_their_states() -> None:
    whole = SUITE.reading_of(FAILED, scored(FAILED))
    assert any(part.state in {"missing", "bad"} for part in parts(whole) if hasattr(part, "state"))
    blind = without_opinions(SUITE.reading_of(FAILED, unscored(scored(FAILED))))
    check(blind)
    signals = next(section for section in blind.sections if section.id == "signals-expected")
    assert [item.id for item in signals.items] == ["signal-0", "signal-1"]  # type: ignore[union-attr]
    assert FAILED.output.summary in {getattr(section, "text", "") for section in blind.sections}


async def test_facts_that_a_summary_lacks_are_not_listed_first() -> None:
    one = case(f"{FACTS[4]} {FACTS[0]}", datum=gold().model_dump())
    blind = without_opinions(LOSS.reading_of(one, unscored(await result_of(one))))
    check(blind)
    facts = next(section for section in blind.sections if section.id == "facts")
    assert [item.id for item in facts.items] == [f"fact-{n}" for n in range(len(FACTS))]  # type: ignore[union-attr]


def test_a_list_of_findings_is_left_out_because_its_being_empty_would_say_something() -> None:
    one = trace({"firstName": "Zoe", "conditions": [{"name": "Diabetes", "onsetDate": "2020-01-01"}]})
    blind = without_opinions(MODES.reading_of(one, unscored(scored(FAILED))))
    check(blind)
    assert "findings" not in {section.id for section in blind.sections}
    assert "conditions" in {section.id for section in blind.sections}


@pytest.mark.parametrize(
    ("document", "left"),
    [(b'{"a": 0.10000000000000000001, "annotations": [], "feedback": "up", "b": {"feedback": 1}}', b'{"a":0.10000000000000000001,"b":{"feedback": 1}}'),
     (b'{"a": 1}', b'{"a": 1}'), (b"no JSON", b"no JSON")],
)  # fmt: skip
def test_a_document_loses_what_others_said_of_it_and_nothing_else(document: bytes, left: bytes) -> None:
    assert document_without_opinions(document) == left
