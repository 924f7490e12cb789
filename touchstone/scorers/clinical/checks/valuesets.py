"""Value sets that the specification names (Priority 3), from `tables/value_sets.json`. An unknown set is *not checked*, never a fault."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.checks.scalars import Membership, shown
from touchstone.scorers.clinical.report import Context

#: More codes than this are not listed in a suggestion.
SUGGESTED_MAX: Final = 16
_CANONICAL: Final = ("http://hl7.org/fhir/ValueSet/", "http://terminology.hl7.org/ValueSet/", "http://hl7.org/fhir/us/core/ValueSet/")


@dataclass(frozen=True, slots=True)
class _ValueSet:
    """A value set of the tables: `codes` in the order of its source, `severity` of a code outside it."""

    title: str
    severity: Severity
    codes: tuple[str, ...]


def in_value_set(name: str, code: object) -> Membership:
    """Look up a code in a value set, given by name (`administrative-gender`, `HL70085`, `0085`) or canonical URL. Case counts."""
    codes = codes_of(name)
    if codes is None:
        return "not_checked"
    return "member" if isinstance(code, str) and code in codes else "not_member"


def codes_of(name: str) -> frozenset[str] | None:
    """Return the codes of a value set; None if the tables do not have it."""
    return _codes().get(_short_name(name))


def check_code(name: str, code: object, path: str, context: Context) -> list[Finding]:
    """Report a code outside its value set; nothing if the set is unknown, which callers report as not checked."""
    if in_value_set(name, code) != "not_member":
        return []
    known = _value_sets()[_short_name(name)]
    listed = ", ".join(known.codes[:SUGGESTED_MAX]) + ("..." if len(known.codes) > SUGGESTED_MAX else "")
    folded = code.casefold() if isinstance(code, str) and len(code) <= 64 else None
    hint = ": codes are case-sensitive" if folded is not None and any(folded == allowed.casefold() for allowed in known.codes) else ""
    message = f"Invalid code for {known.title}{hint}. Valid values: {listed}"
    return [context.finding(known.severity, "valuesets.code", path, message, suggestion=f"Use one of: {listed}", value=shown(code))]


def _short_name(name: str) -> str:
    name = name.split("|", 1)[0]
    for prefix in _CANONICAL:
        if name.startswith(prefix):
            name = name[len(prefix) :]
            break
    if name.startswith("v2-") and len(name) == 7:
        return f"HL7{name[3:]}"
    return f"HL7{name}" if len(name) == 4 and name.isascii() and name.isdigit() else name


@lru_cache(maxsize=1)
def _value_sets() -> dict[str, _ValueSet]:
    text = resources.files("touchstone.scorers.clinical.tables").joinpath("value_sets.json").read_text("utf-8")
    return {name: _ValueSet(entry["title"], entry["severity"], tuple(entry["codes"])) for name, entry in json.loads(text)["sets"].items()}


@lru_cache(maxsize=1)
def _codes() -> dict[str, frozenset[str]]:
    return {name: frozenset(entry.codes) for name, entry in _value_sets().items()}
