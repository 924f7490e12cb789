"""The verdict on a batch of summaries: the printed word and the exit code come from here and nowhere else."""

from touchstone.ops.reports.text import counted
from touchstone.ops.reports.verdict import EXIT_ERROR, EXIT_FAIL, EXIT_PASS, EXIT_REVIEW, Verdict
from touchstone.schemas.reports.summary import LossReport

#: A mean is a sum of floats: what differs by less than this from the gate meets it.
ROUNDING = 1e-9


def loss_verdict(report: LossReport, max_mean_loss: float | None = None, *, allow_unscored: bool = False) -> Verdict:
    """Judge a batch.

    3: a case could not be read, none was scored, or one was left unscored and `allow_unscored` is not given. Else, with
    `max_mean_loss`: 0 where the mean loss of the scored cases is at most that, 1 where not. Else by labels: 1 with a Fail,
    2 with a Review (or Warn), 0 where all pass.
    """
    labels, scored = report.label_distribution, report.scored_cases
    unscored = report.total_cases - scored
    if report.errors:
        return Verdict("ERROR", f"{counted(len(report.errors), 'problem')}, {counted(scored, 'case')} scored", EXIT_ERROR)
    if report.loss is None or not scored:
        return Verdict("ERROR", "no case was scored", EXIT_ERROR)
    if unscored and not allow_unscored:
        codes = ", ".join(f"{code} {count}" for code, count in report.unscored.items())
        return Verdict("ERROR", f"{unscored} of {counted(report.total_cases, 'case')} not scored ({codes})", EXIT_ERROR)
    if max_mean_loss is not None:
        told = f"mean loss {report.loss.mean:.4f} of {counted(scored, 'case')}, at most {max_mean_loss:.4g} asked"
        return Verdict("PASS", told, EXIT_PASS) if report.loss.mean <= max_mean_loss + ROUNDING else Verdict("FAIL", told, EXIT_FAIL)
    if labels.Fail:
        return Verdict("FAIL", f"{labels.Fail} of {counted(scored, 'case')} failed", EXIT_FAIL)
    if labels.Pass < scored:
        return Verdict("REVIEW", f"{scored - labels.Pass} of {counted(scored, 'case')} to review, none failed", EXIT_REVIEW)
    return Verdict("PASS", f"{counted(scored, 'case')} passed", EXIT_PASS)
