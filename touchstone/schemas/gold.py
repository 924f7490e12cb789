"""Gold standards: the references that generated summaries are compared with (Loss V3, "Supporting context")."""

from typing import Annotated

from pydantic import FailFast, Field, StringConstraints

from touchstone.schemas.base import Inbound
from touchstone.schemas.case import Identifier, Text

KEY_FACTS_MIN = 10
KEY_FACTS_MAX = 20
OUTLINE_MAX = 200
ENTITIES_MAX = 500

Statement = Annotated[str, StringConstraints(min_length=1, max_length=20_000, pattern=r"\S")]


class GoldStandardEntry(Inbound):
    """The text that was summarised. `token_count`: its tokens by the gold's own tokenizer."""

    category: Identifier
    source_id: Identifier
    text: Text
    token_count: Annotated[int, Field(ge=0, le=100_000_000)]
    tokenizer: Identifier | None = Field(None, description="tokenizer behind token_count; where it is not available, the embedder's counts the generated text")


class GoldStandardSummary(Inbound):
    """The reference: theme, narrative, 10 to 20 atomic facts, outline, entities."""

    main_theme: Text
    summary: Text
    key_facts: Annotated[tuple[Statement, ...], FailFast(), Field(min_length=KEY_FACTS_MIN, max_length=KEY_FACTS_MAX)]
    logical_outline: Annotated[tuple[Statement, ...], FailFast(), Field(max_length=OUTLINE_MAX)]
    entity_list: Annotated[tuple[Statement, ...], FailFast(), Field(max_length=ENTITIES_MAX)]


class GoldStandardDatum(Inbound):
    """A source and its gold summary."""

    entry: GoldStandardEntry
    summary: GoldStandardSummary
