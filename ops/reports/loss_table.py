"""What the tables of a loss report hold, for every format that has tables."""

import re
from collections.abc import Sequence

from touchstone.schemas.reports.summary import LossCase, LossReport
from touchstone.schemas.result import Label

#: Columns of a case's row: the value and its heading.
COLUMNS = (
    ("loss", "Loss"),
    ("facts_loss", "Facts"),
    ("entities_loss", "Entities"),
    ("flow_loss", "Flow"),
    ("semantic_loss", "Semantic"),
    ("length_loss", "Length"),
)
#: Values of which more is better, unlike a loss.
HIGHER_IS_BETTER = frozenset({"recall", "precision", "coverage", "order", "cosine"})
ABSENT = "–"
REASONS_SHOWN_MAX = 3
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_LABELS: tuple[Label, ...] = ("Pass", "Review", "Fail", "unscored")


def number(value: float | None) -> str:
    """A value to two places; a component that a case does not have is a dash, never a zero."""
    return ABSENT if value is None else f"{value:.2f}"


def name_of(case: LossCase) -> str:
    """What people call the case: the event's own id; where that is a UUID, its source and the id's beginning."""
    if not _UUID.fullmatch(case.event_id):
        return case.event_id
    return f"{case.case_id or 'event'} {case.event_id[:8]}"


def reason(case: LossCase) -> str:
    """The rule of a hard fail, the code of a case that was not scored, else what its findings are called."""
    codes = case.rules or case.codes or tuple(dict.fromkeys(finding.code for finding in case.findings))
    rest = len(codes) - REASONS_SHOWN_MAX
    return ", ".join(codes[:REASONS_SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")


def case_row(case: LossCase) -> tuple[str, ...]:
    """Case, model, label, the losses, and why."""
    return (name_of(case), case.model or "", case.label, *(number(case.values.get(name)) for name, _ in COLUMNS), reason(case))


CASE_HEADER = ("Case", "Model", "Label", *(heading for _, heading in COLUMNS), "Why")


def component_rows(report: LossReport) -> list[tuple[str, str, str, str]]:
    """Mean of each component, over how many cases, and which way is better."""
    return [
        (name, number(component.mean), str(component.cases), "higher" if name in HIGHER_IS_BETTER else "lower") for name, component in report.components.items()
    ]


COMPONENT_HEADER = ("Component", "Mean", "Cases", "Better")


def label_counts(report: LossReport) -> Sequence[tuple[str, int]]:
    """How many cases have each label."""
    return [(label, getattr(report.label_distribution, label)) for label in _LABELS]


def counts_text(counts: dict[str, int]) -> str:
    """`meta_commentary 2, truncated 1`."""
    return ", ".join(f"{code} {count}" for code, count in counts.items())


def loss_text(report: LossReport) -> str:
    """How the losses lie, in one line."""
    if report.loss is None:
        return "no case was scored"
    return ", ".join(f"{name} {getattr(report.loss, name):.3f}" for name in ("mean", "min", "p50", "p90", "p99", "max"))
