"""`touchstone loss`: Loss V3 over generated summaries in files."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.groups import Group
from touchstone.ops.cli.common.options import AgainstOptions, ReportOptions
from touchstone.ops.cli.common.shared import one_line_errors

if TYPE_CHECKING:
    from touchstone.scorers.summary.settings import SummarySettings

loss_app = Group(name="loss", help="Loss V3: score generated summaries against their gold standards.", no_args_is_help=True)
app.add_typer(loss_app)


class Support(StrEnum):
    """How support of a statement is measured."""

    auto = "auto"
    nli = "nli"
    nli_lexical = "nli+lexical"
    calibrated = "calibrated"
    judge = "judge"


FilesArgument = Annotated[list[str], typer.Argument(help="Files of summary events, directories of them, or - for standard input.")]
WorstOption = Annotated[int, typer.Option("--worst", min=0, help="List this many of the highest losses.")]
LossConfigOption = Annotated[Path | None, typer.Option("--config", help="Settings file. Default: ./summary.config.json.", show_default=False)]
GoldOption = Annotated[Path | None, typer.Option("--gold", help="File of gold standards that `gold_ref` refers to.", show_default=False)]
SupportOption = Annotated[Support | None, typer.Option("--support", help="What counts as support of a fact. Default: the setting.", show_default=False)]
QuoteOption = Annotated[bool | None, typer.Option("--quote/--withhold", help="Quote facts and sentences in the details.", show_default=False)]
EvidenceOption = Annotated[bool | None, typer.Option("--evidence/--no-evidence", help="Details: which sentence supported which fact.", show_default=False)]
GateOption = Annotated[
    float | None,
    typer.Option("--max-mean-loss", min=0.0, max=1.0, help="Gate: exit 0 if the mean loss is at most this, else 1, whatever the labels.", show_default=False),
]
UnscoredOption = Annotated[bool, typer.Option("--allow-unscored", help="Report cases that cannot be scored (no gold, empty, …) without failing.")]


@loss_app.callback()
def loss() -> None:
    """Loss V3: score generated summaries against their gold standards."""


@loss_app.command()
def score(
    files: FilesArgument,
    written: ReportOptions,
    compared: AgainstOptions,
    worst: WorstOption = 5,
    gold: GoldOption = None,
    support: SupportOption = None,
    evidence: EvidenceOption = None,
    quote: QuoteOption = None,
    max_mean_loss: GateOption = None,
    allow_unscored: UnscoredOption = False,
    config: LossConfigOption = None,
) -> None:
    """Score generated summaries and report their losses; 0 is best, 1 is worst.

    A file is a JSON array, JSON lines or {"cases": […]} of summary events. Exit codes: 0 all pass, 1 at least one Fail, 2 no Fail but a Review, 3 an
    error or a case that was not scored. The report goes to standard output or to a file, everything else to standard error.

    Example: touchstone loss score summaries.jsonl --gold golds.jsonl --worst 10
    """
    from touchstone.ops.batch.run import Run
    from touchstone.ops.batch.sources import find_sources
    from touchstone.ops.cli.common.scoring import (
        ReportRequest,
        earlier_report,
        end_with,
        paths_of,
        print_left_out,
        print_problems,
        run_files,
        write_report_in_formats,
    )
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.reporting import Gate
    from touchstone.scorers.summary import SUITE

    with one_line_errors():
        places = written.places()
        earlier = earlier_report(SUITE, compared)
        settings = settings_of(config, _overrides(gold, support, evidence, quote))
        left_out: list[Path] = []
        sources = list(find_sources(paths_of(files), any_file=False, hint="name the files that hold summaries", left_out=left_out))
        print_left_out(left_out)
        _check_golds(sources, settings)
        run = Run(SUITE, settings, asked={"worst": worst})
        report, _ = run_files(run, lambda: iter(sources), "summaries scored", places=places)
        if not len(run.entries):
            raise ConfigError("no case to score: the files hold no summary; check the paths")
        gate = Gate(max_mean=() if max_mean_loss is None else (("loss", max_mean_loss),), allow_unscored=allow_unscored)
        request = ReportRequest(places=places, gate=gate, earlier=earlier, max_drop=compared.max_drop, readings=run.readings())
        verdict = write_report_in_formats(SUITE, report, request)
    print_problems(run, places)
    end_with(SUITE, verdict)


def settings_of(config: Path | None, overrides: dict[str, Any]) -> "SummarySettings":
    """Command line > environment > document > defaults."""
    from touchstone.scorers.json_documents import read_document, read_document_if_present
    from touchstone.scorers.summary.settings import DOCUMENT_NAME, resolve

    path = config or Path(DOCUMENT_NAME)
    document = read_document(path) if config else read_document_if_present(path)
    return resolve(os.environ, document, overrides, document_name=str(path))


def _overrides(gold: Path | None, support: Support | None, evidence: bool | None, quote: bool | None) -> dict[str, Any]:
    """What the command line sets, in the form of the settings document."""
    given: dict[str, Any] = {
        "gold": None if gold is None else str(gold),
        "support": None if support is None else support.value,
        "evidence": None if evidence is None else "ids" if evidence else "none",
        "quote": quote,
    }
    return {name: value for name, value in given.items() if value is not None}


def _check_golds(sources: list[Any], settings: "SummarySettings") -> None:
    """Refuse a run in which no case has a gold, before models are loaded: that takes half a minute. Raises `ConfigError`."""
    from touchstone.ops.batch.cases import BatchCase, cases_of
    from touchstone.ops.batch.sources import STANDARD_INPUT
    from touchstone.ops.settings import load_settings
    from touchstone.scorers.base import ConfigError
    from touchstone.scorers.summary import SUITE

    if settings.gold is not None or any(source.path == STANDARD_INPUT or not source.path.is_file() for source in sources):
        return
    refers, bounds = 0, load_settings().files
    for source in sources:
        for case in cases_of(source, SUITE, settings, bounds=bounds):
            if isinstance(case, BatchCase):
                if getattr(case.case, "datum", None) is not None:
                    return
                refers += 1
    if refers:
        raise ConfigError("no summary holds its gold standard, and no file of gold standards is given; name one with --gold (or SUMMARY_LOSS_GOLD)")
