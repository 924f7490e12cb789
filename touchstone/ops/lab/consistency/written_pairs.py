"""Pairs of documents written by hand (written_pairs.jsonl): equal ones must raise no finding, contradictions the expected ones.

A line of the file is one pair: {"name", "documents": [[format, content], …], "expects": beginnings of the expected codes, "persona"}.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from touchstone.schemas.result import Finding
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.clinical.consistency import Given, check_consistency
from touchstone.scorers.clinical.report import Context

FILE: Final = Path(__file__).with_suffix(".jsonl")
#: The day on which the pairs are compared, for ages.
AT: Final = datetime(2025, 5, 7, tzinfo=UTC)
_PREFIX: Final = "consistency."


class Written(NamedTuple):
    """Documents of one patient. `expects`: how the code of each expected finding begins; empty if the documents agree."""

    name: str
    documents: list[tuple[ClinicalFormat, Any]]
    expects: tuple[str, ...]
    persona: dict[str, Any]


@cache
def written_pairs() -> tuple[Written, ...]:
    """All pairs."""
    stored = map(json.loads, FILE.read_text(encoding="utf-8").splitlines())
    return tuple(Written(one["name"], one["documents"], tuple(one.get("expects", ())), one.get("persona", {})) for one in stored)


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
    return {name: tried(tuple(pair for pair in written_pairs() if is_kept_back(pair) is kept)) for name, kept in halves.items()}
