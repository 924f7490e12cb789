"""`touchstone eval`: runs of test prompts against a system, and clinical documents and traces in files."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.options import AgainstOptions, GateOptions, JobsAsNeededOption, ReportOptions
from touchstone.ops.cli.common.shared import fail, one_line, one_line_errors, refuse_unknown_variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from touchstone.ops.batch.sources import Source
    from touchstone.ops.evaluation.external import Outside
    from touchstone.ops.evaluation.items import Field, Item
    from touchstone.ops.evaluation.settings import SystemSettings
    from touchstone.schemas.reports.evaluation import Expectations
    from touchstone.schemas.trace import ProductionTrace
    from touchstone.scorers.clinical.batch import ClinicalReport
    from touchstone.scorers.clinical.curated import CuratedCase
    from touchstone.scorers.clinical.settings import ClinicalSettings
    from touchstone.scorers.scoring import Scoring

eval_app = Group(name="eval", no_args_is_help=True)
app.add_typer(eval_app)

FilesArgument = Annotated[list[str], typer.Argument(metavar="FILE|DIR", help="Files, directories of them, or - for standard input.")]
FormatsOption = Annotated[
    str | None, typer.Option("--formats", help="Validate only these: fhir, hl7v2, ccda, separated by commas. Default: the setting (all).", show_default=False)
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Console: list every finding by its check, rules that fired, and what was not checked.")]
QuoteOption = Annotated[bool | None, typer.Option("--quote/--withhold", help="Quote in each finding the value that it is about.", show_default=False)]
ProfileOption = Annotated[
    list[str] | None, typer.Option("--profile", help="Profile (canonical URL) that every resource of its type must conform to; repeatable.", show_default=False)
]
PackageOption = Annotated[
    list[Path] | None, typer.Option("--package", help="FHIR package: a folder or .tgz file, beside ~/.fhir/packages; repeatable.", show_default=False)
]
Hl7v2ProfileOption = Annotated[
    list[Path] | None,
    typer.Option("--hl7v2-profile", help="HL7 v2 conformance profile in NIST's XML: its PROFILE.xml or a folder; repeatable.", show_default=False),
]
SuppressOption = Annotated[Path | None, typer.Option("--suppress", help="List of known issues (TOML or JSON) whose findings do not count.", show_default=False)]
MinPassRateOption = Annotated[
    float | None, typer.Option("--min-pass-rate", min=0.0, max=1.0, help="Gate: exit 0 if this share (0-1) passes, else 1.", show_default=False)
]
ClinicalConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings file. Default: ./clinical.config.json.", show_default=False)]


#: Where reports, traces and the state of runs go.
OUTPUT_DEFAULT = Path("eval-results")


@dataclass(frozen=True, slots=True)
class TestOptions:
    """Which tests are run; exactly one is given."""

    batch: Annotated[bool, typer.Option("--batch", "-b", help="Run all curated test cases.")] = False
    category: Annotated[str | None, typer.Option("--category", "-c", help="Run the test cases of one category.", show_default=False)] = None
    prompt: Annotated[str | None, typer.Option("--prompt", "-p", help="Evaluate one prompt.", show_default=False)] = None
    prompts_file: Annotated[
        Path | None, typer.Option("--prompts-file", "-P", help="Evaluate the prompts of a CSV file: one a line, or a column `prompt`.", show_default=False)
    ] = None
    cases: Annotated[
        Path | None, typer.Option(help="Run the cases of a file that `errors to-cases` wrote: each fails while its failure persists.", show_default=False)
    ] = None


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """The system under test, and how it is asked."""

    formats: Annotated[str, typer.Option("--formats", "-f", help="Formats to generate and score, separated by commas.")] = "fhir,ccda,hl7v2"
    system: Annotated[
        str | None, typer.Option(help="System under test: base URL, directory of outputs, or samples. Default: the settings.", show_default=False)
    ] = None
    concurrency: Annotated[int | None, typer.Option(min=1, max=64, help="Tests in flight. Default: 4.", show_default=False)] = None
    config: Annotated[Path | None, typer.Option(help="Settings of the system under test. Default: ./eval.config.json.", show_default=False)] = None


@dataclass(frozen=True, slots=True)
class JudgingOptions:
    """Who scores the outputs, beside the validators."""

    no_judge: Annotated[bool, typer.Option("--no-judge", help="Score without the LLM judge.")] = False
    conformance: Annotated[bool, typer.Option("--conformance", help="Ask external validators, too: HL7's for FHIR, ONC's for C-CDA.")] = False


@eval_app.callback(invoke_without_command=True)
def evaluate(
    context: typer.Context,
    tests: TestOptions,
    asked: SystemOptions,
    judging: JudgingOptions,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List every finding, expectation and step.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory of JSON reports, traces and the state of runs.")] = OUTPUT_DEFAULT,
    save_traces: Annotated[bool, typer.Option("--save-traces", "-t", help="Save each trace, with persona and documents, below OUTPUT/traces.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the newest unfinished run of the same tests, system and settings.")] = False,
    min_pass_rate: MinPassRateOption = None,
) -> None:
    """Generated patients: run test prompts against a system and score what it generates, or validate files.

    Exit codes: 0 all tests pass, 1 at least one Fail, 2 no Fail but a Warn, 3 an error or a test that could not be evaluated. The report goes to standard
    output, and as JSON to the output directory; progress goes to standard error.

    Example: touchstone eval --batch --system samples --no-judge
    """
    if context.invoked_subcommand is not None:
        sources = (context.get_parameter_source(name) for name in context.params)
        if any(source is not None and source.name == "COMMANDLINE" for source in sources):
            fail(f"options before {context.invoked_subcommand} are those of a run; write them behind it, or leave {context.invoked_subcommand} out")
        return
    refuse_unknown_variables()
    from touchstone.ops.cli.common.evaluating import run_evaluation
    from touchstone.ops.evaluation.run import Plan
    from touchstone.scorers.reporting import Gate

    with one_line_errors():
        wanted = _system_settings(asked)
        items, known = _tests(tests)
        scorings, notes = _scorings(asked.formats, no_judge=judging.no_judge)
        plan = Plan(
            items=items,
            formats=tuple(dict.fromkeys(_formats(asked.formats))),  # type: ignore[arg-type]  # checked to be these
            output=output,
            save_traces=save_traces,
            conformance=_outside() if judging.conformance else None,
            resume=resume,
            judge=not judging.no_judge,
            concurrency=wanted.concurrency,
            notes=notes,
            further=_for_modes(no_judge=judging.no_judge) if any(one.modes for one in items) else (),
        )
        run_evaluation(plan, wanted, scorings, _curated_field(known), Gate(min_pass_rate), verbose=verbose)


def _tests(tests: TestOptions) -> "tuple[tuple[Item, ...], Mapping[str, CuratedCase]]":
    """The tests to run, and what those of them expect that expect something. Ends with exit 3 unless exactly one kind is asked for."""
    from touchstone.scorers.clinical.curated import curated_cases

    if sum((tests.batch, tests.category is not None, tests.prompt is not None, tests.prompts_file is not None, tests.cases is not None)) != 1:
        fail("give one of --batch, --category NAME, --prompt TEXT, --prompts-file FILE and --cases FILE")
    if tests.cases is not None:
        return _regressions(tests.cases)
    return _items(tests), {case.id: case for case in curated_cases()}


def _regressions(path: Path) -> "tuple[tuple[Item, ...], Mapping[str, CuratedCase]]":
    """The cases of a file of regressions. Raises `ConfigError`, which quotes no prompt."""
    from pydantic import ValidationError

    from touchstone.ops.evaluation.regressions import items_of, read_cases
    from touchstone.schemas.faults import explain
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.clinical.curated import CuratedCase

    cases = read_cases(path).cases
    if not cases:
        raise ConfigError(f"{path} has no case; `touchstone errors to-cases` makes some of coded failures")
    known = {}
    for one in cases:
        try:
            # The fields that its expectations need; the others are the file's own.
            known[one.id] = CuratedCase.model_validate(
                {"id": one.id, "category": "regression", "prompt": one.prompt, "expected": one.expected, "minimum": one.minimum}
            )
        except ValidationError as error:
            raise ConfigError(f"{path}: {one.id}: {explain(error, CuratedCase)}") from None
    return items_of(cases), known


def _for_modes(*, no_judge: bool) -> "tuple[Scoring, ...]":
    """The suite that looks for failure modes. `no_judge`: only with those that code answers. Raises `ConfigError`."""
    from touchstone.scorers.clinical.failure_modes import SUITE, resolve
    from touchstone.scorers.scoring import Scoring
    from touchstone.scorers.suite_settings import read_suite_document

    settings = resolve(os.environ, read_suite_document(SUITE))
    if no_judge:
        settings = settings.model_copy(update={"judge": settings.judge.model_copy(update={"enabled": False})})
    return (Scoring(SUITE, settings),)


def _items(tests: TestOptions) -> "tuple[Item, ...]":
    """The tests of the options other than a file of cases."""
    from touchstone.ops.evaluation.items import Item
    from touchstone.ops.evaluation.prompts import check_prompt, read_prompts
    from touchstone.scorers.clinical.curated import curated_cases

    if tests.prompt is not None:
        return (Item(id="prompt", prompt=check_prompt("--prompt", tests.prompt), place="--prompt"),)
    if tests.prompts_file is not None:
        return read_prompts(tests.prompts_file)
    chosen = [case for case in curated_cases() if tests.category in {None, case.category}]
    if not chosen:
        fail(f"--category: give one of {', '.join(dict.fromkeys(case.category for case in curated_cases()))}")
    return tuple(Item(id=case.id, prompt=case.prompt, place="curated", category=case.category, minimum=case.least) for case in chosen)


def _system_settings(asked: SystemOptions) -> "SystemSettings":
    """Command line > environment > document > defaults."""
    from touchstone.ops.evaluation.settings import DOCUMENT_NAME, resolve, system_override
    from touchstone.scorers.clinical.curated import SAMPLE_OUTPUTS
    from touchstone.scorers.json_documents import read_document, read_document_if_present

    path = asked.config or Path(DOCUMENT_NAME)
    document = read_document(path) if asked.config else read_document_if_present(path)
    system = asked.system
    if system == "samples" and not Path(system).exists():
        system = str(SAMPLE_OUTPUTS)
    overrides = ({} if system is None else system_override(system)) | ({} if asked.concurrency is None else {"concurrency": asked.concurrency})
    return resolve(os.environ, document, overrides, document_name=str(path))


def _scorings(formats: str, *, no_judge: bool) -> "tuple[tuple[Scoring, ...], tuple[str, ...]]":
    """The validators' scoring and, where there is a judge to ask, the judge's; and what is left out, and why. Raises `ConfigError`."""
    from touchstone.scorers.clinical import SUITE
    from touchstone.scorers.clinical.judging import SUITE as JUDGE
    from touchstone.scorers.clinical.judging import resolve
    from touchstone.scorers.registry import missing_libraries
    from touchstone.scorers.scoring import Scoring
    from touchstone.scorers.suite_settings import read_suite_document

    settings = _settings(None, formats=formats, quote=None, profiles=None, packages=None)
    validators = Scoring(SUITE, settings)
    why = "--no-judge"
    if not no_judge:
        own = resolve(os.environ, read_suite_document(JUDGE))
        why = own.judge.why_unusable or missing_libraries(JUDGE.requires) or ""
        if not why:
            return (validators, Scoring(JUDGE, own.model_copy(update={"validators": settings}))), ()
    return (validators,), (f"Clinical: not scored ({why}); the weights of the others are renormalised",)


def _outside() -> "Outside":
    """The validators outside that an evaluation asks: those of the suite `clinical_conformance`. Raises `ConfigError`."""
    from touchstone.ops.evaluation.external import Outside
    from touchstone.scorers.clinical.conformance import SUITE, resolve
    from touchstone.scorers.clinical.conformance.evaluation import conformance_checks, conformance_of
    from touchstone.scorers.suite_settings import read_suite_document

    return Outside(conformance_checks(resolve(os.environ, read_suite_document(SUITE))), conformance_of)


def _curated_field(cases: "Mapping[str, CuratedCase]") -> "Field":
    """Codes for personas, and the expectations of these cases."""
    from touchstone.ops.evaluation.items import Field
    from touchstone.scorers.clinical.curated import check_expectations, enriched
    from touchstone.scorers.clinical.words import DIMENSIONS

    def expect(item: "Item", trace: "ProductionTrace") -> "Expectations | None":
        return check_expectations(cases[item.id], trace) if item.place in {"curated", "regression"} else None

    return Field(enriched, expect, DIMENSIONS, "clinical")


@eval_app.command()
def validate(
    files: FilesArgument,
    written: ReportOptions,
    gates: GateOptions,
    compared: AgainstOptions,
    formats: FormatsOption = None,
    verbose: VerboseOption = False,
    quote: QuoteOption = None,
    jobs: JobsAsNeededOption = None,
    profile: ProfileOption = None,
    package: PackageOption = None,
    hl7v2_profile: Hl7v2ProfileOption = None,
    suppress: SuppressOption = None,
    config: ClinicalConfigOption = None,
) -> None:
    """Validate clinical files of any mix and report them; the format of each is recognised from its content.

    Directories are walked in name order; a file of no known format found there is listed and not counted. Exit codes: 0 all pass, 1 at least one
    Fail, 2 no Fail but a Warn or a file that was not validated, 3 a file that could not be read, or nothing to validate. The report goes to
    standard output or to a file, everything else to standard error.

    Example: touchstone eval validate patient.json adt.hl7 traces/ --format json
    """
    from touchstone.ops.batch.run import Run
    from touchstone.ops.batch.sources import find_sources
    from touchstone.ops.cli.common.scoring import ReportRequest, earlier_report, end_with, jobs_for, paths_of, run_files, write_report_in_formats
    from touchstone.ops.cli.common.terminal import is_on_same_terminal
    from touchstone.scorers.clinical import SUITE

    with one_line_errors():
        settings = _settings(config, formats=formats, quote=quote, profiles=profile, packages=package, hl7v2_profiles=hl7v2_profile, suppress=suppress)
        paths = paths_of(files)
        places = written.places()
        earlier = earlier_report(SUITE, compared)

        def sources() -> "Iterator[Source]":
            return find_sources(paths, any_file=True, missing_is_error=False)

        run = Run(SUITE, settings, jobs or jobs_for(sources()))
        report, _ = run_files(run, sources, "files validated", places=places)
        request = ReportRequest(places=places, gate=gates.gate(), earlier=earlier, max_drop=compared.max_drop, verbose=verbose, readings=run.readings())
        verdict = write_report_in_formats(SUITE, report, request)
    if not is_on_same_terminal(*places[0]):
        _complain(report)
    end_with(SUITE, verdict)


def _settings(
    config: Path | None,
    *,
    formats: str | None,
    quote: bool | None,
    profiles: list[str] | None,
    packages: list[Path] | None,
    hl7v2_profiles: list[Path] | None = None,
    suppress: Path | None = None,
) -> "ClinicalSettings":
    """Command line > environment > document > defaults."""
    from touchstone.scorers.clinical.settings import DOCUMENT_NAME, resolve
    from touchstone.scorers.json_documents import read_document, read_document_if_present

    path = config or Path(DOCUMENT_NAME)
    document = read_document(path) if config else read_document_if_present(path)
    overrides: dict[str, Any] = {}
    if formats is not None:
        overrides["formats"] = _formats(formats)
    if quote is not None:
        overrides["quote"] = quote
    fhir = {"profiles": profiles, "packages": packages}
    overrides |= {"fhir": given} if (given := {name: value for name, value in fhir.items() if value}) else {}
    overrides |= {"hl7v2": {"profiles": hl7v2_profiles}} if hl7v2_profiles else {}
    overrides |= {"suppress": suppress} if suppress is not None else {}
    return resolve(os.environ, document, overrides, document_name=str(path))


def _complain(report: "ClinicalReport") -> None:
    """Print on standard error which files count and were not validated, a line each."""
    for line in report.not_validated:
        typer.echo(one_line(line), err=True)
    if report.not_validated_more:
        typer.echo(one_line(f"and {report.not_validated_more} more; the JSON report lists all"), err=True)


def _formats(text: str) -> list[str]:
    """The names in a list of formats, in any case."""
    from touchstone.schemas.trace import CLINICAL_FORMATS

    names = [name for part in text.split(",") if (name := part.strip().casefold())]
    if not names or not set(names) <= set(CLINICAL_FORMATS):
        fail(f"--formats: give one or more of {', '.join(CLINICAL_FORMATS)}, separated by commas")
    return names
