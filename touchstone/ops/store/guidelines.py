"""Guidelines: versioned texts that say what passes. Only added to, so that an annotation's version can always be read."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import IntegrityError

from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.queue_rows import GUIDELINE, Guideline
from touchstone.ops.store.queue_tables import guidelines
from touchstone.ops.store.rows import from_micros, to_micros

GUIDELINES_MAX: Final = 500
_columns = guidelines.c


class TooManyGuidelines(Exception):
    """There are as many guidelines as there may be."""


class Guidelines:
    """The guidelines of the store. Every method is one transaction and blocks. Raises `StoreUnavailable`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def save(self, name: str, text: str, by: str, at: datetime) -> Guideline:
        """Add a version; the same text as the newest one is that version. Raises `TooManyGuidelines`."""
        for _ in range(3):
            try:
                with writing(self.engine) as connection:
                    return _saved(connection, name, text, by, at)
            except IntegrityError:  # on PostgreSQL, somebody else has added this version meanwhile
                continue
        raise TooManyGuidelines

    def newest(self) -> list[Guideline]:
        """The newest version of each, by name."""
        last = select(_columns.name, func.max(_columns.version).label("version")).group_by(_columns.name).subquery()
        query = select(guidelines).join(last, (last.c.name == _columns.name) & (last.c.version == _columns.version)).order_by(_columns.name)
        with reading(self.engine) as connection:
            return [_guideline(row) for row in connection.execute(query)]

    def get(self, name: str, version: int | None = None) -> Guideline | None:
        """A version, by default the newest."""
        with reading(self.engine) as connection:
            return _read(connection, name, version)

    def named(self, text: str | None) -> Guideline | None:
        """The guideline that a queue names: `NAME` or `NAME@VERSION`."""
        parts = GUIDELINE.fullmatch(text or "")
        return self.get(parts["name"], int(parts["version"]) if parts["version"] else None) if parts else None


def _saved(connection: Connection, name: str, text: str, by: str, at: datetime) -> Guideline:
    known = _read(connection, name, None)
    if known is not None and known.text == text:
        return known
    if known is None and connection.execute(select(func.count(_columns.name.distinct()))).scalar_one() >= GUIDELINES_MAX:
        raise TooManyGuidelines
    made = Guideline(name, known.version + 1 if known is not None else 1, text, by, at)
    row = {"name": name, "version": made.version, "text": text, "by": by, "at": to_micros(at)}
    connection.execute(guidelines.insert().values(**row))
    return made


def _read(connection: Connection, name: str, version: int | None) -> Guideline | None:
    query = select(guidelines).where(_columns.name == name)
    if version is not None:
        query = query.where(_columns.version == version)
    row = connection.execute(query.order_by(_columns.version.desc()).limit(1)).one_or_none()
    return None if row is None else _guideline(row)


def _guideline(row: Any) -> Guideline:
    return Guideline(row.name, row.version, row.text, row.by, from_micros(row.at))
