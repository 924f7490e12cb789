"""The full SAFE v0 report, built from stored results: the same as the batch command's over the same cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import ValidationError
from sqlalchemy import func, select

from touchstone.ops.store.engine import reading
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.rows import row_of
from touchstone.ops.store.schema import results
from touchstone.schemas.reports.safe import SafeV0BatchReport, SafeV0CaseError
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.scorers.safe.report import build_report, result_of
from touchstone.scorers.safe.settings import SafeSettings
from touchstone.streams.account.projection import BatchKey, restore

_NAMES_SHOWN_MAX = 8


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which results to report. `batch`: a name or a pattern; None elsewhere: whatever there is, the newest configuration first."""

    suite: str
    concern: str | None
    batch: str = "*"
    suite_version: str | None = None
    config_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """Batches of one concern that were scored alike. `others`: how many more (version, configuration) pairs there are."""

    keys: tuple[BatchKey, ...]
    others: int

    @property
    def batch_id(self) -> str | None:
        """The batch's name where there is only one."""
        return self.keys[0].batch_id if len(self.keys) == 1 else None


def choose(store: ResultStore, wanted: Wanted) -> Chosen:
    """Find the batches; where they were scored in several ways, take the way that scored last. Raises `ConfigError`."""
    groups = [(key, scored_at) for key, scored_at in _groups(store, wanted.suite)]
    concerns = sorted({key.concern_id for key, _ in groups})
    concern = wanted.concern or (concerns[0] if len(concerns) == 1 else None)
    if concern is None:
        raise ConfigError(f"the store holds {_names(concerns) or 'no batch'} of suite {wanted.suite}; choose one with --concern")
    matching = [
        (key, scored_at)
        for key, scored_at in groups
        if key.concern_id == concern
        and fnmatchcase(key.batch_id, wanted.batch)
        and wanted.suite_version in {None, key.suite_version}
        and wanted.config_digest in {None, key.config_digest}
    ]
    if not matching:
        known = _names(sorted({key.batch_id for key, _ in groups if key.concern_id == concern}))
        raise ConfigError(
            f"no stored batch of concern {concern!r} matches {wanted.batch!r}: the store holds {known or 'none of it'}; check --concern and --batch"
        )
    ways = {(key.suite_version, key.config_digest) for key, _ in matching}
    newest = max(matching, key=lambda pair: (pair[1], pair[0]))[0]
    way = (newest.suite_version, newest.config_digest)
    return Chosen(tuple(sorted(key for key, _ in matching if (key.suite_version, key.config_digest) == way)), len(ways) - 1)


def _groups(store: ResultStore, suite: str) -> list[tuple[BatchKey, int]]:
    """Every stored batch of the suite, and when it was scored last (microseconds since the epoch)."""
    columns = [results.c[name] for name in BatchKey._fields]
    query = select(*columns, func.max(results.c.scored_at)).where(results.c.suite == suite, results.c.report_id.is_not(None)).group_by(*columns)
    with reading(store.engine) as connection:
        return [(BatchKey(*row[:-1]), row[-1]) for row in connection.execute(query)]


def stored_results(store: ResultStore, keys: Sequence[BatchKey]) -> Iterator[ScoreResult]:
    """The result events of the batches, as they were."""
    with reading(store.engine) as connection:
        for key in keys:
            query = select(results).where(results.c.report_id == key.report_id)
            for row in connection.execution_options(yield_per=1_000).execute(query):
                try:
                    yield restore(row_of(row))
                except ValueError:  # pydantic's and the JSON reader's alike
                    raise ConfigError(f"stored result {row.result_id} cannot be read: it is damaged, or another program wrote it") from None


def report_from_store(store: ResultStore, chosen: Chosen, pattern: str, settings: SafeSettings) -> SafeV0BatchReport:
    """Aggregate stored results. A case that could not be scored is listed in `errors`, by its place on the topic.

    Raises `ConfigError` that names results which are no SAFE v0 results, whoever wrote them.
    """
    scored, errors, unfit = [], [], []
    for result in stored_results(store, chosen.keys):
        if result.label == "unscored":
            where = f"{result.source.topic}[{result.source.partition}]@{result.source.offset}"
            codes = ", ".join(sorted({f"{failure.component}: {failure.code}" for failure in result.failures})) or "no reason given"
            errors.append(SafeV0CaseError(where=where, what=f"could not be scored ({codes})"))
        else:
            try:
                scored.append(result_of(result))
            except (ValidationError, KeyError):
                unfit.append(result.result_id)
    if unfit:
        raise ConfigError(f"stored results lack what a SAFE v0 report needs (CR, AH, AC, composite, details, test_id): {_names(sorted(unfit))}")
    errors.sort(key=lambda error: error.where)
    return build_report(scored, concern_id=chosen.keys[0].concern_id, batch_id=chosen.batch_id or pattern, settings=settings, errors=errors)


def _names(names: Sequence[str]) -> str:
    """A few names, for a message."""
    rest = len(names) - _NAMES_SHOWN_MAX
    return ", ".join(names[:_NAMES_SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
