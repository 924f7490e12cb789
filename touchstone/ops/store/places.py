"""What the store has at the places of incoming results: the same event again, or another one where only one can be."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, select

from touchstone.ops.store.schema import repeats, results
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.scorers.identity import deterministic_id
from touchstone.streams.account.projection import ResultRow, Unreadable, content_of
from touchstone.streams.wire.codec import position_id

#: Offsets no further apart than this are looked up together.
GAP_MAX = 1_000

#: Suite, its version, topic, partition.
_Log = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Claim:
    """A result that names a place."""

    result_id: str
    event_id: str
    config_digest: str
    topic_id: str
    checksum: int
    content: str


@dataclass(slots=True)
class Places:
    """Place → the results that name it, in the store or earlier in this transaction."""

    claims: dict[tuple[_Log, int], list[Claim]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, connection: Connection, rows: Iterable[ResultRow]) -> "Places":
        """Look up the places of these rows."""
        wanted: dict[_Log, set[int]] = defaultdict(set)
        for row in rows:
            wanted[_log_of(row)].add(row.source.offset)
        places = cls()
        for log, offsets in wanted.items():
            for first, last in _spans(sorted(offsets)):
                for query in _queries(log, first, last):
                    for at, *claim in connection.execute(query):
                        places.claims[log, at].append(Claim(*claim))
        return places

    def add(self, row: ResultRow) -> None:
        """Note a row that is about to be written."""
        claim = Claim(row.result_id, row.event_id, row.config_digest, row.source.topic_id, row.checksum, row.content)
        self.claims[_log_of(row), row.source.offset].append(claim)

    def beside(self, row: ResultRow) -> list[Claim]:
        """The claims on the row's place. A topic id that is not known may be any."""
        topic_id = row.source.topic_id
        held = self.claims.get((_log_of(row), row.source.offset), ())
        return [claim for claim in held if not (topic_id and claim.topic_id) or topic_id == claim.topic_id]


def is_same_event(row: ResultRow, claim: Claim) -> bool | None:
    """Whether a row and a claim on its place are of one event. None: neither shows it.

    Checksums decide. Rows of earlier versions have none; then the ids decide, and for events without an id of their own, which such a version
    named in another way, what the result says.
    """
    if row.checksum and claim.checksum:
        return row.checksum == claim.checksum
    if row.event_id == claim.event_id:
        return True
    source = row.source._replace(topic_id=row.source.topic_id or claim.topic_id)
    place = SourceRef(**source._asdict(), checksum=row.checksum or claim.checksum)
    by_name = deterministic_id(f"{place.topic}/{place.partition}/{place.offset}")
    if {row.event_id, claim.event_id} != {by_name, position_id(place)}:
        return False
    return _content_as(row, claim) == claim.content if row.config_digest == claim.config_digest else None


def _content_as(row: ResultRow, claim: Claim) -> str:
    """The row's content with the claim's ids."""
    try:
        result = ScoreResult.model_validate_json(row.document, extra="ignore")
        return content_of(result.model_copy(update={"event_id": claim.event_id, "result_id": claim.result_id}))
    except (ValueError, Unreadable):
        return ""


def _log_of(row: ResultRow) -> _Log:
    return row.suite, row.suite_version, row.source.topic, row.source.partition


def _spans(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Few spans that hold all of these ascending offsets."""
    spans: list[tuple[int, int]] = []
    for offset in offsets:
        if spans and offset - spans[-1][1] <= GAP_MAX:
            spans[-1] = (spans[-1][0], offset)
        else:
            spans.append((offset, offset))
    return spans


def _queries(log: _Log, first: int, last: int) -> Iterable[Select[Any]]:
    """Results and repeats between two offsets: offset, and the fields of a claim."""
    named = (results.c.result_id, results.c.event_id, results.c.config_digest)
    for table in (results, repeats):
        columns = (table.c.source_offset, *named, table.c.source_topic_id, table.c.checksum, results.c.content)
        query = select(*columns) if table is results else select(*columns).join_from(repeats, results, repeats.c.result_id == results.c.result_id)
        suite, version, topic, partition = log
        yield query.where(
            table.c.suite == suite,
            table.c.suite_version == version,
            table.c.source_topic == topic,
            table.c.source_partition == partition,
            table.c.source_offset.between(first, last),
        )
