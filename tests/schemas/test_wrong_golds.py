"""Summaries and golds of a wrong shape: each is refused with what is wrong, where, and how it is mended; never in pydantic's own words."""

from typing import Any

import pytest
from pydantic import ValidationError

from touchstone.schemas.case import validate_case
from touchstone.schemas.faults import explain
from touchstone.schemas.gold import ENTITIES_MAX, OUTLINE_MAX
from touchstone.schemas.summary import SummaryCase

GONE = object()
ENTRY = {"category": "Test", "source_id": "doc-1", "text": "A text.", "token_count": 500}
SUMMARY = {"main_theme": "Ten.", "summary": "One.", "key_facts": [f"Fact {n}." for n in range(10)], "logical_outline": ["First."], "entity_list": ["Ada"]}


def record(**changes: Any) -> dict[str, Any]:
    """A summary event with fields of itself, its entry or its summary changed."""
    event: dict[str, Any] = {"datum": {"entry": dict(ENTRY), "summary": dict(SUMMARY)}, "generated": "One."}
    for name, value in changes.items():
        into = next((part for part in (event["datum"]["entry"], event["datum"]["summary"]) if name in part), event)
        if value is GONE:
            del into[name]
        else:
            into[name] = value
    return event


def fault(event: dict[str, Any]) -> str:
    with pytest.raises(ValidationError) as refused:
        validate_case(SummaryCase, event)
    return explain(refused.value, SummaryCase, SummaryCase.words)


FACTS = "a gold has 10 to 20 key facts"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"token_count": "700"}, "datum.entry.token_count is not a whole number; write it in digits, without quotation marks"),
        ({"token_count": True}, "datum.entry.token_count is not a whole number; write it in digits, without quotation marks"),
        ({"token_count": 700.5}, "datum.entry.token_count is not a whole number; write it without a fraction"),
        ({"token_count": -1}, "datum.entry.token_count must be greater than or equal to 0"),
        ({"token_count": GONE}, "datum.entry.token_count is missing; add it"),
        ({"key_facts": SUMMARY["key_facts"][:3]}, f"datum.summary.key_facts holds too few items (3); {FACTS}"),
        ({"key_facts": ["A fact."] * 500}, f"datum.summary.key_facts holds too many items (500); {FACTS}"),
        ({"key_facts": "A fact."}, "datum.summary.key_facts is not a list; write […]"),
        ({"key_facts": {"1": "A fact."}}, "datum.summary.key_facts is not a list; write […]"),
        ({"key_facts": [*SUMMARY["key_facts"][:9], 7]}, "datum.summary.key_facts.9 is not a string"),
        ({"key_facts": [*SUMMARY["key_facts"][:9], {"text": "A fact."}]}, "datum.summary.key_facts.9 is not a string"),
        ({"key_facts": [*SUMMARY["key_facts"][:9], " "]}, "datum.summary.key_facts.9 is blank"),
        ({"logical_outline": ["A point."] * (OUTLINE_MAX + 1)}, "a gold has at most 200 outline points"),
        ({"entity_list": ["Ada"] * (ENTITIES_MAX + 1)}, "a gold has at most 500 entities"),
        ({"logical_outline": None}, "datum.summary.logical_outline is missing; add it"),
        ({"datum": "doc-1"}, "datum is not an object; write {…} with its fields"),
        ({"datum": [ENTRY, SUMMARY]}, "datum is not an object"),
        ({"generated": ["One."]}, "generated is not a string"),
        ({"structured_output_requested": "false"}, "structured_output_requested is not true or false; write one of them without quotation marks"),
        ({"structured_output_requested": 1}, "structured_output_requested is not true or false"),
        ({"generated_at": "yesterday"}, "generated_at is not a time; write it as 2026-01-15T10:30:00Z"),
    ],
)
def test_a_wrong_shape_is_told_in_our_own_words(changes: dict[str, Any], told: str) -> None:
    said = fault(record(**changes))
    assert said.startswith(told) or told in said
    assert "key_facts.9" not in said or "too few" not in said, "the list has its ten facts; one of them is wrong"
    assert not any(words in said.casefold() for words in ("input", "valid ", "tuple", "dictionary", "extract", "parse", "integer"))


@pytest.mark.parametrize("count", [10, 20])
def test_a_gold_of_ten_or_twenty_facts_and_a_whole_number_written_with_a_point_is_read(count: int) -> None:
    read = validate_case(SummaryCase, record(key_facts=["A fact."] * count, token_count=700.0))
    assert read.datum is not None
    assert read.datum.entry.token_count == 700
