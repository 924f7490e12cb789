"""What people say of kinds of failure, beside the annotations that name them. Only added to."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import IntegrityError

from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.queue_tables import queue_cases
from touchstone.ops.store.rows import to_micros
from touchstone.ops.store.schema import categories, results

#: Whole: too many ids for one statement.
_IDS_AT_A_TIME: Final = 500
_columns = categories.c


@dataclass(frozen=True, slots=True)
class FailureCategory:
    """One kind of failure: what it is a failure of, and what it is."""

    name: str
    kind: Literal["specification", "generalization"] | None = None
    description: str = ""


class FailureCategories:
    """The categories of the store. Every method is one transaction and blocks. Raises `StoreUnavailable`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def all(self) -> list[FailureCategory]:
        """What is said of each now, by name."""
        last = select(_columns.name, func.max(_columns.revision).label("revision")).group_by(_columns.name).subquery()
        query = select(categories).join(last, (last.c.name == _columns.name) & (last.c.revision == _columns.revision)).order_by(_columns.name)
        with reading(self.engine) as connection:
            return [FailureCategory(row.name, row.kind or None, row.description) for row in connection.execute(query)]

    def describe(self, told: Iterable[FailureCategory], by: str, at: datetime) -> int:
        """Add what is new of these; returns how many were."""
        known = {one.name: one for one in self.all()}
        news = [one for one in told if known.get(one.name, FailureCategory(one.name)) != one]
        for one in news:
            self._add(one, by, at)
        return len(news)

    def _add(self, one: FailureCategory, by: str, at: datetime) -> None:
        newest = select(func.coalesce(func.max(_columns.revision), 0)).where(_columns.name == one.name)
        for _ in range(3):
            try:
                with writing(self.engine) as connection:
                    revision: int = connection.execute(newest).scalar_one() + 1
                    row = {"name": one.name, "revision": revision, "kind": one.kind or "", "description": one.description, "by": by, "at": to_micros(at)}
                    connection.execute(categories.insert().values(**row))
                    return
            except IntegrityError:  # on PostgreSQL, somebody else has added this revision meanwhile
                continue


def of_suites(engine: Engine, event_ids: Iterable[str], suites: frozenset[str]) -> frozenset[str]:
    """Those of the events that have a result of one of the suites."""
    whole = sorted(set(event_ids))
    found: set[str] = set()
    with reading(engine) as connection:
        for first in range(0, len(whole), _IDS_AT_A_TIME):
            ids = whole[first : first + _IDS_AT_A_TIME]
            query = select(results.c.event_id).where(results.c.event_id.in_(ids), results.c.suite.in_(sorted(suites))).distinct()
            found.update(connection.execute(query).scalars())
    return frozenset(found)


def under_review(engine: Engine, queues: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Queue and event of the cases of these queues that still need verdicts."""
    query = select(queue_cases.c.queue, queue_cases.c.event_id).where(
        queue_cases.c.queue.in_(sorted(queues)), queue_cases.c.state.in_(("open", "needs_another"))
    )
    with reading(engine) as connection:
        return frozenset((row.queue, row.event_id) for row in connection.execute(query))
