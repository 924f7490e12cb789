import pytest
from pydantic import ValidationError

from touchstone.schemas.case import validate_case
from touchstone.schemas.gold import GoldStandardDatum
from touchstone.schemas.summary import SummaryCase

SUMMARY = {"main_theme": "A theme.", "summary": "A narrative.", "key_facts": ["A fact."] * 10, "logical_outline": ["A point."], "entity_list": ["Rome"]}
ENTRY = {"category": "GovReport", "source_id": "s-1", "text": "A source.", "token_count": 3}


def datum(**changed: object) -> dict[str, object]:
    summary = {**SUMMARY, **{name: value for name, value in changed.items() if name in SUMMARY}}
    entry = {**ENTRY, **{name: value for name, value in changed.items() if name not in SUMMARY}}
    return {"entry": entry, "summary": summary}


@pytest.mark.parametrize("count", [10, 15, 20])
def test_ten_to_twenty_facts_are_a_gold(count: int) -> None:
    assert len(GoldStandardDatum.model_validate(datum(key_facts=["A fact."] * count)).summary.key_facts) == count


@pytest.mark.parametrize(
    "changed",
    [
        {"key_facts": ["A fact."] * 9},
        {"key_facts": ["A fact."] * 21},
        {"key_facts": ["A fact."] * 9 + [" "]},
        {"key_facts": "A fact."},
        {"logical_outline": None},
        {"entity_list": [""]},
        {"token_count": -1},
        {"token_count": "many"},
        {"source_id": ""},
        {"category": "a\nb"},
    ],
)
def test_what_is_no_gold_is_refused_without_its_text(changed: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as raised:
        GoldStandardDatum.model_validate(datum(**changed))
    assert "A fact" not in str(raised.value)


def test_outline_and_entities_may_be_empty_and_unknown_fields_are_ignored() -> None:
    read = GoldStandardDatum.model_validate(datum(logical_outline=[], entity_list=[], extra=1))
    assert read.summary.logical_outline == ()


def test_a_case_names_its_source() -> None:
    own = validate_case(SummaryCase, {"kind": "summary", "datum": datum(), "generated": "A text."})
    referring = validate_case(SummaryCase, {"kind": "summary", "gold_ref": "s-2", "datum": None, "generated": ""})
    assert (own.case_id, referring.case_id) == ("s-1", "s-2")
