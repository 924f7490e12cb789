"""The table that invented patients are made of, as models."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Written(BaseModel):
    """A model of the table: frozen, without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Lab(_Written):
    """A lab with the range that its values are drawn from. `code`: LOINC."""

    name: str
    code: str
    unit: str
    low: float
    high: float
    digits: int = Field(ge=0, le=2)


class Profile(_Written):
    """A condition with what goes with it. `said`: its words in a prompt; `ages`, `years`: both ends included; `code`: ICD-10-CM."""

    id: str
    name: str
    code: str
    said: str
    ages: tuple[int, int]
    years: tuple[int, int]
    sex: Literal["female", "male"] | None = None
    drugs: tuple[tuple[str, ...], ...] = ()
    labs: tuple[Lab, ...] = ()
    visits: tuple[str, ...]
    goes_with: tuple[str, ...] = Field(alias="with")


class Stay(_Written):
    """A hospital stay or an emergency visit that is over. `days`: how long, both ends included."""

    said: str
    name: str
    code: str
    type: str
    ages: tuple[int, int]
    days: tuple[int, int]


class Table(_Written):
    """All of it. `words`: names, occupations and the like."""

    profile: tuple[Profile, ...]
    stay: tuple[Stay, ...]
    words: dict[str, tuple[str, ...]]


@lru_cache(maxsize=1)
def table() -> Table:
    """The table."""
    text = resources.files("touchstone.scorers.clinical.invented").joinpath("patients.toml").read_text(encoding="utf-8")
    return Table.model_validate(tomllib.loads(text))
