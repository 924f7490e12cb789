"""Samples of Loss V3, written for this project: generated summaries, most with a `gold_ref` into `golds`, and the expected outcome of each."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import Samples
from touchstone.scorers.summary.batch import HIGHER_IS_BETTER

_HERE = Path(__file__).parent
GOLDS = _HERE / "golds" / "summaries.jsonl"
#: In float32 scores do not depend on the other texts of a batch; bfloat16 is faster and differs in the third decimal.
ENVIRONMENT = {"SUMMARY_LOSS_GOLD": str(GOLDS), "SUMMARY_LOSS_ENGINES_DTYPE": "float32"}
TOLERANCE = 1e-3
#: Least difference by which a worsened sample must be worse.
WORSE_BY = 0.01


def samples() -> Samples:
    """The samples, with the settings that find their golds and give the same scores in any batch."""
    from touchstone.schemas.settings.engines import EngineSettings
    from touchstone.scorers.engines.runtime_plan import number_types

    files = tuple(sorted(_HERE.glob("*.jsonl")))
    # int8 gives a pair the same answer in any batch too, in half the time.
    is_steady = number_types(EngineSettings()) == "int8"
    env = {name: value for name, value in ENVIRONMENT.items() if not (is_steady and name.endswith("DTYPE"))}
    return Samples(files, env=env, unexpected=unexpected, tolerance=TOLERANCE)


def expected() -> dict[str, dict[str, Any]]:
    """Event id of each generated summary → its expected outcome.

    `good`: scored, without a hard fail. `worse_than`, `in`: the values that are worse than another sample's of the same gold. `rule`: the
    hard fail. `unscored`: the named outcome.
    """
    document: dict[str, dict[str, Any]] = json.loads((GOLDS.parent / "expected.json").read_text(encoding="utf-8"))
    return document


def unexpected(results: Sequence[ScoreResult]) -> list[str]:
    """The expectations that the samples did not meet."""
    return unmet({result.event_id: result for result in results}, expected())


def unmet(results: Mapping[str, ScoreResult], wanted_of: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Which expectations are not met. `results`: by event id."""
    problems = []
    for event_id, wanted in wanted_of.items():
        result = results.get(event_id)
        if result is None:
            problems.append(f"{event_id}: no result")
            continue
        rules = sorted(finding.code for finding in result.findings if finding.severity == "critical" and result.values == {"loss": 1.0})
        codes = sorted(failure.code for failure in result.failures)
        if "rule" in wanted:
            if result.label != "Fail" or wanted["rule"] not in rules or result.values != {"loss": 1.0}:
                problems.append(f"{event_id}: the hard fail {wanted['rule']} was expected")
        elif "unscored" in wanted:
            if result.label != "unscored" or result.values or wanted["unscored"] not in codes:
                problems.append(f"{event_id}: the outcome {wanted['unscored']} was expected")
        elif rules or "loss" not in result.values:
            problems.append(f"{event_id}: a loss without a hard fail was expected")
        elif "worse_than" in wanted:
            other = results.get(wanted["worse_than"])
            problems += [f"{event_id}: {name} is no worse than {wanted['worse_than']}'s" for name in not_worse(result, other, wanted["in"])]
    return problems


def not_worse(result: ScoreResult, other: ScoreResult | None, names: Sequence[str]) -> list[str]:
    """Which of the named values are not worse than the other's."""
    found = []
    for name in names:
        one, two = result.values.get(name), other.values.get(name) if other is not None else None
        sign = -1 if name in HIGHER_IS_BETTER else 1
        if one is None or two is None or sign * (one - two) <= WORSE_BY:
            found.append(name)
    return found
