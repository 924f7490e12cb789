"""`touchstone judges`: judges against people. Measures them, and says which may decide labels."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import Format
from touchstone.ops.cli.common.shared import ConfigOption, JsonOption, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.cli.common.labelled import Judge, LabelledCases
    from touchstone.ops.reviews.annotations import FileAnnotations, StoreAnnotations
    from touchstone.schemas.settings.house import Settings
    from touchstone.scorers.reporting import Verdict

judges = typer.Typer(help="Judges against people: measure them, and say which may decide labels.", no_args_is_help=True)
app.add_typer(judges, name="judges")


class ReviewAsOption(StrEnum):
    """What the labels Review and Warn of a suite count as."""

    fail = "fail"
    pass_ = "pass"  # noqa: S105  # a verdict
    leave_out = "leave-out"


SubjectArgument = Annotated[str, typer.Argument(metavar="SUBJECT", help="A judge, as SUITE/NAME, or a suite, whose label is held against people.")]
AnnotationsOption = Annotated[
    Path | None, typer.Option("--annotations", help="A file such as eval-results/annotations.json. Default: the store.", show_default=False)
]
OutputOption = Annotated[Path | None, typer.Option("--output", "-o", help="File to write. Default: standard output.", show_default=False)]
ByOption = Annotated[str | None, typer.Option("--by", help="Who decides, for the history.", show_default=False)]


@judges.command()
def calibrate(
    subject: SubjectArgument,
    traces: Annotated[
        list[str] | None, typer.Option("--traces", help="File or folder of cases (repeatable). Default: the archive.", show_default=False)
    ] = None,
    annotated: AnnotationsOption = None,
    test: Annotated[bool, typer.Option("--test", help="Read the test set, once: the figures that decide. Without it, only the dev set is read.")] = False,
    again: Annotated[bool, typer.Option("--again", help="With --test: read it another time. This is recorded, and makes the figures too good.")] = False,
    review_as: Annotated[ReviewAsOption, typer.Option(help="Suites: what the labels Review and Warn count as.")] = ReviewAsOption.pass_,
    seed: Annotated[int | None, typer.Option(min=0, help="Of the split, at the first calibration. Default: 0.", show_default=False)] = None,
    gate: Annotated[bool, typer.Option("--gate", help="Exit 1 if the judge may not decide labels.")] = False,
    format: Annotated[Format, typer.Option("--format", "-f", help="console, markdown, html or json.")] = Format.console,
    output: OutputOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Measure how well a judge, or a suite's label, agrees with people.

    Patients are split into train, dev and test, and keep their part. Exit codes: 0 measured, 1 with --gate below the floor, 3 an error.

    Example: touchstone judges calibrate safe_v0 --traces batches/ --test
    """
    from touchstone.ops.cli.common.terminal import has_colour, width_of
    from touchstone.ops.reports.writing import check_output, stoppable, write_report
    from touchstone.ops.reviews.calibrating import calibrate as measured
    from touchstone.ops.reviews.calibrating import seed_of
    from touchstone.ops.reviews.calibration_report import calibration_pieces, calibration_view, promotion_verdict
    from touchstone.scorers.calibration.measure import Plan
    from touchstone.scorers.calibration.truth import labels_of
    from touchstone.scorers.reporting import LayoutOptions

    if format is Format.junit:
        raise typer.BadParameter("a calibration has no JUnit form", param_hint="--format")
    if again and not test:
        raise typer.BadParameter("it goes with --test", param_hint="--again")
    settings = settings_from(config, store__url=store)
    with one_line_errors(), store_errors(), stoppable(), _annotations(annotated, settings) as annotations:
        check_output(output)
        judge, basis = _judge(subject, review_as)
        truth = labels_of(annotations.read(), subject)
        cases = _cases(traces, annotations, settings)
        limits, root = settings.judges, settings.judges.folder
        plan = Plan(
            subject=subject,
            at=datetime.now(UTC),
            basis=basis.model_copy(update={"guideline": truth.guideline, "labels": truth.digest}),
            seed=seed_of(root, subject, seed),
            floor=limits.floor,
            least=limits.least,
            reads_test=test,
            test_reads=0,
            review_as=judge.review_as,
        )
        known = cases.known(judge, [one.trace_id for one in truth.labels])
        done = measured(root, plan, truth, known, lambda wanted: (cases.verdicts(judge, wanted), judge.model), again=again)
        verdict = promotion_verdict(done.calibration, gate=gate)
        view = calibration_view(done.calibration, annotations.place)
        write_report(
            calibration_pieces(done.calibration, view, format.value, LayoutOptions(verdict, colour=has_colour(output), width=width_of(output))), output
        )
    if not done.kept:
        typer.echo("touchstone: the earlier measurement on the test set stays; this one read the dev set alone", err=True)
    _end(verdict, quiet=format is not Format.json and output is None)


@judges.command(name="list")
def list_judges(annotated: AnnotationsOption = None, as_json: JsonOption = False, store: StoreOption = None, config: ConfigOption = None) -> None:
    """List every judge and suite: its state, its recalls, how old they are, and what changed since.

    Example: touchstone judges list
    """
    import json

    from touchstone.ops.cli.common.judged import lines_of, standing
    from touchstone.ops.cli.common.shared import until_read_no_more

    settings = settings_from(config, store__url=store)
    with one_line_errors(), store_errors():
        found = standing(settings, annotated)
    with until_read_no_more():
        if as_json:
            typer.echo(json.dumps([one.document() for one in found], indent=2))
        else:
            for line in lines_of(found):
                typer.echo(line)


@judges.command()
def promote(
    subject: SubjectArgument,
    force: Annotated[bool, typer.Option("--force", help="Promote it below its floor, or with new labels; needs --reason, and is recorded.")] = False,
    reason: Annotated[str | None, typer.Option(help="Why it is forced.", show_default=False)] = None,
    by: ByOption = None,
    annotated: AnnotationsOption = None,
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Let a judge decide labels. Refused (exit 1) below its floor, if anything changed since it was measured, or if the test set was not read.

    Example: touchstone judges promote failure_modes/missing_key_lab
    """
    from touchstone.ops.cli.common.judged import now_of
    from touchstone.ops.reviews.calibrating import promote as promoted
    from touchstone.scorers.base import ConfigError

    settings = settings_from(config, store__url=store)
    with one_line_errors(), store_errors():
        if force and not (reason or "").strip():
            raise ConfigError("--force needs --reason TEXT: the history says why")
        judge, basis = _judge(subject)
        _refuse_suites(judge, subject)
        now = now_of(subject, basis, settings, annotated)
        verdict = promoted(settings.judges.folder, subject, now, datetime.now(UTC), by=by, force=reason if force else None)
    _end(verdict)


@judges.command()
def demote(
    subject: SubjectArgument,
    reason: Annotated[str | None, typer.Option(help="Why, for the history.", show_default=False)] = None,
    by: ByOption = None,
    config: ConfigOption = None,
) -> None:
    """Put a judge into the shadow: it is asked and counted, and decides no label.

    Example: touchstone judges demote failure_modes/missing_key_lab
    """
    from touchstone.ops.reviews.calibrating import demote as demoted

    settings = settings_from(config)
    with one_line_errors():
        judge, _ = _judge(subject)
        _refuse_suites(judge, subject)
        verdict = demoted(settings.judges.folder, subject, datetime.now(UTC), by=by, reason=reason)
    _end(verdict)


def _judge(subject: str, review_as: ReviewAsOption = ReviewAsOption.pass_) -> "tuple[Judge, Any]":
    """What a subject names, and what it decides by. Raises `ConfigError`."""
    from touchstone.ops.cli.common.judged import judge_of

    return judge_of(subject, review_as.value)


def _refuse_suites(judge: "Judge", subject: str) -> None:
    from touchstone.scorers.base import ConfigError

    if not judge.name:
        raise ConfigError(f"{subject} is a suite: its specification says what its label is, so it is neither promoted nor demoted; its judges are")


def _end(verdict: "Verdict", *, quiet: bool = False) -> None:
    """Print the verdict, unless the report has it, and end with its exit code."""
    from touchstone.ops.cli.common.shared import one_line

    if not quiet:
        typer.echo(one_line(f"{verdict.word}: {verdict.reason}"), err=True)
    raise typer.Exit(verdict.exit_code)


@contextmanager
def _annotations(file: Path | None, settings: "Settings") -> "Iterator[FileAnnotations | StoreAnnotations]":
    """The annotations of a file, or of the store."""
    from touchstone.ops.reviews.annotations import FileAnnotations, StoreAnnotations
    from touchstone.ops.store.results import ResultStore

    if file is not None:
        yield FileAnnotations(file)
        return
    results = ResultStore.open(settings.store.url.get_secret_value())
    try:
        yield StoreAnnotations(results)
    finally:
        results.close()


def _cases(traces: list[str] | None, annotations: "FileAnnotations | StoreAnnotations", settings: "Settings") -> "LabelledCases":
    from touchstone.ops.cli.common.labelled import FileCases, StoredCases
    from touchstone.ops.reviews.annotations import StoreAnnotations
    from touchstone.scorers.base import ConfigError

    if traces:
        return FileCases(traces, settings)
    if not isinstance(annotations, StoreAnnotations):
        raise ConfigError("with a file of annotations, name the files of their cases with --traces")
    return StoredCases(annotations, settings)
