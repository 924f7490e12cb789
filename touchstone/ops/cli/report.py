"""`touchstone report`: reports live results from the result store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import FORMAT_HELP, AgainstBatchOption, FailOnOption, Format, MaxDropOption
from touchstone.ops.cli.common.shared import ConfigOption, one_line, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.reports.comparing import Reported
    from touchstone.ops.store.reports import Chosen
    from touchstone.ops.store.results import ResultStore
    from touchstone.scorers.reporting import RunFacts
    from touchstone.scorers.suite import Suite


@app.command()
def report(
    concern: Annotated[str | None, typer.Option("--concern", help="Concern to report. Needed where the store holds several.", show_default=False)] = None,
    batch: Annotated[
        str | None, typer.Option("--batch", help="Batch, or a pattern such as 'I25_batch_*' (quote it). Default: all.", show_default=False)
    ] = None,
    suite: Annotated[str | None, typer.Option("--suite", help="Suite that scored it. Default: the one that fits.", show_default=False)] = None,
    store: StoreOption = None,
    format: Annotated[Format, typer.Option("--format", "-f", help=FORMAT_HELP)] = Format.console,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write to. Default: standard output.", show_default=False)] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Console: list every finding of every case.")] = False,
    min_pass_rate: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Gate: exit 0 if this share (0-1) passes, else 1.", show_default=False)] = None,
    suite_version: Annotated[str | None, typer.Option(help="Results of this suite version. Default: the newest.", show_default=False)] = None,
    config_digest: Annotated[str | None, typer.Option(help="Results of this configuration. Default: the newest.", show_default=False)] = None,
    fail_on: FailOnOption = None,
    against: AgainstBatchOption = None,
    max_drop: MaxDropOption = None,
    config: ConfigOption = None,
) -> None:
    """Report live results in the same form as the commands on files: `safe score`, `eval validate`, `loss score`, `score`.

    Exit codes are the same as theirs. Without --concern and --batch all results of the newest version and configuration are reported.

    Example: touchstone report --suite clinical --format html --output report.html
    """
    from touchstone.ops.cli.common.scoring import compared, end_with, judged, suite_step, write_in
    from touchstone.ops.reports.writing import check_output, stoppable
    from touchstone.ops.store.reports import StoredEntries, Wanted, choose, only_suite
    from touchstone.ops.store.results import ResultStore
    from touchstone.ops.store.trends import trend_of
    from touchstone.scorers.registry import load_suite
    from touchstone.scorers.reporting import Gate

    url = settings_from(config, store__url=store).store.url.get_secret_value()
    with one_line_errors(), store_errors():
        check_output(output)
        opened = ResultStore.open(url)
        try:
            loaded = load_suite(suite or only_suite(opened, concern, batch))
            chosen = choose(opened, Wanted(loaded.name, concern, batch, suite_version, config_digest, one_concern=not loaded.mixes_concerns))
            facts = _facts(loaded, chosen, concern, batch)
            with StoredEntries(opened, chosen) as entries:
                with stoppable(), suite_step(loaded, "report"):
                    built: Any = loaded.report(entries, facts)
                    comparison = compared(loaded, built, _earlier(opened, loaded, chosen, against, max_drop))
                    trend = trend_of(opened, loaded, chosen)
                verdict = judged(loaded, built, Gate(min_pass_rate, fail_on=fail_on.value if fail_on else None), comparison, max_drop)
                write_in(loaded, built, [(format.value, output)], verdict, verbose=verbose, comparison=comparison, trend=trend)
        finally:
            opened.close()
    end_with(loaded, verdict)


def _earlier(store: "ResultStore", suite: "Suite", chosen: "Chosen", against: str | None, max_drop: float | None) -> "Reported | None":
    """The earlier side: a JSON report, where `--against` names a file; else a batch of the same concern. Raises `ConfigError`."""
    from datetime import UTC, datetime

    from touchstone.ops.cli.common.scoring import earlier_report, suite_step
    from touchstone.ops.reports.comparing import Reported
    from touchstone.ops.reports.earlier import reported
    from touchstone.ops.store.reports import StoredEntries, choose_earlier
    from touchstone.ops.suites import suite_settings
    from touchstone.scorers.reporting import RunFacts

    if against is None or Path(against).is_file() or against.endswith(".json"):
        return earlier_report(suite, against, max_drop)
    before = choose_earlier(store, chosen, against)
    asked = {"concern_id": before.concern_id, "batch_id": against}
    facts = RunFacts(suite, suite_settings(suite), before.config_digest, datetime.now(UTC), suite_version=before.suite_version, asked=asked)
    with suite_step(suite, "report"):
        side = reported(suite.report(StoredEntries(store, before), facts), suite)
    return Reported(f"batch {against}", side.cases, side.suite_version, side.config_digest)


def _facts(suite: "Suite", chosen: "Chosen", concern: str | None, batch: str | None) -> "RunFacts":
    """The version and configuration that scored the results, as far as this process knows them."""
    from datetime import UTC, datetime

    from touchstone.ops.suites import suite_settings
    from touchstone.scorers.identity import config_digest as digest_of
    from touchstone.scorers.reporting import RunFacts

    own = suite_settings(suite)
    configuration = suite.fingerprint(own)
    is_ours = digest_of(configuration) == chosen.config_digest
    if chosen.others:
        told = f"version {chosen.suite_version}, configuration {chosen.config_digest}"
        typer.echo(one_line(f"scored in {chosen.others + 1} ways; this is the newest ({told}); choose with --suite-version and --config-digest"), err=True)
    if not is_ours:
        typer.echo(one_line("scored with a different configuration; figures that depend on settings (pass rates by metric) use the settings here"), err=True)
    return RunFacts(
        suite=suite,
        settings=own,
        suite_version=chosen.suite_version,
        config_digest=chosen.config_digest,
        configuration=configuration if is_ours else {},
        generated_at=datetime.now(UTC),
        asked={"concern_id": concern or chosen.concern_id, "batch_id": batch or "*"},
    )
