"""Runs the check on the pairs written by hand: equal ones that raise a finding, and contradictions that raise none."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final

from touchstone.ops.lab.consistency.written import lists, people, personas, values
from touchstone.ops.lab.consistency.written.hands import Written
from touchstone.schemas.result import Finding
from touchstone.scorers.clinical.consistency import Given, check_consistency
from touchstone.scorers.clinical.report import Context

#: The day on which the pairs are compared, for ages.
AT: Final = datetime(2025, 5, 7, tzinfo=UTC)
WRITTEN: Final[tuple[Written, ...]] = (*people.PAIRS, *values.PAIRS, *lists.PAIRS, *personas.PAIRS)
_PREFIX: Final = "consistency."


def is_kept_back(pair: Written) -> bool:
    """True if the pair belongs to the half that was not looked at before the check was fixed; a hash of its name decides."""
    return sha256(f"written:{pair.name}".encode()).digest()[0] % 2 == 1


def findings_of(pair: Written) -> list[Finding]:
    """The findings on a pair, without remarks."""
    numbers: dict[str, int] = {}
    given = []
    for form, content in pair.documents:
        numbers[form] = numbers.get(form, 0) + 1
        given.append(Given(f"outputs.{form}[{numbers[form] - 1}]", form, content))
    report = check_consistency(given, pair.persona or None, Context(), at=AT)
    return [finding for finding in report.findings if finding.severity != "info"]


def tried(pairs: tuple[Written, ...]) -> dict[str, Any]:
    """The counts of some pairs, and the pairs with a wrong result."""
    wrong: list[dict[str, Any]] = []
    contradictions = [pair for pair in pairs if pair.expects]
    beside = 0
    for pair in pairs:
        codes = [finding.code.removeprefix(_PREFIX) for finding in findings_of(pair)]
        unexpected = [code for code in codes if not code.startswith(pair.expects)] if pair.expects else codes
        missed = [code for code in pair.expects if not any(found.startswith(code) for found in codes)]
        beside += bool(pair.expects and unexpected)
        if unexpected or missed:
            wrong.append({"pair": pair.name, "missed": missed, "unexpected": unexpected})
    return {
        "equal": len(pairs) - len(contradictions),
        "false_alarms": sum(1 for one in wrong if one["unexpected"] and not any(pair.name == one["pair"] for pair in contradictions)),
        "contradictions": len(contradictions),
        "caught": len(contradictions) - sum(1 for one in wrong if one["missed"]),
        "with_other_findings": beside,
        "wrong": wrong,
    }


def both_halves() -> dict[str, Any]:
    """The counts of the half that was used to fix the check, and of the half that was kept back until then."""
    halves = {"used for fixes": False, "kept back": True}
    return {name: tried(tuple(pair for pair in WRITTEN if is_kept_back(pair) is kept)) for name, kept in halves.items()}
