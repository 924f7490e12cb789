"""`touchstone projector`: results on Kafka → result store → batch reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.services import run_service
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, one_line_errors, settings_from
from touchstone.ops.cli.common.stored import StoreOption

if TYPE_CHECKING:
    from touchstone.ops.store.results import ResultStore
    from touchstone.streams.account.projector import Projector
    from touchstone.streams.telemetry.metrics import CollectorRegistry


@app.command()
def projector(
    store: StoreOption = None,
    http_port: Annotated[int | None, typer.Option(help="Port of /metrics, /healthz and /readyz (default: a free one).", show_default=False)] = None,
    from_start: Annotated[
        bool, typer.Option("--from-start", help="Read the results topic from its beginning again. What the store has is kept; replays change nothing.")
    ] = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Write results to a store and report batches from it. Run one projector per store. SIGTERM finishes the current transaction.

    Example: touchstone projector --store sqlite:///results.db
    """
    settings = settings_from(config, bootstrap, store__url=store, http__port=http_port)

    @contextmanager
    def made(results: "ResultStore", registry: "CollectorRegistry") -> Iterator["Projector"]:
        from touchstone.ops.reviews.annotations import StoreAnnotations
        from touchstone.ops.store.judges import JudgeStore
        from touchstone.scorers.registry import usable_suites
        from touchstone.streams.account.projector import Projector
        from touchstone.streams.telemetry.service_counts import ProjectorCounts

        if from_start:
            results.forget_positions(settings.topics.results)
        judges = JudgeStore(results.engine, StoreAnnotations(results).read)
        yield Projector(settings, results, suites=usable_suites(), metrics=ProjectorCounts(registry), judges=judges)

    with one_line_errors():
        run_service(settings, "projector", made)
