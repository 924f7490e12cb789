"""`touchstone report`: what was scored live, from the result store."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import ConfigOption, fail, one_line_errors, settings_from, until_read_no_more
from touchstone.ops.cli.common.stored import StoreOption, store_errors

BATCH_SUITE = "safe_v0"
TRACE_SUITE = "clinical"
#: Suite version and configuration digest, where they are chosen.
_Way = tuple[str | None, str | None]


class Format(StrEnum):
    """What the report is written as."""

    console = "console"
    json = "json"
    markdown = "markdown"
    junit = "junit"


@app.command()
def report(
    concern: Annotated[
        str | None, typer.Option("--concern", help=f"{BATCH_SUITE}: concern to report; may be left out where the store holds one.", show_default=False)
    ] = None,
    batch: Annotated[
        str | None, typer.Option("--batch", help=f"{BATCH_SUITE}: batch, or a pattern such as 'I25_batch_*' (quote it). Default: all.", show_default=False)
    ] = None,
    suite: Annotated[str, typer.Option(help=f"Suite that scored it: {BATCH_SUITE} (batches) or {TRACE_SUITE} (traces).")] = BATCH_SUITE,
    store: StoreOption = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How to write it.")] = Format.console,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write to. Default: standard output.", show_default=False)] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Console: what each case found, missed and used; each trace by its checks.")] = False,
    min_pass_rate: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Gate: exit 0 if this share (0-1) passes, else 1.", show_default=False)] = None,
    suite_version: Annotated[str | None, typer.Option(help="Results of this suite version. Default: the newest.", show_default=False)] = None,
    config_digest: Annotated[str | None, typer.Option(help="Results of this configuration. Default: the newest.", show_default=False)] = None,
    config: ConfigOption = None,
) -> None:
    """Report what was scored live: batches as `touchstone safe score` reports files, traces as `touchstone eval validate` does.

    The exit codes are theirs.

    Example: touchstone report --suite clinical --format markdown
    """
    url = settings_from(config, store__url=store).store.url.get_secret_value()
    way = (suite_version, config_digest)
    with one_line_errors(), store_errors():
        if suite == BATCH_SUITE:
            _report_batches(url, concern, batch or "*", way, format.value, output, verbose=verbose, min_pass_rate=min_pass_rate)
        if suite != TRACE_SUITE:
            fail(f"--suite {suite}: reports exist for {BATCH_SUITE} (batches) and {TRACE_SUITE} (traces)")
        if concern is not None or batch is not None:
            fail(f"--concern and --batch choose batches of {BATCH_SUITE}; traces have neither: leave them out")
        _report_traces(url, way, format.value, output, verbose=verbose, min_pass_rate=min_pass_rate)


def _report_batches(
    url: str, concern: str | None, batch: str, way: _Way, format: str, output: Path | None, *, verbose: bool, min_pass_rate: float | None
) -> NoReturn:
    """One concern's batches of SAFE v0."""
    from datetime import UTC, datetime

    from touchstone.ops.reports import RenderOptions, render, verdict_of
    from touchstone.ops.reports.files import write_whole
    from touchstone.ops.store.reports import Wanted, choose, report_from_store
    from touchstone.ops.store.results import ResultStore
    from touchstone.ops.suites import suite_settings
    from touchstone.scorers.identity import config_digest as digest_of
    from touchstone.scorers.registry import load_suite

    loaded = load_suite(BATCH_SUITE)
    own = suite_settings(loaded)
    opened = ResultStore.open(url)
    try:
        chosen = choose(opened, Wanted(BATCH_SUITE, concern, batch, *way))
        built = report_from_store(opened, chosen, batch, own)  # type: ignore[arg-type]
    finally:
        opened.close()
    newest = chosen.keys[0]
    _tell_others(chosen.others, newest.suite_version, newest.config_digest)
    if newest.config_digest != digest_of(loaded.fingerprint(own)):
        typer.echo("touchstone: scored with another configuration than the one here, whose thresholds count in the pass rates by metric", err=True)
    text = render(built, format, RenderOptions(datetime.now(UTC), verbose, min_pass_rate))
    if output is None:
        with until_read_no_more():
            typer.echo(text.encode(), nl=False)
    else:
        write_whole(output, text)
        typer.echo(f"wrote {output}", err=True)
    verdict = verdict_of(built, min_pass_rate)
    typer.echo(f"SAFE v0 {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)


def _report_traces(url: str, way: _Way, format: str, output: Path | None, *, verbose: bool, min_pass_rate: float | None) -> NoReturn:
    """Every trace of the clinical suite."""
    from touchstone.ops.batch.clinical_report import choose_way, stored_entries
    from touchstone.ops.cli.common.clinical import check_output, write_report
    from touchstone.ops.cli.common.terminal import has_colour, width_of
    from touchstone.ops.reports.clinical import reporter_for
    from touchstone.ops.store.results import ResultStore

    check_output(output)
    reporter = reporter_for(format, verbose=verbose, colour=has_colour(output), width=width_of(output), noun="trace")
    opened = ResultStore.open(url)
    try:
        chosen = choose_way(opened, TRACE_SUITE, *way)
        _tell_others(chosen.others, chosen.suite_version, chosen.config_digest)
        verdict = write_report(stored_entries(opened, chosen), reporter, output, noun="trace", min_pass_rate=min_pass_rate)
    finally:
        opened.close()
    typer.echo(f"Clinical {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)


def _tell_others(others: int, suite_version: str, config_digest: str) -> None:
    """Say that the store holds more than is reported."""
    if others:
        told = f"version {suite_version}, configuration {config_digest}"
        typer.echo(f"touchstone: scored in {others + 1} ways; this is the newest ({told}); choose with --suite-version and --config-digest", err=True)
