"""`touchstone report`: reports live results from the result store."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.options import AgainstOptions, GateOptions, ReportOptions
from touchstone.ops.cli.common.shared import ConfigOption, one_line, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.ops.reports.comparing import Reported
    from touchstone.ops.store.reports import Chosen, Wanted
    from touchstone.ops.store.results import ResultStore
    from touchstone.scorers.reporting import RunFacts
    from touchstone.scorers.suite import Suite


@dataclass(frozen=True, slots=True)
class ResultOptions:
    """Which results are reported."""

    concern: Annotated[str | None, typer.Option(help="Concern to report. Needed where the store holds several.", show_default=False)] = None
    batch: Annotated[str | None, typer.Option(help="Batch, or a pattern such as 'I25_batch_*' (quote it). Default: all.", show_default=False)] = None
    suite: Annotated[str | None, typer.Option(help="Suite that scored it. Default: the one that fits.", show_default=False)] = None
    suite_version: Annotated[str | None, typer.Option(help="Results of this suite version. Default: the newest.", show_default=False)] = None
    config_digest: Annotated[str | None, typer.Option(help="Results of this configuration. Default: the newest.", show_default=False)] = None
    quote: Annotated[bool, typer.Option("--quote", help="HTML: show how the worst cases read, with their texts from the archive (patient data).")] = False


@dataclass(frozen=True, slots=True)
class AgainstBatchOptions(AgainstOptions):
    """A comparison with an earlier batch of the store, or with a report."""

    against: Annotated[str | None, typer.Option(help="Compare with this earlier batch of the store, or JSON report (FILE.json).", show_default=False)] = None


@app.command()
def report(
    results: ResultOptions,
    written: ReportOptions,
    gates: GateOptions,
    compared: AgainstBatchOptions,
    store: StoreOption = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Console: list every finding of every case.")] = False,
    config: ConfigOption = None,
) -> None:
    """Report live results in the same form as the commands on files: `safe score`, `eval validate`, `loss score`, `score`.

    Exit codes are the same as theirs. Without --concern and --batch all results of the newest version and configuration are reported.

    Example: touchstone report --suite clinical --format html --output report.html
    """
    from touchstone.ops.cli.common.scoring import ReportRequest, end_with, shows_readings, suite_step, write_report_in_formats
    from touchstone.ops.cli.common.stored_readings import StoredReadings
    from touchstone.ops.reports.writing import stoppable
    from touchstone.ops.store.reports import StoredEntries, choose, only_suite
    from touchstone.ops.store.results import ResultStore
    from touchstone.ops.store.trends import trend_of
    from touchstone.scorers.registry import load_suite
    from touchstone.scorers.reporting.words import counted

    settings = settings_from(config, store__url=store)
    url = settings.store.url.get_secret_value()
    with one_line_errors(), store_errors():
        places = written.places()
        opened = ResultStore.open(url)
        try:
            loaded = load_suite(results.suite or only_suite(opened, results.concern, results.batch))
            chosen = choose(opened, _wanted(loaded, results))
            facts = _facts(loaded, chosen, results)
            with StoredEntries(opened, chosen) as entries:
                with stoppable(), suite_step(loaded, "report"):
                    built: Any = loaded.report(entries, facts)
                    earlier = _earlier(opened, loaded, chosen, compared)
                    trend = trend_of(opened, loaded, chosen)
                readings = StoredReadings(loaded, entries, settings) if results.quote and shows_readings(places) else None
                request = ReportRequest(
                    places=places, gate=gates.gate(), earlier=earlier, max_drop=compared.max_drop, verbose=verbose, trend=trend, readings=readings or ()
                )
                verdict = write_report_in_formats(loaded, built, request)
        finally:
            opened.close()
    if readings is not None and readings.without_event:
        typer.echo(one_line(f"{counted(readings.without_event, 'case')} of the report without text: {readings.why}"), err=True)
    end_with(loaded, verdict)


def _wanted(suite: "Suite", results: ResultOptions) -> "Wanted":
    """The results to choose from the store."""
    from touchstone.ops.store.reports import Wanted

    one_concern = not suite.mixes_concerns
    return Wanted(suite.name, results.concern, results.batch, results.suite_version, results.config_digest, one_concern=one_concern)


def _earlier(store: "ResultStore", suite: "Suite", chosen: "Chosen", compared: AgainstOptions) -> "Reported | None":
    """The earlier side: a JSON report if `--against` names a file, else a batch of the same concern. Raises `ConfigError`."""
    from datetime import UTC, datetime

    from touchstone.ops.cli.common.scoring import earlier_report, suite_step
    from touchstone.ops.reports.comparing import Reported
    from touchstone.ops.reports.earlier import reported
    from touchstone.ops.store.reports import StoredEntries, choose_earlier
    from touchstone.scorers.reporting import RunFacts
    from touchstone.scorers.suite_settings import suite_settings

    against = compared.against
    if against is None or Path(against).is_file() or against.endswith(".json"):
        return earlier_report(suite, compared)
    before = choose_earlier(store, chosen, against)
    asked = {"concern_id": before.concern_id, "batch_id": against}
    facts = RunFacts(suite, suite_settings(suite), before.config_digest, datetime.now(UTC), suite_version=before.suite_version, asked=asked)
    with suite_step(suite, "report"):
        side = reported(suite.report(StoredEntries(store, before), facts), suite)
    return Reported(f"batch {against}", side.cases, side.suite_version, side.config_digest)


def _facts(suite: "Suite", chosen: "Chosen", results: ResultOptions) -> "RunFacts":
    """The version and configuration that scored the results, as far as this process knows them."""
    from datetime import UTC, datetime

    from touchstone.scorers.identity import config_digest as digest_of
    from touchstone.scorers.reporting import RunFacts
    from touchstone.scorers.suite_settings import suite_settings

    own = suite_settings(suite)
    configuration = suite.fingerprint(own)
    is_ours = digest_of(configuration) == chosen.config_digest
    if chosen.others:
        newest = f"version {chosen.suite_version}, configuration {chosen.config_digest}"
        typer.echo(one_line(f"scored in {chosen.others + 1} ways; this is the newest ({newest}); choose with --suite-version and --config-digest"), err=True)
    if not is_ours:
        typer.echo(one_line("scored with a different configuration; figures that depend on settings (pass rates by metric) use the settings here"), err=True)
    return RunFacts(
        suite=suite,
        settings=own,
        suite_version=chosen.suite_version,
        config_digest=chosen.config_digest,
        configuration=configuration if is_ours else {},
        generated_at=datetime.now(UTC),
        asked={"concern_id": results.concern or chosen.concern_id, "batch_id": results.batch or "*"},
    )
