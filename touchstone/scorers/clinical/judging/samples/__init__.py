"""Samples of the clinical judge: the requests that the clinical worker sends for its own samples.

They are kept in a file, so that they can be tried without the validators' tables. `python -m touchstone.scorers.clinical.judging.samples` writes it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import Samples

#: One request a line.
REQUESTS: Final = Path(__file__).parent / "requests.jsonl"
#: Replaces the digest of the validators' settings, which changes with every table.
_DIGEST: Final = "sample"


def samples() -> Samples:
    """The requests. No judge is asked, even if the environment has a key: results have the validators' scores, and Clinical is missing."""
    return Samples((REQUESTS,), env={"COHERENCE_JUDGE_ENABLED": "false"}, unexpected=unexpected)


def requests() -> list[dict[str, Any]]:
    """The requests in the file."""
    return [json.loads(line) for line in REQUESTS.read_text(encoding="utf-8").splitlines()]


def unexpected(results: Sequence[ScoreResult]) -> list[str]:
    """A line for each request without a result, and for each result that differs from its request. Ignores what a judge adds."""
    by_trace = {result.case_id: result for result in results}
    return [problem for request in requests() for problem in _unmet(request, by_trace.get(request["trace_id"]))]


def _unmet(request: Mapping[str, Any], result: ScoreResult | None) -> Iterator[str]:
    trace_id, validated = request["trace_id"], request["validated"]
    if result is None:
        yield f"{trace_id}: no result"
        return
    if other := [name for name in ("format", "terminology") if result.values.get(name) != validated["values"].get(name)]:
        yield f"{trace_id}: not the validators' {' and '.join(other)}"
    if "clinical" not in result.values and result.label != validated["label"]:
        yield f"{trace_id}: labelled {result.label}, expected {validated['label']}"


def made() -> Iterator[Mapping[str, Any]]:
    """The requests as the validators make them now. Loads their tables."""
    from touchstone.schemas.case import validate_case
    from touchstone.schemas.trace import ProductionTrace
    from touchstone.scorers.clinical import VERSION
    from touchstone.scorers.clinical.requests.judge_requests import record_of, request_of
    from touchstone.scorers.clinical.samples import paths
    from touchstone.scorers.clinical.scorer import ClinicalScorer
    from touchstone.scorers.clinical.settings import ClinicalSettings

    settings = ClinicalSettings()
    scorer = ClinicalScorer(settings)
    for path in paths():
        trace = validate_case(ProductionTrace, {"kind": "trace", **json.loads(path.read_text(encoding="utf-8"))})
        request, reason = request_of(trace, trace.trace_id, scorer.evaluate(trace), settings, VERSION, _DIGEST)
        if reason is None:
            yield record_of(request)


def written() -> str:
    """The text of the file."""
    return "".join(json.dumps(request, ensure_ascii=False, separators=(",", ":")) + "\n" for request in made())
