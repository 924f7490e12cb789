"""What the store knows of judges: how they judged the results of a span, who judged them, and their states now."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from pydantic import ValidationError
from sqlalchemy import Engine, func, select

from touchstone.ops.store.case_query import Scanned
from touchstone.ops.store.engine import reading, writing
from touchstone.ops.store.queue_tables import guidelines
from touchstone.ops.store.rows import from_micros
from touchstone.ops.store.schema import annotations, judges, results
from touchstone.schemas.annotation import AnnotationRecord
from touchstone.schemas.prevalence import JudgeStatus
from touchstone.streams.account.judge_port import Verdicts, Way

#: States that are kept and read: there are a few judges, each with a folder.
STATES_MAX: Final = 1_000
#: Results among which the newest with a value is looked for: where a judge is asked about few traces, most have none.
LOOKED_AT_MAX: Final = 2_000
_ROWS_PER_FETCH: Final = 5_000
_WAY: Final = (Scanned(results.c.suite_version), results.c.config_digest)


class JudgeStore:
    """Counts of verdicts and states of judges in the result store. Every method is one transaction and blocks. Raises `StoreUnavailable`.

    `annotations`: reads all annotations.
    """

    def __init__(self, engine: Engine, annotations: Callable[[], list[AnnotationRecord]] = list) -> None:
        self.engine = engine
        self.annotations = annotations

    def verdicts(self, suite: str, values: Sequence[str], since: int, until: int) -> dict[Way, Verdicts]:
        """Verdicts of the suite's results that were scored in a span, by what they were scored with. Counting `values` costs reading every row."""
        within = (Scanned(results.c.suite) == suite, results.c.scored_at >= since, results.c.scored_at < until)
        found: dict[Way, Verdicts] = {}
        with reading(self.engine) as connection:
            query = select(*_WAY, results.c.label, func.count()).where(*within).group_by(*_WAY, results.c.label)
            for version, digest, label, count in connection.execute(query):
                found.setdefault((version, digest), Verdicts()).labels[label] = count
            if values and found:
                rows = connection.execute(select(*_WAY, results.c.scores).where(*within).execution_options(yield_per=_ROWS_PER_FETCH))
                _count((((version, digest), scores) for version, digest, scores in rows), values, found)
        return found

    def newest(self, suite: str, way: Way, value: str | None, since: int, until: int) -> Mapping[str, Any]:
        """The newest result event in a span that was scored so, and has the value; empty if there is none among the last `LOOKED_AT_MAX`, or a damaged one."""
        version, digest = way
        query = select(results.c.result_id, results.c.scores).order_by(results.c.scored_at.desc()).limit(LOOKED_AT_MAX if value is not None else 1)
        query = query.where(Scanned(results.c.suite) == suite, Scanned(results.c.suite_version) == version, results.c.config_digest == digest)
        with reading(self.engine) as connection:
            rows = connection.execute(query.where(results.c.scored_at >= since, results.c.scored_at < until)).all()
            found = next((row.result_id for row in rows if value is None or _loaded(row.scores).get(value) is not None), None)
            document = connection.execute(select(results.c.document).where(results.c.result_id == found)).scalar() if found is not None else None
        return _loaded(document or "{}")

    def annotations_state(self) -> tuple[int, int]:
        """What changes whenever an annotation is added or removed: how many there are, and when the latest was written."""
        with reading(self.engine) as connection:
            count, latest = connection.execute(select(func.count(), func.coalesce(func.max(annotations.c.at), 0)).select_from(annotations)).one()
        return count, latest

    def guidelines(self) -> dict[str, int]:
        """Name of each guideline → its newest version."""
        query = select(guidelines.c.name, func.max(guidelines.c.version)).group_by(guidelines.c.name)
        with reading(self.engine) as connection:
            return dict(connection.execute(query).tuples().all())

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


def _count(rows: Iterable[tuple[Way, str]], values: Sequence[str], found: Mapping[Way, Verdicts]) -> None:
    """Add the verdicts by value."""
    for way, scores in rows:
        held = _loaded(scores)
        counts = found[way].values
        for name in values:
            if (value := held.get(name)) is not None:
                failed, total = counts.get(name, (0, 0))
                counts[name] = (failed + (value == 0), total + 1)


def _loaded(text: str) -> dict[str, Any]:
    """A JSON object; a damaged one says nothing."""
    try:
        found = orjson.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
