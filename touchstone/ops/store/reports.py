"""Stored results as entries of a report: the same report as over files, by the same function, for any suite."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Self

from sqlalchemy import ColumnElement, Connection, func, or_, select

from touchstone.ops.store.engine import reading, translated
from touchstone.ops.store.results import ResultStore
from touchstone.ops.store.rows import row_of
from touchstone.ops.store.schema import results
from touchstone.schemas.result import ScoreResult
from touchstone.scorers.base import ConfigError
from touchstone.streams.account.projection import BatchKey, restore

_NAMES_SHOWN_MAX = 8
_ROWS_PER_FETCH = 200
#: Batches that one query names; more are looked up by concern.
_KEYS_PER_QUERY_MAX = 400


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which results to report. `batch`: a name or a pattern. None elsewhere: no restriction, the newest configuration first.

    `one_concern`: a report of this suite is of one concern, so one must be chosen where the store holds several.
    """

    suite: str
    concern: str | None = None
    batch: str | None = None
    suite_version: str | None = None
    config_digest: str | None = None
    one_concern: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """Results that were scored alike. `keys`: their batches; None: all of them, whether in a batch or not. `others`: how many more
    (version, configuration) pairs there are.
    """

    suite: str
    suite_version: str
    config_digest: str
    keys: tuple[BatchKey, ...] | None
    others: int = 0

    @property
    def concern_id(self) -> str | None:
        """The concern, if there is one."""
        names = {key.concern_id for key in self.keys or ()}
        return names.pop() if len(names) == 1 else None


def only_suite(store: ResultStore, concern: str | None, batch: str | None) -> str:
    """The suite that the store holds results of, or batches of this concern and name. Raises `ConfigError` if there is none, or several."""
    columns = (results.c.suite, results.c.concern_id, results.c.batch_id)
    with reading(store.engine) as connection:
        found = {(row.suite, row.concern_id, row.batch_id) for row in connection.execute(select(*columns).distinct())}
    fitting = sorted({name for name, of_concern, of_batch in found if concern in {None, of_concern} and (batch is None or fnmatchcase(of_batch or "", batch))})
    if len(fitting) == 1:
        return str(fitting[0])
    held = _names(fitting or sorted({name for name, _, _ in found}))
    if fitting:
        raise ConfigError(f"the store holds results of several suites ({held}); choose one with --suite")
    if concern is None and batch is None:
        raise ConfigError("the store holds no results; check --store, and that `touchstone projector` has run")
    raise ConfigError(f"no stored batch fits --concern and --batch (the store holds results of {held or 'no suite'}); check them, or name --suite")


def choose(store: ResultStore, wanted: Wanted) -> Chosen:
    """Find the results; if they were scored in several ways, take the way that scored last. Raises `ConfigError`."""
    if wanted.concern is None and wanted.batch is None and not wanted.one_concern:
        return _choose_all(store, wanted)
    groups = _groups(store, wanted.suite)
    pattern = wanted.batch or "*"
    fitting = [
        (key, scored_at)
        for key, scored_at in groups
        if fnmatchcase(key.batch_id, pattern) and wanted.suite_version in {None, key.suite_version} and wanted.config_digest in {None, key.config_digest}
    ]
    # If the batch has only one concern, it need not be named.
    concerns = sorted({key.concern_id for key, _ in fitting or groups})
    concern = wanted.concern or (concerns[0] if len(concerns) == 1 else None)
    if concern is None and wanted.one_concern and (fitting or not groups):
        has = "" if wanted.batch is None else f" with a batch {wanted.batch!r}"
        remedy = "choose one with --concern" if groups else "check --store, and that `touchstone projector` has run"
        raise ConfigError(f"the store holds {_names(concerns) or 'no batch'} of suite {wanted.suite}{has if groups else ''}; {remedy}")
    matching = [(key, scored_at) for key, scored_at in fitting if concern in {None, key.concern_id}]
    if not matching:
        known = _names(sorted({key.batch_id for key, _ in groups if concern in {None, key.concern_id}}))
        of = "" if concern is None else f" of concern {concern!r}"
        raise ConfigError(f"no stored batch{of} matches {pattern!r}: the store holds {known or 'none of it'}; check --concern and --batch")
    ways = {(key.suite_version, key.config_digest) for key, _ in matching}
    newest = max(matching, key=lambda pair: (pair[1], pair[0]))[0]
    way = (newest.suite_version, newest.config_digest)
    keys = tuple(sorted(key for key, _ in matching if (key.suite_version, key.config_digest) == way))
    return Chosen(wanted.suite, *way, keys, len(ways) - 1)


def choose_earlier(store: ResultStore, now: Chosen, batch: str) -> Chosen:
    """An earlier batch, or a pattern of some, to compare with: of the same concern, scored in the same way if it can be. Raises `ConfigError`."""
    known = [(key, scored_at) for key, scored_at in _groups(store, now.suite) if now.keys is None or now.concern_id in {None, key.concern_id}]
    matching = [(key, scored_at) for key, scored_at in known if fnmatchcase(key.batch_id, batch)]
    if not matching:
        names = _names(sorted({key.batch_id for key, _ in known}))
        raise ConfigError(f"--against {batch}: the store has no such batch of the concern (it holds {names or 'none'}); name one of these, or a JSON report")
    ways = {(key.suite_version, key.config_digest): scored_at for key, scored_at in sorted(matching, key=lambda pair: pair[1])}
    same = (now.suite_version, now.config_digest)
    way = same if same in ways else max(ways, key=lambda pair: (ways[pair], pair))
    keys = tuple(sorted(key for key, _ in matching if (key.suite_version, key.config_digest) == way))
    if way == same and (now.keys is None or set(keys) & set(now.keys)):
        raise ConfigError(f"--against {batch}: it is part of what is reported; choose the batch to report with --batch, and an earlier one with --against")
    return Chosen(now.suite, *way, keys)


def _choose_all(store: ResultStore, wanted: Wanted) -> Chosen:
    """All results of the way that scored last, of those that were asked for."""
    columns = (results.c.suite_version, results.c.config_digest)
    query = select(*columns, func.max(results.c.scored_at).label("last")).where(results.c.suite == wanted.suite).group_by(*columns)
    with reading(store.engine) as connection:
        found = [(row.last, row.suite_version, row.config_digest) for row in connection.execute(query)]
    matching = [way for way in found if wanted.suite_version in {None, way[1]} and wanted.config_digest in {None, way[2]}]
    if not matching:
        reason = "choose others with --suite-version and --config-digest" if found else "check --store, and that `touchstone projector` has run"
        raise ConfigError(f"the store holds no result of suite {wanted.suite}{' that was scored so' if found else ''}; {reason}")
    _, version, digest = max(matching)
    return Chosen(wanted.suite, version, digest, None, len(matching) - 1)


def conditions(chosen: Chosen) -> Sequence[ColumnElement[bool]]:
    """The conditions that select the rows of the chosen results."""
    found = [results.c.suite == chosen.suite, results.c.suite_version == chosen.suite_version, results.c.config_digest == chosen.config_digest]
    if chosen.keys is not None:
        ids = [key.report_id for key in chosen.keys]
        found.append(or_(*(results.c.report_id.in_(ids[at : at + _KEYS_PER_QUERY_MAX]) for at in range(0, len(ids), _KEYS_PER_QUERY_MAX))))
    return found


def _groups(store: ResultStore, suite: str) -> list[tuple[BatchKey, int]]:
    """Every stored batch of the suite, and when it was scored last (microseconds since the epoch)."""
    columns = [results.c[name] for name in BatchKey._fields]
    query = select(*columns, func.max(results.c.scored_at)).where(results.c.suite == suite, results.c.report_id.is_not(None)).group_by(*columns)
    with reading(store.engine) as connection:
        return [(BatchKey(*row[:-1]), row[-1]) for row in connection.execute(query)]


class StoredEntries:
    """Chosen results, in the order in which their events lie on their topics; read anew each time, and never held as a whole.

    A report reads them several times. Inside `with`, all passes see the store as it was at the first one, whatever the projector writes meanwhile;
    outside, each pass sees it as it is then.
    """

    def __init__(self, store: ResultStore, chosen: Chosen) -> None:
        self._store = store
        self._chosen = chosen
        self._held: Connection | None = None
        self._holding = ExitStack()

    def __enter__(self) -> Self:
        """Begin the one transaction of all passes. Raises `StoreUnavailable`."""
        self._held = self._holding.enter_context(reading(self._store.engine))
        return self

    def __exit__(self, *error: object) -> None:
        """End it."""
        self._held = None
        self._holding.close()

    def __iter__(self) -> Iterator[ScoreResult]:
        """The result events, as they were. Raises `ConfigError` for a damaged one."""
        query = select(results).where(*conditions(self._chosen))
        query = query.order_by(results.c.source_topic, results.c.source_topic_id, results.c.source_partition, results.c.source_offset)
        query = query.execution_options(yield_per=_ROWS_PER_FETCH)
        with nullcontext(self._held) if self._held is not None else reading(self._store.engine) as connection, translated():
            for row in connection.execute(query):
                try:
                    result = restore(row_of(row))
                except (ValueError, KeyError, TypeError, AttributeError):  # pydantic's and the JSON reader's among them
                    raise ConfigError(f"stored result {row.result_id} cannot be read: it is damaged, or another program wrote it") from None
                yield result


def _names(names: Sequence[str]) -> str:
    """A few names, for a message."""
    rest = len(names) - _NAMES_SHOWN_MAX
    return ", ".join(names[:_NAMES_SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")
