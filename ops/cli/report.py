"""`touchstone report`: the full report of a batch from the result store."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ops.cli import app
from ops.cli.shared import ConfigOption, fail, one_line_errors, settings_from, until_read_no_more
from ops.cli.stored import StoreOption, store_errors

REPORTED_SUITE = "safe_v0"


class Format(StrEnum):
    """What the report is written as."""

    console = "console"
    json = "json"
    markdown = "markdown"
    junit = "junit"


@app.command()
def report(
    concern: Annotated[str | None, typer.Option("--concern", help="Concern to report; may be left out where the store holds one.", show_default=False)] = None,
    batch: Annotated[str, typer.Option("--batch", help="Batch, or a pattern such as 'I25_batch_*' (quote it).")] = "*",
    suite: Annotated[str, typer.Option(help="Suite that scored it.")] = REPORTED_SUITE,
    store: StoreOption = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How to write it.")] = Format.console,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write to. Default: standard output.", show_default=False)] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Console: what each case found, missed and used.")] = False,
    min_pass_rate: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Gate: exit 0 if this share (0-1) passes, else 1.", show_default=False)] = None,
    suite_version: Annotated[str | None, typer.Option(help="Results of this suite version. Default: the newest.", show_default=False)] = None,
    config_digest: Annotated[str | None, typer.Option(help="Results of this configuration. Default: the newest.", show_default=False)] = None,
    config: ConfigOption = None,
) -> None:
    """Report what was scored live, as `touchstone safe score` reports files; the exit codes are the same."""
    from datetime import UTC, datetime

    from ops.reporters import RenderOptions, render, verdict_of
    from ops.reporters.files import write_whole
    from ops.store.reports import Wanted, choose, report_from_store
    from ops.store.results import ResultStore
    from ops.suites import suite_settings
    from scorers.base import config_digest as digest_of
    from scorers.registry import load_suite

    settings = settings_from(config, store__url=store)
    with one_line_errors(), store_errors():
        if suite != REPORTED_SUITE:
            fail(f"--suite {suite}: batch reports exist for {REPORTED_SUITE} only")
        loaded = load_suite(suite)
        own = suite_settings(loaded)
        opened = ResultStore.open(settings.store.url.get_secret_value())
        try:
            chosen = choose(opened, Wanted(suite, concern, batch, suite_version, config_digest))
            built = report_from_store(opened, chosen, batch, own)  # type: ignore[arg-type]
        finally:
            opened.close()
        way = chosen.keys[0]
        if chosen.others:
            told = f"version {way.suite_version}, configuration {way.config_digest}"
            typer.echo(
                f"touchstone: scored in {chosen.others + 1} ways; this is the newest ({told}); choose with --suite-version and --config-digest", err=True
            )
        if way.config_digest != digest_of(loaded.fingerprint(own)):
            typer.echo("touchstone: scored with another configuration than the one here, whose thresholds count in the pass rates by metric", err=True)
        text = render(built, format.value, RenderOptions(datetime.now(UTC), verbose, min_pass_rate))
        if output is None:
            with until_read_no_more():
                typer.echo(text.encode(), nl=False)
        else:
            write_whole(output, text)
            typer.echo(f"wrote {output}", err=True)
    verdict = verdict_of(built, min_pass_rate)
    typer.echo(f"SAFE v0 {verdict}", err=True)
    raise typer.Exit(verdict.exit_code)
