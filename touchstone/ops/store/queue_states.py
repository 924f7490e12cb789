"""What follows from the annotations of a case in a queue: each reviewer's verdict, and the state of the case."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, Row, select, update
from sqlalchemy.dialects import postgresql, sqlite

from touchstone.ops.store.queue_rows import Definition, QueueState
from touchstone.ops.store.queue_tables import queue_cases, queue_places, queues
from touchstone.ops.store.schema import annotations


@dataclass(frozen=True, slots=True)
class Standing:
    """Reviewer → verdict now, and the last one that was given before another reviewer's could be seen."""

    state: QueueState
    verdicts: dict[str, str]
    blind: dict[str, str]


class Written(NamedTuple):
    """An annotation of a case in a queue."""

    reviewer: str
    verdict: str
    settled: bool
    withdrawn: bool


def standing(written: Sequence[Written], reviewers: int) -> Standing:
    """The state of a case from what was written, in order.

    A reviewer's newest annotation counts. One that settles leaves the reviewer's own verdict as it was, and decides over all.
    """
    own: dict[str, str] = {}
    blind: dict[str, str] = {}
    newest: dict[str, Written] = {}
    for one in written:
        newest[one.reviewer] = one
        if one.withdrawn:
            own[one.reviewer] = ""
        elif not one.settled:
            own[one.reviewer] = one.verdict
            # Once another's verdict stands beside one's own, a change of mind may be a change to theirs.
            if one.verdict and (one.reviewer not in blind or not any(other != one.reviewer for other in blind)):
                blind[one.reviewer] = one.verdict
    verdicts = {reviewer: verdict for reviewer, verdict in own.items() if verdict}
    is_settled = any(one.settled and one.verdict and not one.withdrawn for one in newest.values())
    state: QueueState = "open"
    if is_settled:
        state = "settled"
    elif len(verdicts) >= reviewers:
        state = "settled" if len(set(verdicts.values())) == 1 else "disagreed"
    elif verdicts:
        state = "needs_another"
    return Standing(state, verdicts, {reviewer: verdict for reviewer, verdict in blind.items() if reviewer in verdicts})


def follow(connection: Connection, queue: str, event_id: str) -> None:
    """Bring a case of a queue up to date with its annotations. In the transaction that wrote one."""
    found = connection.execute(select(queues.c.definition).where(queues.c.name == queue)).scalar()
    if found is None:  # imported from another store
        return
    definition = Definition.model_validate_json(found)
    of_case = (annotations.c.queue == queue, annotations.c.event_id == event_id, annotations.c.review_pass == (definition.review_pass or 1))
    rows = connection.execute(select(annotations.c.reviewer, annotations.c.body).where(*of_case).order_by(annotations.c.revision)).all()
    now = standing([_written(row) for row in rows], definition.reviewers)
    changed = update(queue_cases).where(queue_cases.c.queue == queue, queue_cases.c.event_id == event_id)
    if not connection.execute(changed.values(state=now.state, verdicts=len(now.verdicts))).rowcount:
        return
    for reviewer in dict.fromkeys(row.reviewer for row in rows):
        verdict = now.verdicts.get(reviewer, "")
        given: dict[str, Any] = {"verdict": verdict, "blind": now.blind.get(reviewer, "")}
        # Who has given a verdict needs no place any more.
        note(connection, queue, event_id, reviewer, given | ({"skipped": False, "reserved_until": 0} if verdict else {}))


def note(connection: Connection, queue: str, event_id: str, reviewer: str, changed: dict[str, Any]) -> None:
    """Change what a reviewer has of a case."""
    insert = postgresql.insert(queue_places) if connection.dialect.name == "postgresql" else sqlite.insert(queue_places)
    whole = {"queue": queue, "event_id": event_id, "reviewer": reviewer, "verdict": "", "blind": "", "skipped": False, "reserved_until": 0} | changed
    connection.execute(insert.values(**whole).on_conflict_do_update(index_elements=["queue", "event_id", "reviewer"], set_=changed))


def _written(row: Row[Any]) -> Written:
    body = orjson.loads(row.body)
    return Written(row.reviewer, body.get("verdict") or "", body.get("settled") is True, body.get("withdrawn") is True)
