"""Value sets: is a code one of those that an element may hold? (specification, Priority 3).

The sets that the specification names ship in `tables/value_sets.json`. A format that knows more of them (the required bindings of
FHIR) hands a `Lookup`, which is asked first; an unknown set is *not checked*, never a fault.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Final

from touchstone.schemas.result import Finding, Severity
from touchstone.scorers.clinical.checks.scalars import Membership, shown
from touchstone.scorers.clinical.report import Context

#: Name or canonical URL of a value set → its codes; None where this source does not know the set.
Lookup = Callable[[str], frozenset[str] | None]

#: More codes than this are not listed in a suggestion.
SUGGESTED_MAX: Final = 16
_CANONICAL: Final = ("http://hl7.org/fhir/ValueSet/", "http://terminology.hl7.org/ValueSet/", "http://hl7.org/fhir/us/core/ValueSet/")


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A shipped value set; `codes` in the order of its source, `severity` what a code outside it weighs by default."""

    name: str
    title: str
    severity: Severity
    system: str
    codes: tuple[str, ...]


def value_set(name: str) -> ValueSet | None:
    """The shipped value set of a name (`administrative-gender`, `HL70085`, `0085`) or canonical URL; None where none ships."""
    return _shipped().get(_short_name(name))


def in_value_set(name: str, code: object, *, lookup: Lookup | None = None) -> Membership:
    """Whether a code belongs to a value set. Codes compare exactly, case included; what is not text belongs to none."""
    codes = codes_of(name, lookup=lookup)
    if codes is None:
        return "not_checked"
    return "member" if isinstance(code, str) and code in codes else "not_member"


def codes_of(name: str, *, lookup: Lookup | None = None) -> frozenset[str] | None:
    """The codes of a value set, from the caller's source or else from the shipped ones; None where neither knows it."""
    if lookup is not None:
        codes = lookup(name)
        if codes is not None:
            return codes
    return _shipped_codes().get(_short_name(name))


def check_code(
    name: str,
    code: object,
    path: str,
    context: Context,
    *,
    severity: Severity | None = None,
    lookup: Lookup | None = None,
) -> list[Finding]:
    """A code that its value set does not hold, at the set's severity or the one that is asked for; nothing where the set is unknown.

    Callers name unknown sets in `Report.skip`, after asking `in_value_set`.
    """
    if in_value_set(name, code, lookup=lookup) != "not_member":
        return []
    known = value_set(name)
    weight = severity or (known.severity if known is not None else "major")
    title = known.title if known is not None else "the element's value set"
    codes = known.codes if known is not None else tuple(sorted(codes_of(name, lookup=lookup) or ()))
    listed = ", ".join(codes[:SUGGESTED_MAX]) + ("..." if len(codes) > SUGGESTED_MAX else "")
    folded = code.casefold() if isinstance(code, str) and len(code) <= 64 else None
    if folded is not None and any(folded == allowed.casefold() for allowed in codes):
        message = f"Invalid code for {title}: codes are case-sensitive. Valid values: {listed}"
    else:
        message = f"Invalid code for {title}. Valid values: {listed}"
    return [context.finding(weight, "valuesets.code", path, message, suggestion=f"Use one of: {listed}", value=shown(code))]


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
def _shipped() -> dict[str, ValueSet]:
    text = resources.files("touchstone.scorers.clinical.tables").joinpath("value_sets.json").read_text("utf-8")
    sets = json.loads(text)["sets"]
    return {name: ValueSet(name, entry["title"], entry["severity"], entry["system"], tuple(entry["codes"])) for name, entry in sets.items()}


@lru_cache(maxsize=1)
def _shipped_codes() -> dict[str, frozenset[str]]:
    return {name: frozenset(entry.codes) for name, entry in _shipped().items()}
