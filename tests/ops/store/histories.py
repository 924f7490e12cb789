"""Results with codes, kinds and models, for tests of the history."""

from functools import cache
from typing import Any

from sqlalchemy import select, text

from tests.streams.results_topic import BEGAN as AT
from tests.streams.results_topic import TOPIC, records, result
from touchstone.ops.store.queue_tables import guidelines, queue_cases, queue_places, queues
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.schema import annotations, cases, codes, feedback, history_indexes, results, views
from touchstone.ops.store.writes import insert_codes
from touchstone.schemas.result import Failure, Finding, ScoreResult, Severity
from touchstone.scorers.registry import usable_suites
from touchstone.scorers.suite import Suite
from touchstone.streams.account.listed import Listed
from touchstone.streams.account.projection import project

__all__ = ["AT", "add", "as_version_3", "as_version_4", "as_version_5", "scored"]


def scored(
    event: str,
    offset: int,
    *,
    codes: tuple[str, ...] = (),
    failures: tuple[str, ...] = (),
    severity: Severity = "major",
    kind: str = "safe",
    case: str | None = None,
    model: str | None = None,
    seconds: float | None = None,
    **told: Any,
) -> ScoreResult:
    one = result(event=event, offset=offset, seconds=offset if seconds is None else seconds, **told)
    attributes = one.attributes | ({"model": model} if model else {})
    findings = tuple(Finding(severity=severity, code=code, path="a", message="quoted text") for code in codes)
    failed = tuple(Failure(component="c", kind="k", code=code) for code in failures)
    changed = {"findings": findings, "failures": failed, "kind": kind, "case_id": case or one.case_id, "attributes": attributes}
    return one.model_copy(update=changed)


def add(store: ResultStore, *events: ScoreResult) -> None:
    first = store.positions(TOPIC).get(0, 0)
    store.apply(project(TOPIC, {0: first or None}, {0: records(*events, first=first)}, _suites()), 0.0)


@cache
def _suites() -> dict[str, Suite]:
    return usable_suites()


def as_version_5(store: ResultStore) -> None:
    """Take out what version 6 has added."""
    with store.engine.begin() as connection:
        for table in (queues, queue_cases, queue_places, guidelines):
            table.drop(connection)
        for index in annotations.indexes:
            index.drop(connection)
        connection.execute(text(f"ALTER TABLE {annotations.name} DROP COLUMN queue"))
        connection.execute(text("UPDATE touchstone_schema SET version = 5"))


def as_version_4(store: ResultStore) -> None:
    """Take out what versions 5 and 6 have added."""
    as_version_5(store)
    with store.engine.begin() as connection:
        for index in history_indexes:
            index.drop(connection, checkfirst=True)
        connection.execute(text(f"ALTER TABLE {results.name} DROP COLUMN overall"))
        kept = [(row.result_id, row.code) for row in connection.execute(select(codes))]
        codes.drop(connection)
        connection.execute(text(f"CREATE TABLE {codes.name} (result_id VARCHAR(512) NOT NULL, code VARCHAR(128) NOT NULL, PRIMARY KEY (result_id, code))"))
        connection.execute(text(f"CREATE INDEX touchstone_codes_code ON {codes.name} (code)"))
        insert_codes(connection, kept)
        connection.execute(text("UPDATE touchstone_schema SET version = 4"))


def as_version_3(store: ResultStore) -> None:
    """Take out what versions 4 to 6 have added."""
    as_version_5(store)
    with store.engine.begin() as connection:
        for index in history_indexes:
            index.drop(connection, checkfirst=True)
        for table in (codes, cases, annotations, feedback, views):
            table.drop(connection)
        for name in Listed._fields[:-1]:
            connection.execute(text(f"ALTER TABLE {results.name} DROP COLUMN {name}"))
        connection.execute(text("UPDATE touchstone_schema SET version = 3"))
