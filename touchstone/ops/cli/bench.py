"""`touchstone bench`: measures the checks on labelled files, against the official validator, or on changes of our own."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.shared import JsonOption, fail, one_line_errors, until_read_no_more

if TYPE_CHECKING:
    from touchstone.ops.lab.agreement.sources import Source

bench_app = Group(name="bench", help="Measure how good the checks are, against labels and against other validators.", no_args_is_help=True)
app.add_typer(bench_app)

DataOption = Annotated[Path | None, typer.Option("--data", help="Folder of labelled files: fhir/, hl7v2/, packages/ (docs/agreement.md).", show_default=False)]
OracleOption = Annotated[
    bool, typer.Option("--oracle", help="Compare with the official FHIR validator (Java), on the files and folders given.", show_default=False)
]
FilesArgument = Annotated[list[Path] | None, typer.Argument(help="With --oracle: FHIR files, traces, or folders of them.", show_default=False)]
MutationsOption = Annotated[int, typer.Option("--mutations", min=0, max=100_000, help="With --oracle: also this many seeded mutations of the resources.")]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of what is changed: the same seed gives the same changes.")]
PackagesOption = Annotated[
    list[Path] | None,
    typer.Option("--packages", help="Folder with the package hl7.fhir.r4.core. Default: ~/.fhir/packages, else made from npm's.", show_default=False),
]
QuoteOption = Annotated[bool, typer.Option("--quote/--withhold", help="Show the messages' text, which may quote the documents.")]
TellUnseenOption = Annotated[bool, typer.Option("--tell-unseen", help="With --data: also list which official cases that were never looked at differ.")]
WarningsOption = Annotated[bool, typer.Option("--warnings", help="Also list warnings and hints, which do not count towards a verdict.")]


@bench_app.callback()
def bench() -> None:
    """Measure how good the checks are, against labels and against other validators."""


@bench_app.command()
def agreement(
    files: FilesArgument = None,
    data: DataOption = None,
    oracle: OracleOption = False,
    mutations: MutationsOption = 0,
    seed: SeedOption = 1,
    packages: PackagesOption = None,
    quote: QuoteOption = False,
    warnings: WarningsOption = False,
    tell_unseen: TellUnseenOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare Touchstone's verdicts with labelled files, or with the official FHIR validator.

    Exit codes: 0 measured, whatever the result; 3 an error, such as a validator that cannot be started or stops answering.

    Example: touchstone bench agreement --data DIR

    Example: touchstone bench agreement --oracle bundle.json --mutations 500
    """
    if (data is None) == (not oracle):
        fail("give --data DIR for labelled files, or --oracle FILE|DIR… for the official validator")
    if data is not None and files:
        fail("--data takes no files; --oracle does")
    if not oracle and (mutations or packages):
        fail("--mutations and --packages need --oracle")
    from touchstone.ops.cli.common.progress import working

    with one_line_errors():
        if data is not None:
            from touchstone.ops.lab.agreement.run import as_text, measured

            with working() as say:
                found = measured(data, say, tell_unseen=tell_unseen)
        else:
            from touchstone.ops.lab.agreement.report import as_text

            found = _beside_the_oracle(files or [], packages or [], mutations, seed, quote=quote, warnings=warnings)
    with until_read_no_more():
        typer.echo(_json(found) if as_json else as_text(found), nl=False)


@bench_app.command()
def consistency(
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Folder with crossformat/, hl7v2/ and ccda/ (docs/consistency.md). Default: the suite's sample patients.", show_default=False
        ),
    ] = None,
    seed: SeedOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Measure the cross-format check: contradictions put into pairs of documents, and rewritings that say the same.

    Exit codes: 0 measured, whatever the result; 3 an error, such as a folder without pairs.

    Example: touchstone bench consistency

    Example: touchstone bench consistency --data DIR
    """
    from touchstone.ops.cli.common.progress import working
    from touchstone.ops.lab.consistency.run import as_text, measured

    with one_line_errors(), working() as say:
        found = measured(data, seed, say)
    with until_read_no_more():
        typer.echo(_json(found) if as_json else as_text(found), nl=False)


def _beside_the_oracle(files: list[Path], packages: list[Path], mutations: int, seed: int, *, quote: bool, warnings: bool) -> dict[str, Any]:
    """Start the official validator, compare, stop it. Raises `ConfigError`."""
    from touchstone.ops.cli.common.progress import working
    from touchstone.ops.lab.agreement.sources import sources
    from touchstone.ops.local.fhir_validator.server import FhirValidator

    found = sources(files)  # a mistyped path should not cost the start of a JVM
    server = FhirValidator(packages=packages)
    try:
        with working() as say:
            say("starting the official validator")
            client = server.start()
        return _compared(found, client, mutations, seed, quote=quote, warnings=warnings)
    finally:
        server.stop()


def _compared(found: "list[Source]", client: Any, mutations: int, seed: int, *, quote: bool, warnings: bool) -> dict[str, Any]:
    from touchstone.ops.cli.common.progress import Progress
    from touchstone.ops.lab.agreement.oracle import documents, mutated

    with Progress("documents compared", sys.stderr, total=len(found), every=1) as progress:
        told: dict[str, Any] = {"oracle": documents(found, client, quote=quote, warnings=warnings, step=progress.step)}
    if mutations:
        with Progress("mutations compared", sys.stderr, total=mutations, every=1) as progress:
            told["mutations"] = mutated(found, client, mutations, seed, quote=quote, step=progress.step)
    return told


def _json(found: dict[str, Any]) -> str:
    import orjson

    return orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
