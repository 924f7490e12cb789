"""The clinical facts that failure modes use, as models of `knowledge.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from touchstone.scorers.clinical.curated.cases import Kind, Term

_TABLE: Final = "touchstone.scorers.clinical.failure_modes"
_KINDS: Final[Mapping[str, Kind]] = {"conditions": "condition", "labs": "lab"}


class _Written(BaseModel):
    """Frozen, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Drug(_Written):
    """Drugs with the same uses. `others`: they have uses that are not listed, so only dates are compared."""

    names: tuple[str, ...]
    for_: tuple[str, ...]
    others: bool = False


class Direction(_Written):
    """A lab value that points away from a condition. `units`: folded unit → factor to the bound's own; `says`: words of which the condition has one."""

    condition: str
    lab: str
    says: tuple[str, ...] = ()
    sex: Literal["male", "female"] | None = None
    below: float | None = None
    above: float | None = None
    units: dict[str, float]
    treated: tuple[str, ...] = ()


class AgeSpan(_Written):
    """A condition, and the youngest and oldest age in years that it occurs at."""

    term: Term
    youngest: float = 0
    oldest: float = 200


class Knowledge(_Written):
    """All of it. Keys of `key_labs` and members of `for_` are conditions; of `adult_doses`, ingredients, in mg."""

    conditions: dict[str, Term]
    labs: dict[str, Term]
    key_labs: dict[str, tuple[str, ...]]
    drugs: tuple[Drug, ...]
    brands: dict[str, tuple[str, ...]]
    classes: dict[str, tuple[str, ...]]
    directions: tuple[Direction, ...]
    ages: tuple[AgeSpan, ...]
    sexes: dict[Literal["female", "male"], Term]
    pregnancy: Term
    adult_doses: dict[str, float] = Field(min_length=1)

    def spellings(self, drugs: tuple[str, ...]) -> tuple[str, ...]:
        """These names, and the brands of those that are ingredients."""
        return tuple(one for name in drugs for one in (name, *self.brands.get(name, ())))

    @model_validator(mode="after")
    def _known(self) -> Self:
        """Refuse a name that no term has: its rule would never apply."""
        named = {*self.key_labs, *(one for drug in self.drugs for one in drug.for_), *(one.condition for one in self.directions)}
        labs = {*(one for labs in self.key_labs.values() for one in labs), *(one.lab for one in self.directions)}
        if unknown := sorted((named - set(self.conditions)) | (labs - set(self.labs))):
            raise ValueError(f"knowledge.toml uses names that it does not define: {', '.join(unknown)}")
        return self


def table() -> str:
    """The shipped table as text."""
    return resources.files(_TABLE).joinpath("knowledge.toml").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def knowledge() -> Knowledge:
    """The shipped table."""
    read: dict[str, Any] = tomllib.loads(table())
    for key, kind in _KINDS.items():
        read[key] = {name: {"kind": kind, **fields} for name, fields in read[key].items()}
    read["sexes"] = {sex: {"kind": "condition", **fields} for sex, fields in read["sexes"].items()}
    read["pregnancy"] = {"kind": "condition", **read["pregnancy"]}
    spans = ("from", "to")
    read["ages"] = [
        {
            "term": {"kind": "condition", **{key: value for key, value in fields.items() if key not in spans}},
            **({"youngest": fields["from"]} if "from" in fields else {}),
            **({"oldest": fields["to"]} if "to" in fields else {}),
        }
        for fields in read["ages"]
    ]
    return Knowledge.model_validate(read)
