"""`touchstone reconcile`: checks that every event has an outcome."""

from typing import TYPE_CHECKING, Annotated

import typer

from touchstone.ops.cli import app
from touchstone.ops.cli.common.shared import BootstrapOption, ConfigOption, JsonOption, fail, one_line_errors, settings_from, until_read_no_more
from touchstone.ops.cli.common.stored import StoreOption, store_errors

if TYPE_CHECKING:
    from touchstone.streams.account.reconcile import PartitionAccount, Reconciliation

EXIT_OPEN = 1
EXIT_UNDECIDED = 2


@app.command()
def reconcile(
    suite: Annotated[str, typer.Option(help="Suite whose events are accounted for.")],
    topic: Annotated[list[str] | None, typer.Option("--topic", help="Only this input topic (repeatable).", show_default=False)] = None,
    store: StoreOption = None,
    drained: Annotated[bool, typer.Option("--drained", help="Also require that nothing is in flight.")] = False,
    dead_letters: Annotated[bool, typer.Option("--dead-letters/--no-dead-letters", help="Compare dead outcomes with the dead-letter topic.")] = True,
    wait: Annotated[float, typer.Option("--wait", min=0, max=3600, help="Seconds to wait for the projector to catch up first.")] = 10.0,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    bootstrap: BootstrapOption = None,
) -> None:
    """Check that every event has one outcome: compare topic offsets, committed offsets, stored outcomes and dead letters.

    Exit codes: 0 the account closes, 1 a hole, a difference or expired events (or, with --drained, events in flight), 2 undecided: the projector is
    behind, and the missing outcomes may be among results it has not read yet (try a longer --wait), 3 an error.

    Example: touchstone reconcile --suite safe_v0 --drained
    """
    import asyncio
    import json

    from touchstone.ops.store.results import ResultStore
    from touchstone.scorers.registry import load_suite
    from touchstone.streams.account.reconcile_topics import Question
    from touchstone.streams.account.reconcile_topics import reconcile as compare

    settings = settings_from(config, bootstrap, store__url=store)
    with one_line_errors(), store_errors():
        inputs = settings.topics.inputs(load_suite(suite).topics)
        unread = sorted(set(topic or ()) - set(inputs))
        if unread:
            fail(f"--topic {unread[0]}: suite {suite} reads {', '.join(inputs)}")
        question = Question(suite, tuple(topic or inputs), drained, dead_letters, wait)
        opened = ResultStore.open(settings.store.url.get_secret_value())
        try:
            outcome = asyncio.run(compare(settings, opened, question))
        finally:
            opened.close()
    with until_read_no_more():
        typer.echo(json.dumps(outcome.as_json(), indent=2) if as_json else "\n".join(_lines(outcome)))
    raise typer.Exit(0 if outcome.closes else EXIT_UNDECIDED if outcome.undecided else EXIT_OPEN)


def _lines(outcome: "Reconciliation") -> list[str]:
    """The account as text: a table, the faults, the verdict."""
    from touchstone.scorers.reporting.words import counted

    titles = ("partition", "consumed", "scored", "skipped", "shed", "dead", "expired", "in flight", "empty", "holes")
    rows = [titles, *(_row(account) for account in outcome.partitions)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(titles))]
    lines = [
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(zip(row, widths, strict=True))) for row in rows
    ]
    for account in outcome.partitions:
        lines += _remarks(account)
    if outcome.undecided:
        return [*lines, f"{outcome.suite}: undecided: the projector is {counted(outcome.behind, 'record')} behind; try --wait"]
    if outcome.behind:
        lines.append(f"the projector is {counted(outcome.behind, 'record')} behind the results topic")
    if outcome.drained and outcome.in_flight:
        lines.append(f"{counted(outcome.in_flight, 'event')} in flight, and --drained allows none")
    lines.append(f"{outcome.suite}: the account closes" if outcome.closes else f"{outcome.suite}: the account does NOT close")
    return lines


def _row(account: "PartitionAccount") -> tuple[str, ...]:
    """One line of the table."""
    from touchstone.streams.account.intervals import size

    numbers = (
        account.consumed,
        account.scored,
        sum(account.skipped.values()),
        sum(account.shed.values()),
        sum(account.dead.values()),
        size(account.expired),
        account.in_flight,
        account.empty,
        size(account.holes),
    )
    return (_where(account), *(str(number) for number in numbers))


def _where(account: "PartitionAccount") -> str:
    """A partition; of a topic that is gone with its id, which is all that distinguishes it from the one of now."""
    gone = f" (deleted: {account.topic_id or 'id not known'})" if account.former else ""
    return f"{account.topic}[{account.partition}]{gone}"


def _remarks(account: "PartitionAccount") -> list[str]:
    """Reasons behind the counts, then holes, differences and notes with their offsets."""
    from touchstone.scorers.reporting.words import counted
    from touchstone.streams.account.intervals import show, size

    where = _where(account)
    lines = [
        f"{where}: {outcome} {', '.join(f'{reason} {count}' for reason, count in counts.items())}"
        for outcome, counts in (("skipped", account.skipped), ("shed", account.shed), ("dead", account.dead))
        if counts
    ]
    if account.expired:
        count = counted(size(account.expired), "event")
        lines.append(f"{where}: EXPIRED: Kafka deleted at most {count} before a worker had read them: offsets {show(account.expired)}")
    if account.holes:
        count = counted(size(account.holes), "event")
        lines.append(f"{where}: HOLE: {count} without an outcome below the committed offset {account.committed}: offsets {show(account.holes)}")
    lines += [f"{where}: DIFFERENCE {one.code}: {one.what}: offsets {show(one.offsets)}" for one in account.differences]
    lines += [f"{where}: note: {note}" for note in account.notes]
    return lines
