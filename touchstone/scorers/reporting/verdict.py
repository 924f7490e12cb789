"""The verdict on many results: printed word and exit code in one object (the codes are those of SAFE v0 §7.3)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from touchstone.schemas.reports.changes import Comparison
from touchstone.scorers.reporting.intervals import Rate
from touchstone.scorers.reporting.words import beside_bound, counted, percent_beside_bound

#: Rounding error of a difference of shares; a smaller excess still meets the gate.
_ROUNDING = 1e-9
#: What may fail a batch besides the label Fail; each of the severities includes the higher ones.
FailOn = Literal["invalid", "critical", "major", "warn"]
EXIT_PASS, EXIT_FAIL, EXIT_REVIEW, EXIT_ERROR = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Gate:
    """Requirements on a batch beyond its labels.

    `min_pass_rate`: least share of Pass labels, a ratio. `max_mean`: value → greatest mean that passes.
    `allow_unscored`: a case that could not be scored is reported and is not an error. `fail_on`: what fails besides the label Fail; anything milder passes.
    """

    min_pass_rate: float | None = None
    max_mean: tuple[tuple[str, float], ...] = ()
    allow_unscored: bool = False
    fail_on: FailOn | None = None

    @property
    def is_set(self) -> bool:
        """True if the gate requires anything that a verdict by labels does not."""
        return self.min_pass_rate is not None or bool(self.max_mean) or self.fail_on is not None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Word, reason and exit code. `incomplete`: some cases were scored without a part that failed, such as a judge."""

    word: str
    reason: str
    exit_code: int
    incomplete: bool = False

    def __str__(self) -> str:
        """One line."""
        return f"{self.word}: {self.reason} (exit {self.exit_code})"


def verdict_by_labels(
    *,
    passed: int,
    review: int,
    failed: int,
    unscored: int = 0,
    problems: int = 0,
    noun: str = "case",
    gate: Gate | None = None,
    unscored_why: str = "",
    incomplete: Mapping[str, int] | None = None,
) -> Verdict:
    """Judge a batch by its labels.

    Exit code 3: something could not be read, a case could not be scored (unless the gate allows it), or there is none. With
    `gate.min_pass_rate`: 0 if the share of Pass labels among the scored cases reaches it, 1 if not. Otherwise by labels: 1 with a
    Fail, 2 with a Review or Warn, or if a part of a case failed, 0 if all pass. `incomplete`: code of such a failure → cases scored without the part.
    """
    verdict = _by_labels(passed, review, failed, unscored, problems, noun, gate or Gate(), unscored_why, incomplete or {})
    return replace(verdict, incomplete=bool(incomplete))


def verdict_by_rate(rate: Rate, least: float, noun: str) -> Verdict:
    """PASS if the pass rate reaches `least`, FAIL if not."""
    reason = f"pass rate {percent_beside_bound(rate.share, least)} of {counted(rate.total, noun)}, at least {least:.10g} asked"
    return Verdict("PASS", reason, EXIT_PASS) if rate.share >= least else Verdict("FAIL", reason, EXIT_FAIL)


def _by_labels(
    passed: int, review: int, failed: int, unscored: int, problems: int, noun: str, gate: Gate, unscored_why: str, incomplete: Mapping[str, int]
) -> Verdict:
    scored = passed + review + failed
    if problems:
        return Verdict("ERROR", f"{counted(problems, 'problem')}, {counted(scored, noun)} scored", EXIT_ERROR)
    if not scored:
        return Verdict("ERROR", f"no {noun} was scored", EXIT_ERROR)
    if unscored and not gate.allow_unscored:
        why = f" ({unscored_why})" if unscored_why else ""
        return Verdict("ERROR", f"{unscored} of {counted(scored + unscored, noun)} not scored{why}", EXIT_ERROR)
    if gate.min_pass_rate is not None:
        return verdict_by_rate(Rate(passed, scored), gate.min_pass_rate, noun)
    if failed:
        return Verdict("FAIL", f"{failed} of {counted(scored, noun)} failed", EXIT_FAIL)
    if review:
        return Verdict("REVIEW", f"{review} of {counted(scored, noun)} to review, none failed", EXIT_REVIEW)
    if incomplete:
        parts = ", ".join(f"{code} {count}" for code, count in incomplete.items())
        return Verdict("REVIEW", f"{counted(scored, noun)} passed, some without a part that failed ({parts})", EXIT_REVIEW)
    return Verdict("PASS", f"{counted(scored, noun)} passed", EXIT_PASS)


def with_drop(verdict: Verdict, gate: Gate | None, comparison: Comparison, max_drop: float) -> Verdict:
    """The verdict if the pass rate may fall by at most `max_drop`, a ratio. Errors stay errors, and a gate that was not reached stays failed."""
    if verdict.exit_code == EXIT_ERROR:
        return verdict
    rate = comparison.pass_rate
    if rate.difference is None:
        return Verdict("ERROR", "no pass rate to compare with: the earlier report has no scored case", EXIT_ERROR)
    points = beside_bound(100 * rate.difference, -100 * max_drop, 1)
    change = f"{'+' if rate.difference > 0 else ''}{points} points since" if abs(rate.difference) > _ROUNDING else "as in"
    reason = f"pass rate {change} the earlier batch, a drop of at most {100 * max_drop:g} points asked"
    if comparison.drop > max_drop + _ROUNDING:
        return Verdict("FAIL", reason, EXIT_FAIL)
    return Verdict(verdict.word, f"{verdict.reason}; {reason}", verdict.exit_code) if gate is not None and gate.is_set else Verdict("PASS", reason, EXIT_PASS)
