"""Samples of the clinical suite, written for this project: traces of invented patients, and the expected outcome of each."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import Samples

_EXPECTED: Final = Path(__file__).parent / "expected.json"
#: The folder of the traces, a file each.
TRACES: Final = Path(__file__).parent / "traces"


def samples() -> Samples:
    """The traces, one synthetic patient each. Without the reader of units some of their faults are listed as not checked."""
    return Samples((TRACES,), unexpected=unexpected, requires={"ucumvert": "clinical"})


def paths() -> tuple[Path, ...]:
    """The files of the traces."""
    return tuple(sorted(TRACES.glob("*.json")))


def expected() -> dict[str, dict[str, Any]]:
    """Trace id → its expected `label`, `valid` per document, and `codes` of findings above info; an empty list means that there may be none."""
    document: dict[str, dict[str, Any]] = json.loads(_EXPECTED.read_text(encoding="utf-8"))
    return document


def unexpected(results: Sequence[ScoreResult]) -> list[str]:
    """The expectations that the samples did not meet."""
    by_trace = {result.case_id: result for result in results}
    return [problem for trace_id, wanted in expected().items() for problem in _unmet(trace_id, by_trace.get(trace_id), wanted)]


def _unmet(trace_id: str, result: ScoreResult | None, wanted: Mapping[str, Any]) -> list[str]:
    if result is None:
        return [f"{trace_id}: no result"]
    problems = []
    found = {finding.code for finding in result.findings if finding.severity != "info"}
    if result.label != wanted["label"]:
        problems.append(f"{trace_id}: labelled {result.label}, expected {wanted['label']}")
    if missing := sorted(set(wanted["codes"]) - found):
        problems.append(f"{trace_id}: not found: {', '.join(missing)}")
    if found and not wanted["codes"]:
        problems.append(f"{trace_id}: found though good: {', '.join(sorted(found))}")
    if [document["valid"] for document in result.details.get("documents", ())] != wanted["valid"]:
        problems.append(f"{trace_id}: another verdict on its documents was expected")
    return problems
