"""Review queues in the result store: made once, then worked through by several reviewers and processes at the same time."""

import secrets
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qsl

from sqlalchemy import ColumnElement, Connection, Engine, Select, and_, func, literal, or_, select, update
from sqlalchemy.exc import IntegrityError

from touchstone.ops.store.case_filter import CaseFilter, FilterError
from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.queue_draw import draw
from touchstone.ops.store.queue_rows import Action, Counts, Definition, Mine, QueueCase, QueueRow, QueueState, Turn
from touchstone.ops.store.queue_states import note
from touchstone.ops.store.queue_tables import queue_cases, queue_places, queues
from touchstone.ops.store.rows import from_micros, to_micros
from touchstone.ops.store.schema import results

QUEUES_MAX: Final = 1_000
PAGE_MAX: Final = 200
AHEAD: Final = 2
#: States in which a case waits for a verdict.
_WAITING: Final = ("open", "needs_another")
_ROWS_AT_A_TIME: Final = 5_000
_own, _others = queue_places.alias("own"), queue_places.alias("others")
_of_case = queue_cases.c
#: A case still needs a verdict of the reviewer who is in the outer join `own`.
_LEFT: Final = (_of_case.state.in_(_WAITING), or_(_own.c.reviewer.is_(None), and_(_own.c.verdict == "", _own.c.skipped.is_(False))))


class QueueExists(Exception):
    """There is a queue of this name, or there are too many. The message says which."""


class Queues:
    """The review queues. Every method is one transaction and blocks. Raises `StoreUnavailable`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def create(self, name: str, definition: Definition, at: datetime, scope: frozenset[str] | None = None) -> QueueRow:
        """Make a queue of the results that there are now. Raises `FilterError` if its filter cannot be used, `QueueExists`."""
        wanted, definition = filter_of(definition, at, scope)
        with reading(self.engine) as connection:  # it may take seconds, in which others must be able to write
            drawn = draw(connection, definition, wanted)
        try:
            with writing(self.engine) as connection:
                there = {row.name: row for row in _rows(connection)}
                if name in there or len(there) >= QUEUES_MAX:
                    raise QueueExists("there is a queue of this name; choose another one" if name in there else f"there are {QUEUES_MAX:,} queues already")
                if definition.review_pass is None:
                    definition = definition.model_copy(update={"review_pass": _free_pass(definition, list(there.values()))})
                row = QueueRow(name, definition, secrets.token_hex(16), at)
                of_queue = {"name": name, "definition": definition.model_dump_json(), "link_key": row.link_key, "at": to_micros(at)}
                connection.execute(queues.insert().values(**of_queue))
                for first in range(0, len(drawn), _ROWS_AT_A_TIME):
                    part = drawn[first : first + _ROWS_AT_A_TIME]
                    places = [{"queue": name, "place": first + place, "state": "open", "verdicts": 0, **one._asdict()} for place, one in enumerate(part)]
                    connection.execute(queue_cases.insert(), places)
                return row
        except IntegrityError:  # on PostgreSQL, somebody else has made it meanwhile
            raise QueueExists("there is a queue of this name; choose another one") from None

    def all(self) -> list[QueueRow]:
        """Every queue, the newest first."""
        with reading(self.engine) as connection:
            return _rows(connection)

    def get(self, name: str) -> QueueRow | None:
        """A queue by its name."""
        with reading(self.engine) as connection:
            return next(iter(_rows(connection, queues.c.name == name)), None)

    def counts(self, names: Sequence[str]) -> dict[str, Counts]:
        """Queue → how many cases it has."""
        query = select(_of_case.queue, _of_case.state, _of_case.arm, func.count().label("cases")).where(_of_case.queue.in_(names))
        arms: dict[str, Counter[str]] = {name: Counter(chosen=0, random=0) for name in names}
        states: dict[str, Counter[str]] = {name: Counter(open=0, needs_another=0, disagreed=0, settled=0) for name in names}
        with reading(self.engine) as connection:
            for row in connection.execute(query.group_by(_of_case.queue, _of_case.state, _of_case.arm)):
                arms[row.queue][row.arm] += row.cases
                states[row.queue][row.state] += row.cases
        return {name: Counts(dict(arms[name]), dict(states[name])) for name in names}

    def mine(self, name: str, reviewer: str) -> Mine:
        """What a reviewer has done in a queue."""
        with reading(self.engine) as connection:
            return _mine(connection, name, reviewer)

    def case(self, name: str, event_id: str, reviewer: str, now: datetime) -> QueueCase | None:
        """A case of a queue as a reviewer sees it; None if the queue does not have it."""
        with reading(self.engine) as connection:
            return next(iter(_cases(connection, _seen(name, reviewer, now).where(_of_case.event_id == event_id))), None)

    def cases(self, name: str, reviewer: str, now: datetime, *, state: QueueState | None, after: int, limit: int) -> list[QueueCase]:
        """Cases in the order of the queue, from behind a place."""
        query = _seen(name, reviewer, now).where(_of_case.place > after)
        if state is not None:
            query = query.where(_of_case.state == state)
        with reading(self.engine) as connection:
            return _cases(connection, query.order_by(_of_case.place).limit(limit))

    def next(self, row: QueueRow, reviewer: str, now: datetime, reserve_s: float, *, after: str | None = None, skip_reserved: bool = True) -> Turn:
        """The next case that needs a verdict of a reviewer, reserved for them, and those that follow. Behind `after`, and then from the beginning.

        Their other reservations in the queue end.
        """
        moment = to_micros(now)
        with writing(self.engine) as connection:
            # PostgreSQL: two reviewers who ask at the same time must not get the same place.
            connection.execute(select(queues.c.name).where(queues.c.name == row.name).with_for_update())
            waiting = _seen(row.name, reviewer, now).where(*_LEFT)
            if skip_reserved:
                waiting = waiting.where(_of_case.verdicts + _reserved(reviewer, moment) < row.definition.reviewers)
            place = connection.execute(select(_of_case.place).where(_of_case.queue == row.name, _of_case.event_id == after)).scalar() if after else None
            found: list[QueueCase] = []
            bounds: list[ColumnElement[bool]] = [_of_case.place > place, _of_case.place < place] if place is not None else [literal(True)]
            for bound in bounds:
                missing = 1 + AHEAD - len(found)
                found += _cases(connection, waiting.where(bound).order_by(_of_case.place).limit(missing)) if missing else []
            _release(connection, row.name, reviewer)
            if found:
                note(connection, row.name, found[0].event_id, reviewer, {"reserved_until": moment + round(reserve_s * 1e6)})
            return Turn(found[0] if found else None, tuple(found[1:]))

    def act(self, name: str, event_id: str, reviewer: str, action: Action, now: datetime, reserve_s: float) -> None:
        """Reserve or release a case, skip it without a verdict, or take that back."""
        changed: dict[Action, dict[str, Any]] = {
            "reserve": {"reserved_until": to_micros(now) + round(reserve_s * 1e6)},
            "release": {"reserved_until": 0},
            "skip": {"skipped": True, "reserved_until": 0},
            "unskip": {"skipped": False},
        }
        with writing(self.engine) as connection:
            note(connection, name, event_id, reviewer, changed[action])

    def differing(self, name: str, after: int, limit: int, *, reviewer: str | None) -> list[QueueCase]:
        """Cases on which reviewers with all verdicts differ, settled or not. `reviewer`: only those on which this one has given a verdict."""
        given = queue_places.c.verdict
        of_queue = (queue_places.c.queue == name, given != "")
        differ = select(queue_places.c.event_id).where(*of_queue).group_by(queue_places.c.event_id).having(func.min(given) < func.max(given))
        query = _seen(name, reviewer or "", from_micros(0)).where(_of_case.place > after, _of_case.state.in_(("disagreed", "settled")))
        query = query.where(_of_case.event_id.in_(differ))
        if reviewer is not None:
            query = query.where(_own.c.verdict != "")
        with reading(self.engine) as connection:
            return _cases(connection, query.order_by(_of_case.place).limit(limit))

    def pairs(self, row: QueueRow) -> dict[tuple[str, str], Counter[tuple[str, str]]]:
        """Two reviewers → how often they gave which verdicts to the same case. In a blind queue, the verdicts before either could see the other's."""
        one, other = queue_places.alias("one"), queue_places.alias("other")
        first, second = (one.c.blind, other.c.blind) if row.definition.blind else (one.c.verdict, other.c.verdict)
        both = and_(one.c.queue == other.c.queue, one.c.event_id == other.c.event_id, one.c.reviewer < other.c.reviewer)
        query = select(one.c.reviewer, other.c.reviewer, first, second, func.count()).join_from(one, other, both)
        query = query.where(one.c.queue == row.name, first != "", second != "").group_by(one.c.reviewer, other.c.reviewer, first, second)
        found: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
        with reading(self.engine) as connection:
            for a, b, mine, theirs, count in connection.execute(query).tuples():
                found.setdefault((a, b), Counter())[mine, theirs] += count
        return found

    def renew_links(self, name: str) -> bool:
        """Make all links to a queue useless; False if there is no such queue."""
        with writing(self.engine) as connection:
            return bool(connection.execute(update(queues).where(queues.c.name == name).values(link_key=secrets.token_hex(16))).rowcount)


def filter_of(definition: Definition, until: datetime, scope: frozenset[str] | None) -> tuple[CaseFilter, Definition]:
    """The filter of a queue's results until now, and the definition with its suite. Raises `FilterError`."""
    query = definition.filter.removeprefix("?")
    wanted = CaseFilter.parse(parse_qsl(query, keep_blank_values=True), scope)
    suite = definition.suite or (wanted.suite[0] if len(wanted.suite) == 1 else None)
    if suite is not None and wanted.suite not in {(), (suite,)}:
        raise FilterError("suite: the filter names others; leave the suite out of the filter")
    if definition.stratify is not None and definition.size is None and definition.share is None:
        raise FilterError("stratify: give a size or a share, too")
    named = CaseFilter.parse([*((name, value) for name, value in wanted.parameters() if name not in {"suite", "until"}), *_suites(wanted, suite)], scope)
    bounded = min(until, wanted.until) if wanted.until is not None else until
    frozen = CaseFilter.parse([*named.parameters(), ("until", bounded.isoformat())], scope)
    return frozen, definition.model_copy(update={"filter": query, "suite": suite})


def _suites(wanted: CaseFilter, suite: str | None) -> list[tuple[str, str]]:
    return [("suite", one) for one in ((suite,) if suite is not None else wanted.suite)]


def _free_pass(definition: Definition, others: Sequence[QueueRow]) -> int:
    """The lowest pass that no queue about another suite has: a reviewer has one annotation of a case in a pass, and that one is about one suite."""
    taken = {other.review_pass for other in others if other.definition.suite != definition.suite}
    return next(one for one in range(1, len(taken) + 2) if one not in taken)


def _rows(connection: Connection, *conditions: ColumnElement[bool]) -> list[QueueRow]:
    query = select(queues).where(*conditions).order_by(queues.c.at.desc(), queues.c.name)
    return [QueueRow(row.name, Definition.model_validate_json(row.definition), row.link_key, from_micros(row.at)) for row in connection.execute(query)]


def _seen(name: str, reviewer: str, now: datetime) -> Select[Any]:
    """The cases of a queue as a reviewer sees them."""
    own = and_(_own.c.queue == _of_case.queue, _own.c.event_id == _of_case.event_id, _own.c.reviewer == reviewer)
    reserved = _reserved(reviewer, to_micros(now)).label("reserved")
    columns = (_of_case.event_id, _of_case.result_id, _of_case.place, _of_case.arm, _of_case.state, _own.c.verdict, _own.c.skipped, reserved)
    of_result = (results.c.suite, results.c.case_id, results.c.label, results.c.overall, results.c.severity)
    joined = queue_cases.outerjoin(_own, own).outerjoin(results, results.c.result_id == _of_case.result_id)
    return select(*columns, *of_result).select_from(joined).where(_of_case.queue == name)


def _reserved(reviewer: str, moment: int) -> Any:
    """How many other reviewers have a case reserved."""
    others = (_others.c.queue == _of_case.queue, _others.c.event_id == _of_case.event_id, _others.c.reviewer != reviewer)
    return select(func.count()).select_from(_others).where(*others, _others.c.reserved_until > moment, _others.c.verdict == "").scalar_subquery()


def _cases(connection: Connection, query: Select[Any]) -> list[QueueCase]:
    return [
        QueueCase(
            row.event_id, row.result_id, row.place, row.arm, row.state, row.suite or "", row.case_id or "", row.label or "", row.overall,
            row.severity or "", row.verdict or "", bool(row.skipped), bool(row.reserved),
        )
        for row in connection.execute(query)
    ]  # fmt: skip


def _mine(connection: Connection, name: str, reviewer: str) -> Mine:
    of_reviewer = (queue_places.c.queue == name, queue_places.c.reviewer == reviewer)
    done, skipped = (
        connection.execute(select(func.count()).select_from(queue_places).where(*of_reviewer, condition)).scalar_one()
        for condition in (queue_places.c.verdict != "", queue_places.c.skipped)
    )
    waiting = (_of_case.queue == name, _of_case.state.in_(_WAITING))
    left = connection.execute(select(func.count()).select_from(queue_cases).where(*waiting)).scalar_one()
    # Those of them that the reviewer is done with are few rows, looked up by their key.
    over = and_(_of_case.queue == queue_places.c.queue, _of_case.event_id == queue_places.c.event_id)
    finished = select(func.count()).select_from(queue_places.join(queue_cases, over)).where(*of_reviewer, _of_case.state.in_(_WAITING))
    finished = finished.where(or_(queue_places.c.verdict != "", queue_places.c.skipped))
    return Mine(done, skipped, left - int(connection.execute(finished).scalar_one()))


def _release(connection: Connection, name: str, reviewer: str) -> None:
    of_reviewer = (queue_places.c.queue == name, queue_places.c.reviewer == reviewer, queue_places.c.reserved_until > 0)
    connection.execute(update(queue_places).where(*of_reviewer).values(reserved_until=0))
