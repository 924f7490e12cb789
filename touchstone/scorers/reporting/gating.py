"""The gate `--fail-on`, the same for every suite: it reads the findings and labels from the view of a report."""

from collections.abc import Iterable, Mapping
from typing import Final

from touchstone.schemas.result import Severity
from touchstone.scorers.reporting.folding import counts_of
from touchstone.scorers.reporting.verdict import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, EXIT_REVIEW, FailOn, Gate, Verdict
from touchstone.scorers.reporting.view import CaseView, View
from touchstone.scorers.reporting.words import counted

_SEVERITIES: Final[Mapping[str, frozenset[Severity]]] = {"critical": frozenset({"critical"}), "major": frozenset({"critical", "major"})}
_WHAT: Final[Mapping[FailOn, str]] = {
    "invalid": "not valid by their standard",
    "critical": "with a critical finding",
    "major": "with a critical or major finding",
    "warn": "that did not pass",
}


def with_fail_on(verdict: Verdict, gate: Gate, view: View) -> Verdict:
    """The verdict under `gate.fail_on`, which names what fails besides the label Fail; anything milder passes.

    Errors stay errors, and a gate that was not reached stays failed. A case without a score keeps the batch from passing, and so does a part that failed: a
    judge that did not answer may have missed something.
    """
    fail_on = gate.fail_on
    missed = verdict.exit_code == EXIT_FAIL and (gate.min_pass_rate is not None or bool(gate.max_mean))
    if fail_on is None or missed or verdict.exit_code == EXIT_ERROR:
        return verdict
    failed = found = both = unscored = total = with_validity = 0
    for case in _counting(view.cases):
        total += 1
        with_validity += case.valid is not None
        unscored += case.label == "unscored"
        failed += case.status == "fail"
        found += (hit := is_hit(case, fail_on))
        both += hit and case.status == "fail"
    cases = counted(total, view.noun)
    if fail_on == "invalid" and total > unscored and not with_validity:
        return Verdict("ERROR", f"no {view.noun} says whether it is valid; give --fail-on critical, major or warn", EXIT_ERROR)
    if failed or found:
        # A case that failed and has what the gate names is counted once, so that the numbers can be added.
        others = found - both
        parts = [f"{failed} failed"] if failed else []
        parts += [f"{others} {'more ' if failed else ''}{_WHAT[fail_on]}"] if others else []
        return Verdict("FAIL", f"{', '.join(parts)}, of {cases}", EXIT_FAIL)
    if unscored and not gate.allow_unscored:
        return Verdict("WARN", f"{unscored} of {cases} not scored, none {_WHAT[fail_on]}", EXIT_REVIEW)
    if verdict.incomplete and fail_on != "invalid":
        return Verdict("WARN", f"none of {cases} {_WHAT[fail_on]}, some without a part that failed", EXIT_REVIEW)
    return Verdict("PASS", f"none of {cases} {_WHAT[fail_on]}", EXIT_PASS)


def is_hit(case: CaseView, fail_on: FailOn) -> bool:
    """True if a case fails under this gate, whatever its label."""
    if fail_on == "invalid":
        return case.valid is False
    if fail_on == "warn":
        return case.status in {"fail", "review", "unscored", "error"}
    return any(severities.get(severity) for severities in counts_of(case).values() for severity in _SEVERITIES[fail_on])


def _counting(cases: Iterable[CaseView]) -> Iterable[CaseView]:
    return (case for case in cases if case.status != "passed_over")
