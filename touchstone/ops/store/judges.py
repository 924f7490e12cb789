"""What the store knows of judges: how they judged the results of a span, who judged them, and their states now."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from pydantic import ValidationError
from sqlalchemy import Engine, case, func, select

from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.rows import from_micros
from touchstone.ops.store.schema import annotations, judges, results
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.prevalence import JudgeStatus
from touchstone.streams.account.judge_port import Verdicts

#: States that are kept and read: there are a few judges, each with a folder.
STATES_MAX: Final = 1_000
_ROWS_PER_FETCH: Final = 5_000


class JudgeStore:
    """Counts of verdicts and states of judges in the result store. Every method is one transaction and blocks. Raises `StoreUnavailable`.

    `annotations`: reads all annotations.
    """

    def __init__(self, engine: Engine, annotations: Callable[[], list[AnnotationRecord]] = list) -> None:
        self.engine = engine
        self.annotations = annotations

    def verdicts(self, suite: str, values: Sequence[str], since: int, until: int) -> dict[str, Verdicts]:
        """Configuration digest → verdicts of the suite's results that were scored in a span (microseconds since the epoch).

        By label; and where `values` names some, by each of these, which costs reading every row.
        """
        within = (results.c.suite == suite, results.c.scored_at >= since, results.c.scored_at < until)
        failed = func.sum(case((results.c.label == "Fail", 1), else_=0))
        scored = func.sum(case((results.c.label != "unscored", 1), else_=0))
        found: dict[str, Verdicts] = {}
        with reading(self.engine) as connection:
            for row in connection.execute(select(results.c.config_digest, failed, scored).where(*within).group_by(results.c.config_digest)):
                found[row[0]] = Verdicts({None: (row[1], row[2])})
            if values and found:
                query = select(results.c.config_digest, results.c.scores).where(*within).execution_options(yield_per=_ROWS_PER_FETCH)
                _count(((row[0], row[1]) for row in connection.execute(query)), values, found)
        return found

    def newest(self, suite: str, config_digest: str, since: int, until: int) -> Mapping[str, Any]:
        """The newest result event of a configuration in a span; empty if there is none, or a damaged one."""
        here = (results.c.suite == suite, results.c.config_digest == config_digest, results.c.scored_at >= since, results.c.scored_at < until)
        with reading(self.engine) as connection:
            document = connection.execute(select(results.c.document).where(*here).order_by(results.c.scored_at.desc()).limit(1)).scalar()
        try:
            found = orjson.loads(document or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    def annotations_state(self) -> tuple[int, int]:
        """What changes whenever an annotation is added or removed: how many there are, and when the latest was written."""
        with reading(self.engine) as connection:
            count, latest = connection.execute(select(func.count(), func.coalesce(func.max(annotations.c.at), 0)).select_from(annotations)).one()
        return count, latest

    def keep_states(self, states: Iterable[JudgeStatus], now: float) -> None:
        """Write the states of some judges."""
        rows = [{"subject": one.subject, "at": int(now * 1e6), "document": one.model_dump_json(by_alias=True)} for one in states]
        if rows:
            with writing(self.engine) as connection:
                connection.execute(judges.delete().where(judges.c.subject.in_([row["subject"] for row in rows])))
                connection.execute(judges.insert(), rows)

    def drop_states(self, subjects: Iterable[str]) -> None:
        """Remove the states of judges that are no longer there."""
        if gone := list(subjects):
            with writing(self.engine) as connection:
                connection.execute(judges.delete().where(judges.c.subject.in_(gone)))

    def states(self) -> list[tuple[JudgeStatus, datetime]]:
        """The state of each judge and when it was written, by subject. One that another version wrote and this one cannot read is left out."""
        with reading(self.engine) as connection:
            rows = connection.execute(select(judges).order_by(judges.c.subject).limit(STATES_MAX)).all()
        found = []
        for row in rows:
            try:
                found.append((JudgeStatus.model_validate_json(row.document), from_micros(row.at).astimezone(UTC)))
            except ValidationError:
                continue
        return found


def _count(rows: Iterable[tuple[str, str]], values: Sequence[str], found: Mapping[str, Verdicts]) -> None:
    """Add the verdicts by value: one is given where the result has the value, and fails at 0."""
    for digest, scores in rows:
        try:
            held = orjson.loads(scores)
        except ValueError:
            continue  # a damaged row says nothing
        counts = found[digest].counts
        for name in values:
            if (value := held.get(name)) is not None:
                failed, total = counts.get(name, (0, 0))
                counts[name] = (failed + (value == 0), total + 1)
