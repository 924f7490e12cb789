"""Outcome intervals in the store, as pages: few rows even where outcomes alternate at every offset."""

import math
from collections.abc import Iterable, Iterator, Sequence

import orjson
from sqlalchemy import ColumnElement, Connection, and_, select, union

from touchstone.ops.store.schema import pages, repeats, results
from touchstone.streams.account.intervals import Interval, fold, runs_of_ascending
from touchstone.streams.account.projection import AccountKey
from touchstone.streams.account.store_port import Account

#: Intervals of one page. A page is read and written whole, so this bounds what one more offset costs.
PAGE_INTERVALS_MAX = 512


def of_account(account: AccountKey) -> list[ColumnElement[bool]]:
    """Conditions that select the pages of one account."""
    return [
        pages.c.suite == account.suite,
        pages.c.suite_version == account.suite_version,
        pages.c.topic == account.topic,
        pages.c.topic_id == account.topic_id,
        pages.c.partition == account.partition,
    ]


def add_outcomes(connection: Connection, account: AccountKey, claims: Iterable[Interval]) -> None:
    """Fold new claims into an account. Reads and writes only the pages that they touch, and the one before."""
    fresh = fold(claims)
    if not fresh:
        return
    lowest, highest = fresh[0].first - 1, fresh[-1].last + 1
    condition = and_(*of_account(account))
    before = select(pages.c.first).where(condition, pages.c.first <= lowest).order_by(pages.c.first.desc()).limit(1)
    start = connection.execute(before).scalar()
    touched = and_(condition, pages.c.first >= (lowest if start is None else start), pages.c.first <= highest)
    rows = connection.execute(select(pages.c.first, pages.c.intervals).where(touched).order_by(pages.c.first)).all()
    known = [interval for row in rows for interval in decode(row.intervals)]
    folded = fold([*known, *fresh])
    if folded == known:
        return
    connection.execute(pages.delete().where(touched))
    connection.execute(pages.insert(), [_page(account, chunk) for chunk in _chunks(folded)])


def _chunks(intervals: Sequence[Interval]) -> Iterator[Sequence[Interval]]:
    """As few pages as possible, about equally full, so that the next offset in any of them does not split it at once."""
    pages_count = math.ceil(len(intervals) / PAGE_INTERVALS_MAX)
    length = math.ceil(len(intervals) / pages_count)
    for index in range(0, len(intervals), length):
        yield intervals[index : index + length]


def _page(account: AccountKey, chunk: Sequence[Interval]) -> dict[str, object]:
    return {**account._asdict(), "first": chunk[0].first, "last": chunk[-1].last, "intervals": orjson.dumps(list(map(list, chunk))).decode()}


def decode(page: str) -> list[Interval]:
    """The intervals of one page."""
    return [Interval(*interval) for interval in orjson.loads(page)]


def read_outcomes(connection: Connection, account: AccountKey) -> list[Interval]:
    """Every interval of an account: ascending, disjoint, and joined across pages."""
    query = select(pages.c.intervals).where(*of_account(account)).order_by(pages.c.first)
    return fold(interval for row in connection.execute(query) for interval in decode(row.intervals))


def read_account(connection: Connection, account: AccountKey) -> Account:
    """Outcomes and rows of an account, from one transaction. Rows of several configurations may name the same offset."""
    parts = [
        select(table.c.source_offset).where(
            table.c.suite == account.suite,
            table.c.suite_version == account.suite_version,
            table.c.source_topic == account.topic,
            table.c.source_topic_id == account.topic_id,
            table.c.source_partition == account.partition,
        )
        for table in (results, repeats)
    ]
    intervals = read_outcomes(connection, account)
    query = union(*parts).order_by("source_offset")
    rows = connection.execution_options(yield_per=10_000).execute(query)
    return Account(tuple(intervals), tuple(runs_of_ascending(row.source_offset for row in rows)))
