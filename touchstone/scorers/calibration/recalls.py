"""What a judge finds of what people found: `fail_recall` and `pass_recall`.

`fail_recall` is the share of cases failed by people that the judge fails; `pass_recall` the share of cases passed by people that it passes. The
specification calls them TPR and TNR, because it looks for failures; tools that count a Pass as positive call them TNR and TPR. Hence names of our own.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from touchstone.scorers.reporting.intervals import Rate

#: Both names of either figure, as reports print them.
DEFINITIONS = {
    "fail_recall": "share of cases failed by people that the judge fails (TPR where a failure is the positive class, TNR where a pass is)",
    "pass_recall": "share of cases passed by people that the judge passes (TNR where a failure is the positive class, TPR where a pass is)",
}


@dataclass(frozen=True, slots=True)
class Recalls:
    """Counts of cases by verdict: what people say, and whether the judge agrees."""

    failed: int
    failed_found: int
    passed: int
    passed_found: int

    @classmethod
    def of(cls, verdicts: Iterable[tuple[bool, bool]]) -> "Recalls":
        """Count pairs (people fail it, the judge fails it). A case without a verdict of the judge is left out by the caller, and said to be."""
        failed = found = passed = kept = 0
        for people, judge in verdicts:
            if people:
                failed += 1
                found += judge
            else:
                passed += 1
                kept += not judge
        return cls(failed, found, passed, kept)

    @property
    def fail_recall(self) -> Rate:
        """See the module; with Wilson's interval."""
        return Rate(self.failed_found, self.failed)

    @property
    def pass_recall(self) -> Rate:
        """See the module; with Wilson's interval."""
        return Rate(self.passed_found, self.passed)

    def shortfalls(self, *, floor: float, least: int) -> tuple[str, ...]:
        """Why the judge may not decide a label, as sentences; none if it may.

        `floor`: what both recalls must reach. `least`: cases that each class must have; with fewer, a recall is not known well enough.
        """
        reasons = []
        for name, verdict, rate in (("fail_recall", "fail", self.fail_recall), ("pass_recall", "pass", self.pass_recall)):
            if rate.total < least:
                reasons.append(f"people gave {rate.total} {verdict} verdicts in the test set; {least} are needed")
            elif rate.share < floor:
                reasons.append(f"{name} is {rate.share:.3f}; {floor:.2f} is needed")
        return tuple(reasons)
