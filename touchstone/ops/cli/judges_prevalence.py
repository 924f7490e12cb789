"""`touchstone judges prevalence`: how many cases fail, corrected for the errors of the judge that says so."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli.common.shared import ConfigOption, JsonOption, one_line_errors, settings_from
from touchstone.ops.cli.judges import SubjectArgument, judges

if TYPE_CHECKING:
    from touchstone.schemas.calibration import Basis, Calibration

EXIT_REFUSED = 1


@judges.command()
def prevalence(
    subject: SubjectArgument,
    files: Annotated[list[str], typer.Argument(metavar="FILE|DIR", help="Cases that nobody has reviewed, as the judge would meet them.")],
    as_json: JsonOption = False,
    config: ConfigOption = None,
) -> None:
    """Ask a judge about cases in files, and correct the rate at which it fails them for the errors that its calibration found.

    Exit codes: 0 a rate, 1 none can be had, 3 an error.

    Example: touchstone judges prevalence safe_v0 batches/
    """
    from touchstone.ops.cli.common.judged import judge_of
    from touchstone.ops.cli.common.labelled import FileCases
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.calibration.folder import read_calibration

    settings = settings_from(config)
    with one_line_errors():
        calibration = read_calibration(settings.judges.folder, subject)
        if calibration is None:
            raise ConfigError(f"{subject} was never calibrated; run touchstone judges calibrate {subject} --test")
        judge, basis = judge_of(subject, calibration.review_as)
        _refuse_stale(calibration, basis)
        verdicts = FileCases(files, settings).every_verdict(judge)
        # Only an answer says which model gives it.
        _refuse_stale(calibration, basis.model_copy(update={"model": judge.model}))
    said = [one for one in verdicts.values() if isinstance(one, bool)]
    _report(_document(calibration, sum(said), len(said), len(verdicts) - len(said)), as_json=as_json)


def _refuse_stale(calibration: "Calibration", now: "Basis") -> None:
    """Refuse a judge that is another than was measured: its errors are not known. Raises `ConfigError`."""
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.calibration.folder import DECIDING, stale

    if changed := stale(calibration, now, DECIDING):
        raise ConfigError(f"{'; '.join(changed)}; calibrate it again, or set back what changed")


def _document(calibration: "Calibration", failed: int, total: int, unjudged: int) -> dict[str, Any]:
    """The rate, or why there is none."""
    from touchstone.scorers.calibration.folder import recalls_of
    from touchstone.scorers.calibration.prevalence import UncorrectableError, corrected
    from touchstone.scorers.reporting import Rate

    seen = Rate(failed, total)
    known = {"subject": calibration.subject, "seen": {"count": failed, "total": total}, "unjudged": unjudged, "calibration_at": calibration.at.isoformat()}
    if calibration.test is None:
        return known | {"refused": f"its test set was not read; run touchstone judges calibrate {calibration.subject} --test"}
    try:
        found = corrected(seen, recalls_of(calibration.test))
    except UncorrectableError as error:
        return known | {"refused": str(error)}
    return known | {"corrected": found.corrected, "low": found.interval.low, "high": found.interval.high}


def _report(document: dict[str, Any], *, as_json: bool) -> None:
    """Print it, and end with its exit code."""
    import json

    if as_json:
        typer.echo(json.dumps(document, indent=2))
    else:
        seen = document["seen"]
        share = f"{seen['count'] / seen['total']:.1%}" if seen["total"] else "–"
        typer.echo(f"{document['subject']}, calibrated {document['calibration_at'][:10]}")
        typer.echo(f"  the judge fails  {share} ({seen['count']} of {seen['total']} cases)")
        if document["unjudged"]:
            typer.echo(f"  without verdict  {document['unjudged']} cases, not counted")
        if "refused" not in document:
            typer.echo(f"  corrected        {document['corrected']:.1%} (95% interval {document['low']:.1%} to {document['high']:.1%})")
    if "refused" in document:
        typer.echo(f"REFUSED: {document['refused']}", err=True)
        raise typer.Exit(EXIT_REFUSED)
