"""Searches the text of kept cases. The text searched for is in no log, error or cursor."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

import orjson

from touchstone.ops.store.archive.keeping import Hits, Keeping
from touchstone.ops.store.case_filter import CaseFilter, FilterError
from touchstone.ops.store.case_rows import CaseRow, ListedCase
from touchstone.ops.store.history import History

#: Results whose cases are read between two looks at the clock.
_AT_A_TIME: Final = 50
TEXT_CHARS_MAX: Final = 1_000


def search(archive: Keeping, wanted: CaseFilter, text: str, cursor: str | None, budget_s: float) -> Hits:
    """One step: at least one page of the list, and further ones until time or bytes are used up. Letters match whatever their case.

    A cursor is `SEARCHED~CURSOR OF THE LIST`. Raises `FilterError` for a text that is empty or too long, or a cursor that is none.
    """
    if not text.strip() or len(text) > TEXT_CHARS_MAX:
        raise FilterError(f"text: give 1 to {TEXT_CHARS_MAX} characters")
    # As JSON writes it, so that the whole document is searched at once.
    needle = orjson.dumps(text.encode("utf-8", "replace").decode())[1:-1].decode().casefold()
    searched, at = _read(cursor)
    history = History(archive.index.engine)
    only = replace(wanted, kept="yes")
    until, left = time.monotonic() + budget_s, archive.settings.search_bytes_max
    found: list[ListedCase] = []
    unread = 0
    total = history.count(only)  # once a step: it takes as long as many pages
    with ThreadPoolExecutor(archive.settings.writers) as pool:
        while True:
            page = history.cases(only, _AT_A_TIME, at, count=False)
            rows: dict[str, CaseRow] = {row.event_id: row.kept for row in page.rows if row.kept is not None and row.kept.state == "kept"}
            # A case is searched by the thread that read it, so that only as many as there are threads are in memory.
            holds = list(pool.map(lambda row: _holds(archive.content(row), needle), rows.values()))
            unread += holds.count(None)
            matching = {event_id for event_id, it_does in zip(rows, holds, strict=True) if it_does}
            found += [row for row in page.rows if row.event_id in matching]
            searched += len(page.rows)
            left -= sum(row.bytes for row in rows.values())
            at = page.next
            if at is None or time.monotonic() >= until or left <= 0:
                return Hits(tuple(found), None if at is None else f"{searched}~{at}", searched, total, unread)


def _holds(data: bytes | None, needle: str) -> bool | None:
    """Whether a case has the text; None if it cannot be read."""
    if data is None:
        return None
    try:
        return needle in orjson.dumps(orjson.loads(data)).decode().casefold()
    except orjson.JSONDecodeError:
        return None


def _read(cursor: str | None) -> tuple[int, str | None]:
    if cursor is None:
        return 0, None
    number, mark, rest = cursor.partition("~")
    if not (mark and number.isascii() and number.isdigit() and len(number) < 12):
        raise FilterError("cursor: use the one of the step before")
    return int(number), rest or None
