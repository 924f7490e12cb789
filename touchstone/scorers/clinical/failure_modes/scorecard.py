"""The scorecard of one trace: the answers of code and of the judges, and the label that those which may decide give together.

A judge that was asked and gave no verdict is a failure and never a pass: the label is `Review` at best. In the shadow it bounds nothing, either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from touchstone.schemas.result import Failure, Finding, Label, NotChecked, Scorecard
from touchstone.scorers.calibration.folder import Status
from touchstone.scorers.clinical.failure_modes.judging.standing import code_digest
from touchstone.scorers.judges.ask.consult import Unjudged, bounded, judge_details, why_bound, withheld

if TYPE_CHECKING:
    from touchstone.scorers.clinical.failure_modes.judging.asking import Answered

#: The share of modes passed, of those that decide.
PASSED: Final = "modes_passed"
#: The code of a finding about a judge that was promoted and is no longer what was measured.
STALE: Final = "judge.stale"
_PLACE: Final = re.compile(r"\s*(prompt|persona|outputs\.(?:fhir|hl7v2|ccda)(?:\[\d{1,4}\])?)(?!\w)")


@dataclass(frozen=True, slots=True)
class CodeAnswers:
    """What code says of a trace. `failure`: why it was not asked at all, and then `missing` are its modes."""

    values: Mapping[str, float]
    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
    attributes: Mapping[str, Any]
    failure: Failure | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Judged:
    """One judge's part of the scorecard. `value`: 1 for a pass; None without a verdict."""

    name: str
    status: Status
    value: float | None
    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
    failure: Failure | None
    in_vain: str
    details: Mapping[str, Any]
    model: str | None


def composed(code: CodeAnswers, answers: Sequence[Answered], shadow: frozenset[str], *, quote: bool) -> Scorecard:
    """The scorecard. `shadow`: modes of code that decide nothing."""
    judged = [_judged(one, quote=quote) for one in answers]
    all_shadow = sorted(shadow | {one.name for one in judged if not one.status.decides})
    decided = [value for name, value in code.values.items() if name not in shadow]
    decided += [one.value for one in judged if one.value is not None and one.status.decides]
    label, bound = _label(decided, code, judged)
    failures = [one.failure for one in judged if one.failure is not None]
    if code.failure is not None:
        failures.insert(0, code.failure)
    elif not decided and not any(one.in_vain and one.status.decides for one in judged):
        failures.insert(0, Failure(component="persona", kind="input", code="nothing_to_ask"))
    values = {**code.values, **{one.name: one.value for one in judged if one.value is not None}}
    return Scorecard(
        label=label,
        values={PASSED: sum(decided) / len(decided), **values} if decided else values,
        findings=(*code.findings, *(finding for one in judged for finding in one.findings), *bound),
        failures=tuple(failures),
        components_missing=(*code.missing, *(one.name for one in judged if one.failure is not None)),
        not_checked=(*code.not_checked, *(entry for one in judged for entry in one.not_checked)),
        # Which code answered, so that a rate is never corrected by the recalls of another.
        details=({"code_digest": code_digest()} if code.failure is None else {})
        | ({"shadow": all_shadow} if all_shadow else {})
        | ({"judges": {one.name: one.details for one in judged}} if judged else {}),
        attributes=dict(code.attributes),
        models={f"judge.{one.name}": one.model for one in judged if one.model is not None},
    )


def _label(decided: Sequence[float], code: CodeAnswers, judged: Iterable[_Judged]) -> tuple[Label, tuple[Finding, ...]]:
    if not decided:
        return "unscored", ()
    if not all(decided):
        return "Fail", ()
    in_vain = next((f"{one.name}: {one.in_vain}" for one in judged if one.in_vain and one.status.decides), "")
    return bounded("Pass", "Review", in_vain or ("" if code.failure is None else "code could ask nothing: there is no persona"))


def _judged(answer: Answered, *, quote: bool) -> _Judged:
    judge, said, name = answer.standing.judge, answer.said, answer.name
    model = None if isinstance(said, Unjudged) else said.model
    status = answer.standing.status(model)
    details: dict[str, Any] = {
        "state": status.state,
        "decides": status.decides,
        **({"reasons": list(status.reasons)} if status.reasons else {}),
        "question": judge.about.question,
        "judge": answer.standing.judge_digest,
        "prompt": judge.digest,
        **({"model": model} if model is not None else {}),
        "request": judge_details(said),
    }
    stale = _stale(name, status)
    if isinstance(said, Unjudged):
        not_checked = (NotChecked(check=name, reason=said.why),)
        return _Judged(name, status, None, stale, not_checked, said.failure, why_bound(said), details, None)
    verdict = said.verdict
    fails = verdict.verdict == "fail"
    words = " ".join(verdict.critique.split())
    details |= {"verdict": verdict.verdict, "critique": words if quote else withheld(words)}
    found: tuple[Finding, ...] = ()
    if fails:
        at = _PLACE.match(verdict.where)
        message = f"a judge says yes: {judge.about.question}"
        found = (
            Finding(
                severity="major" if status.decides else "info",
                code=f"mode.{name}",
                path=at[1] if at is not None else "trace",
                message=f"{message} {words}" if quote and words else message,
            ),
        )
    return _Judged(name, status, 0.0 if fails else 1.0, (*found, *stale), (), None, "", details, model)


def _stale(name: str, status: Status) -> tuple[Finding, ...]:
    """The finding that says that a calibration no longer holds."""
    if status.state != "stale":
        return ()
    message = f"{name} runs in the shadow until it is calibrated again: {'; '.join(status.reasons)}"
    return (Finding(severity="info", code=STALE, path=f"judges.{name}", message=message),)
