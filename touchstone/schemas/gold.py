"""Gold standards: the references that generated summaries are compared with (Loss V3, "Supporting context")."""

from typing import Annotated, Any

from pydantic import BeforeValidator, FailFast, Field, StringConstraints
from pydantic_core import PydanticCustomError

from touchstone.schemas.base import Inbound
from touchstone.schemas.case import Identifier, Text

KEY_FACTS_MIN = 10
KEY_FACTS_MAX = 20
OUTLINE_MAX = 200
ENTITIES_MAX = 500

Statement = Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=r"\S")]


def _whole_number(value: Any) -> Any:
    """Refuse a number in quotation marks, and true and false: pydantic would read them as numbers."""
    if isinstance(value, str | bool):
        raise PydanticCustomError("int_type", "must be a whole number")
    return value


def _counted(least: int, most: int, noun: str) -> BeforeValidator:
    """Refuse a list of another length before its items are looked at, and say how many there are and may be."""
    span = f"{least} to {most}" if least else f"at most {most}"

    def check(value: Any) -> Any:
        if isinstance(value, list | tuple) and not least <= len(value) <= most:
            few_or_many = "too few" if len(value) < least else "too many"
            raise PydanticCustomError("item_count", f"holds {few_or_many} items ({len(value)}); a gold has {span} {noun}")
        return value

    return BeforeValidator(check)


class GoldStandardEntry(Inbound):
    """The text that was summarised. `token_count`: its tokens by the gold's own tokenizer."""

    category: Identifier
    source_id: Identifier
    text: Text
    token_count: Annotated[int, Field(ge=0, le=100_000_000), BeforeValidator(_whole_number)]
    tokenizer: Identifier | None = Field(None, description="tokenizer behind token_count; where it is not available, the embedder's counts the generated text")


class GoldStandardSummary(Inbound):
    """The reference: theme, narrative, 10 to 20 atomic facts, outline, entities."""

    main_theme: Text
    summary: Text
    key_facts: Annotated[
        tuple[Statement, ...], FailFast(), Field(min_length=KEY_FACTS_MIN, max_length=KEY_FACTS_MAX), _counted(KEY_FACTS_MIN, KEY_FACTS_MAX, "key facts")
    ]
    logical_outline: Annotated[tuple[Statement, ...], FailFast(), Field(max_length=OUTLINE_MAX), _counted(0, OUTLINE_MAX, "outline points")]
    entity_list: Annotated[tuple[Statement, ...], FailFast(), Field(max_length=ENTITIES_MAX), _counted(0, ENTITIES_MAX, "entities")]


class GoldStandardDatum(Inbound):
    """A source and its gold summary."""

    entry: GoldStandardEntry
    summary: GoldStandardSummary
