"""Stored results of the clinical suite as entries of the clinical report: what `touchstone report --suite clinical` prints.

An entry per trace, in the order in which the traces lie on their topic; the same entries that `touchstone eval validate` makes of files.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import func, select

from touchstone.ops.store.engine import reading
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.rows import row_of
from touchstone.ops.store.schema import results
from touchstone.schemas.reports.clinical import ClinicalEntry, JudgedFile
from touchstone.schemas.result import NotChecked, ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.streams.account.projection import restore

_ROWS_PER_FETCH = 200


@dataclass(frozen=True, slots=True)
class Way:
    """How traces were scored. `others`: how many more (version, configuration) pairs the store holds of the suite."""

    suite: str
    suite_version: str
    config_digest: str
    others: int = 0


def choose_way(store: ResultStore, suite: str, suite_version: str | None = None, config_digest: str | None = None) -> Way:
    """The way that scored last, of those that were asked for. Raises `ConfigError` where there is none."""
    columns = (results.c.suite_version, results.c.config_digest)
    query = select(*columns, func.max(results.c.scored_at).label("last")).where(results.c.suite == suite).group_by(*columns)
    with reading(store.engine) as connection:
        found = [(row.last, row.suite_version, row.config_digest) for row in connection.execute(query)]
    matching = [way for way in found if suite_version in {None, way[1]} and config_digest in {None, way[2]}]
    if not matching:
        reason = "choose others with --suite-version and --config-digest" if found else "check --store, and that `touchstone projector` has run"
        raise ConfigError(f"the store holds no result of suite {suite}{' that was scored so' if found else ''}; {reason}")
    _, version, digest = max(matching)
    return Way(suite, version, digest, len(matching) - 1)


def stored_entries(store: ResultStore, way: Way) -> Iterator[JudgedFile]:
    """The entries of all traces that were scored in one way, read as they are asked for. Raises `ConfigError` for a damaged result."""
    place = (results.c.source_topic, results.c.source_partition, results.c.source_offset)
    query = (
        select(results)
        .where(results.c.suite == way.suite, results.c.suite_version == way.suite_version, results.c.config_digest == way.config_digest)
        .order_by(*place)
    )
    with reading(store.engine) as connection:
        for row in connection.execution_options(yield_per=_ROWS_PER_FETCH).execute(query):
            try:
                yield entry_of(restore(row_of(row)))
            except (ValidationError, ValueError, KeyError, TypeError, AttributeError):
                raise ConfigError(f"stored result {row.result_id} cannot be read: it is damaged, or another program wrote it") from None


def entry_of(result: ScoreResult) -> JudgedFile:
    """One result as an entry; a trace that was not scored says why."""
    documents: list[dict[str, Any]] = result.details.get("documents", [])
    failures = tuple(NotChecked(check=failure.component, reason=f"could not be scored ({failure.code})") for failure in result.failures)
    entry = ClinicalEntry(
        file=result.case_id or f"{result.source.topic}[{result.source.partition}]@{result.source.offset}",
        format="trace",
        label=result.label,
        valid=result.details.get("valid"),
        scores=dict(result.values),
        components_missing=result.components_missing,
        findings=result.findings,
        rules_fired={f"{one['path']}/{name}": times for one in documents for name, times in one["rules_fired"].items()},
        not_checked=failures + result.not_checked,
        checks={f"{one['path']}/{name}": score for one in documents for name, score in one["checks"].items()},
        findings_dropped=result.details.get("findings_dropped", 0),
    )
    outcome = "unvalidated" if result.label == "unscored" else "validated"
    return JudgedFile(entry=entry, outcome=outcome, duration_s=sum(result.duration_ms.values()) / 1000)
