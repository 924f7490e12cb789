"""The curated cases and the terms that they expect, as models."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from touchstone.scorers.clinical.checks.terminology import ICD10CM, LOINC, RXNORM, CodeSystem

Kind = Literal["condition", "medication", "lab"]
KINDS: Final[tuple[Kind, ...]] = ("condition", "medication", "lab")
#: The code system that a kind of term is coded in here.
SYSTEM_OF: Final[Mapping[Kind, CodeSystem]] = {"condition": ICD10CM, "medication": RXNORM, "lab": LOINC}
_TABLES: Final = "touchstone.scorers.clinical.curated"
#: The beginning of a text that says that the patient does not have something.
_ABSENT: Final = re.compile(
    r"\s*(no|denies|without|never|family history|fh of|ruled? out|r/o|risk (of|for)|at risk|screening (of|for)|allerg(y|ic) to|history of allergy)\b"
)


class _Written(BaseModel):
    """A model of the tables: frozen, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Term(_Written):
    """One term. `also`: other names; `but_not`: words that change its meaning; `exact`: names with exactly one code."""

    kind: Kind
    name: str
    also: tuple[str, ...] = ()
    but_not: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    exact: dict[str, str] = {}

    def in_text(self, text: str) -> bool:
        """True if a text names the term: one of its names as whole words, no word that changes its meaning, and not as absent."""
        return self.in_folded(folded_text(text))

    def in_folded(self, folded: str) -> bool:
        """As `in_text`, of a text that `folded_text` has folded: one text is asked for many terms."""
        if _ABSENT.match(folded) or any(has_word(folded, word) for word in self.but_not):
            return False
        return any(has_word(folded, name) for name in (self.name.casefold(), *self.also))

    def has_code(self, code: str) -> bool:
        """True if a code of the kind's system means the term. An ICD-10-CM code includes those below it."""
        if self.kind != "condition":
            return code in self.codes
        plain = code.upper().replace(".", "")
        return any(plain.startswith(known.replace(".", "")) for known in self.codes)


class Expected(_Written):
    """The requirements for a patient. Names of terms; of a list inside the list, one is enough. `age`: years, both ends included."""

    conditions: tuple[str | tuple[str, ...], ...] = ()
    medications: tuple[str | tuple[str, ...], ...] = ()
    labs: tuple[str | tuple[str, ...], ...] = ()
    age: tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(le=130)]] | None = None
    sex: Literal["male", "female"] | None = None

    def terms(self) -> tuple[tuple[str, Kind, tuple[Term, ...]], ...]:
        """Each expected term: its place, its kind, and the terms of which one is enough."""
        lists: tuple[tuple[str, Kind, tuple[str | tuple[str, ...], ...]], ...] = (
            ("conditions", "condition", self.conditions),
            ("medications", "medication", self.medications),
            ("labs", "lab", self.labs),
        )
        known = terms()
        return tuple(
            (f"{name}[{number}]", kind, tuple(known[one] for one in ((asked,) if isinstance(asked, str) else asked)))
            for name, kind, listed in lists
            for number, asked in enumerate(listed)
        )


class CuratedCase(_Written):
    """One test: a prompt, the requirements for the patient, and minimum scores (0–100)."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$")]
    category: Annotated[str, Field(pattern=r"^[a-z_]{1,64}$")]
    prompt: Annotated[str, Field(min_length=1)]
    expected: Expected = Expected()
    minimum: dict[Literal["overall", "format", "terminology", "clinical"], Annotated[float, Field(ge=0, le=100)]] = {}

    @property
    def least(self) -> dict[str, float]:
        """The minimum scores, by name."""
        return {str(name): score for name, score in self.minimum.items()}

    @model_validator(mode="after")
    def _known_terms(self) -> Self:
        """Refuse a term that is not in the table, or is of another kind there."""
        for listed, kind in ((self.expected.conditions, "condition"), (self.expected.medications, "medication"), (self.expected.labs, "lab")):
            for asked in listed:
                for one in (asked,) if isinstance(asked, str) else asked:
                    if one not in terms() or terms()[one].kind != kind:
                        raise ValueError(f"{self.id}: {one} is no {kind} of terms.toml")
        return self


@lru_cache(maxsize=1)
def terms() -> Mapping[str, Term]:
    """Every term, by its name in the table."""
    return {name: Term.model_validate(fields) for name, fields in _table("terms.toml").items()}


@lru_cache(maxsize=1)
def curated_cases() -> tuple[CuratedCase, ...]:
    """The curated cases, in the order of the table."""
    return tuple(CuratedCase.model_validate(fields) for fields in _table("cases.toml")["case"])


def folded_text(text: str) -> str:
    """A text for comparison: case-folded, with one kind of apostrophe and single blanks."""
    return " ".join(text.casefold().replace("’", "'").split())


def has_word(text: str, word: str) -> bool:
    """True if a folded text holds a phrase as whole words."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
            return True
        start = text.find(word, start + 1)
    return False


def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(_TABLES).joinpath(name).read_text(encoding="utf-8"))
