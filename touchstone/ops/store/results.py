"""The result store behind the projector and the reconciliation: one transaction per polled batch."""

from collections.abc import Sequence

from sqlalchemy import Connection, Engine, bindparam, func, select
from sqlalchemy.exc import IntegrityError

from touchstone.ops.store.accounts import add_outcomes, read_account
from touchstone.ops.store.engine import open_engine, prepare, reading, shown, writing
from touchstone.ops.store.rows import from_micros, state_of
from touchstone.ops.store.schema import batches, contradictions, pages, positions, results, schema_version
from touchstone.ops.store.writes import touch_batches, write_results
from touchstone.streams.account.batch_reports import BatchState, Emitted, Summary, summarise
from touchstone.streams.account.projection import AccountKey, Projection
from touchstone.streams.account.store_port import Account, Applied, StoreRefused

#: A version that no store has.
_NO_VERSION = 0


class ResultStore:
    """Results, outcomes, positions and reporting state in one database. Safe to use from several threads."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def open(cls, url: str, *, create: bool = False) -> "ResultStore":
        """Open by URL. `create` makes the tables if there are none (the projector's task). Raises `ConfigError`."""
        engine = open_engine(url)
        try:
            prepare(engine, create=create)
        except BaseException:
            engine.dispose()
            raise
        return cls(engine)

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def positions(self, topic: str) -> dict[int, int]:
        """Partition of the results topic → next offset to read."""
        with reading(self.engine) as connection:
            query = select(positions.c.partition, positions.c.next_offset).where(positions.c.topic == topic)
            return {row.partition: row.next_offset for row in connection.execute(query)}

    def topic_id(self, topic: str) -> str:
        """The id of the topic that the positions belong to; empty if it is not known."""
        with reading(self.engine) as connection:
            known: str | None = connection.execute(select(func.max(positions.c.topic_id)).where(positions.c.topic == topic)).scalar()
            return known or ""

    def forget_positions(self, topic: str) -> None:
        """Read the topic from its beginning next time; all else is kept."""
        with writing(self.engine) as connection:
            connection.execute(positions.delete().where(positions.c.topic == topic))

    def apply(self, projection: Projection, now: float) -> Applied:
        """Write one polled batch. Raises `StoreRefused` if another projector has moved the positions."""
        with writing(self.engine) as connection:
            # First, because on PostgreSQL this update holds a second projector until the transaction is decided.
            self._move_positions(connection, projection)
            applied, changed = write_results(connection, projection.results)
            for account, claims in projection.outcomes.items():
                add_outcomes(connection, account, claims)
            touch_batches(connection, changed, now)
            return applied

    def _move_positions(self, connection: Connection, projection: Projection) -> None:
        """The fence: positions move only from where this projector read last."""
        for partition, reached in sorted(projection.reached.items()):
            expected = projection.expected[partition]
            here = (positions.c.topic == projection.topic, positions.c.partition == partition)
            values = {"next_offset": reached, **({"topic_id": projection.topic_id} if expected is None or projection.topic_id else {})}
            if expected is None:
                try:
                    connection.execute(positions.insert().values(topic=projection.topic, partition=partition, **values))
                except IntegrityError:
                    raise self._fenced(projection.topic, partition) from None
                continue
            moved = connection.execute(positions.update().where(*here, positions.c.next_offset == expected).values(values))
            if moved.rowcount != 1:
                raise self._fenced(projection.topic, partition)

    def _fenced(self, topic: str, partition: int) -> StoreRefused:
        """The error of the second of two projectors."""
        where = shown(self.engine.url.render_as_string(hide_password=False))
        return StoreRefused(
            f"another projector writes to the store {where}: it moved the position of {topic} partition {partition}; "
            "stop one of the two, or give each its own --store"
        )

    def check_writable(self) -> None:
        """Write a row and delete it, in one transaction that the disk sees. An update to the value that is there would write nothing on SQLite."""
        with writing(self.engine) as connection:
            connection.execute(schema_version.insert().values(version=_NO_VERSION))
            connection.execute(schema_version.delete().where(schema_version.c.version == _NO_VERSION))

    def due(self, now: float, limit: int) -> list[BatchState]:
        """Batches that may be due for a report, longest waiting first."""
        with reading(self.engine) as connection:
            query = select(batches).where(batches.c.due_at <= now).order_by(batches.c.due_at, batches.c.report_id).limit(limit)
            return [state_of(row) for row in connection.execute(query)]

    def summary(self, report_id: str) -> Summary:
        """Count the results of one batch."""
        columns = (results.c.label, results.c.scores, results.c.scored_at, results.c.batch_size)
        with reading(self.engine) as connection:
            query = select(*columns).where(results.c.report_id == report_id)
            rows = connection.execution_options(yield_per=5_000).execute(query)
            return summarise((row.label, row.scores, from_micros(row.scored_at), row.batch_size) for row in rows)

    def mark_emitted(self, emitted: Sequence[Emitted]) -> None:
        """Remember acknowledged reports."""
        statement = (
            batches.update()
            .where(batches.c.report_id == bindparam("of_report"), batches.c.revision == bindparam("of_revision"))
            .values({name: bindparam(name) for name in ("emitted_revision", "emitted_final", "emitted_at", "interval_s", "due_at")})
        )
        rows = [
            {
                "of_report": one.report_id,
                "of_revision": one.revision,
                "emitted_revision": one.revision,
                "emitted_final": one.final,
                "emitted_at": one.emitted_at,
                "interval_s": one.interval_s,
                "due_at": one.due_at,
            }
            for one in emitted
        ]
        if rows:
            with writing(self.engine) as connection:
                connection.execute(statement, rows)

    def accounts(self, suite: str, topic: str) -> list[AccountKey]:
        """Every account of the suite on this topic, in order."""
        columns = (pages.c.suite, pages.c.suite_version, pages.c.topic, pages.c.topic_id, pages.c.partition)
        with reading(self.engine) as connection:
            query = select(*columns).where(pages.c.suite == suite, pages.c.topic == topic).distinct().order_by(*columns)
            return [AccountKey(*row) for row in connection.execute(query)]

    def contradictions(self, suite: str, topic: str) -> list[tuple[str, int, int]]:
        """Offsets at which the suite's results name two different events: (topic id, partition, offset), in order."""
        columns = (contradictions.c.topic_id, contradictions.c.partition, contradictions.c.offset)
        with reading(self.engine) as connection:
            query = select(*columns).where(contradictions.c.suite == suite, contradictions.c.topic == topic).order_by(*columns)
            return [(row.topic_id, row.partition, row.offset) for row in connection.execute(query)]

    def account(self, key: AccountKey) -> Account:
        """One account, read in one transaction."""
        with reading(self.engine) as connection:
            return read_account(connection, key)
