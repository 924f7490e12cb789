"""Turns records of the results topic into rows for the store. Pure: no Kafka, no database."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

import orjson
import structlog
from pydantic import ValidationError

from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.result import OF_ONE_SCORING, ScoreResult, SourceRef
from touchstone.scorers.identity import deterministic_id
from touchstone.scorers.suite import Suite, default_group
from touchstone.streams.account.intervals import Interval, runs
from touchstone.streams.account.listed import NOT_LISTED, Listed, listed_of
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Record, fields_of

log = structlog.get_logger("touchstone.projector")

#: Bounds of what a column or an index takes; anything past them was not written by a worker.
TEXT_CHARS_MAX = 512
OFFSET_MAX = 2**62
PARTITION_MAX = 2**31 - 1
NO_SUITES: Mapping[str, Suite] = MappingProxyType({})
#: Largest value: the sum over as many cases as there are offsets is still finite.
VALUE_MAX = 1e280


class AccountKey(NamedTuple):
    """One account of outcomes: a suite's version, on one partition of an input topic. `topic_id`: empty if it is not known."""

    suite: str
    suite_version: str
    topic: str
    topic_id: str
    partition: int


class BatchKey(NamedTuple):
    """The results that one report covers."""

    suite: str
    suite_version: str
    config_digest: str
    concern_id: str
    batch_id: str

    @property
    def report_id(self) -> str:
        """UUIDv5 of the group, so that a report keeps its id."""
        return deterministic_id(json.dumps(["report", *self], separators=(",", ":")))


class Position(NamedTuple):
    """The place of an event. If an event is repeated, its lowest position counts. `topic_id`: empty if it is not known."""

    topic: str
    topic_id: str
    partition: int
    offset: int

    def may_be(self, other: "Position") -> bool:
        """True unless the two are different places: a topic id that is not known may be any."""
        here, there = (self.topic, self.partition, self.offset), (other.topic, other.partition, other.offset)
        return here == there and (self.topic_id == other.topic_id or not (self.topic_id and other.topic_id))


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One result of the store: its event as it was on the topic (`document`), and columns to find and count it by.

    `scores`: its values, as JSON. `content`: digest of all that a report could show. It leaves out the event's place, when it was scored and
    how long that took, so a replay has the same content. `checksum`: of the event; 0 if it is not known.
    `listed`: what lists of cases show of it.
    """

    result_id: str
    event_id: str
    suite: str
    suite_version: str
    config_digest: str
    label: str
    batch: BatchKey | None
    batch_size: int | None
    source: Position
    scored_at: datetime
    scores: str
    document: str
    content: str
    checksum: int = 0
    listed: Listed = NOT_LISTED

    @property
    def account(self) -> AccountKey:
        """The account its source offset belongs to."""
        return AccountKey(self.suite, self.suite_version, self.source.topic, self.source.topic_id, self.source.partition)


@dataclass(slots=True)
class Projection:
    """What one polled batch of the results topic adds to the store.

    `expected`: partition → the position it was read from (None: never read before). `reached`: partition → next offset.
    `rejected`: code → records that could not be read and were passed over. `topic_id`: of the results topic.
    """

    topic: str
    expected: dict[int, int | None]
    reached: dict[int, int]
    results: list[ResultRow] = field(default_factory=list)
    outcomes: dict[AccountKey, list[Interval]] = field(default_factory=dict)
    ledger_records: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    topic_id: str = ""


class Unreadable(Exception):
    """A record of the results topic that cannot be used. `code` is stable; no payload text is kept."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def project(topic: str, expected: Mapping[int, int | None], polled: Mapping[int, Iterable[Record]], suites: Mapping[str, Suite] = NO_SUITES) -> Projection:
    """Read one polled batch: partition → records in offset order. Never raises for what a record holds. `suites`: how each groups its results."""
    projection = Projection(topic, {partition: expected.get(partition) for partition in polled}, {})
    scored: dict[AccountKey, list[int]] = {}
    for partition, records in polled.items():
        for record in records:
            projection.reached[partition] = record.offset + 1
            try:
                _project_record(record, projection, scored, suites)
            except Unreadable as error:
                projection.rejected[error.code] += 1
    for account, offsets in scored.items():
        projection.outcomes.setdefault(account, []).extend(Interval(first, last, "scored") for first, last in runs(offsets))
    projection.expected = {partition: expected.get(partition) for partition in projection.reached}
    return projection


def _project_record(record: Record, projection: Projection, scored: dict[AccountKey, list[int]], suites: Mapping[str, Suite]) -> None:
    """Add one record. Raises `Unreadable` before anything of it is added."""
    kind = next((raw for name, raw in record.headers if name == "ce_type"), b"")
    if not record.value:
        raise Unreadable("empty")
    if kind == RESULT_TYPE.encode():
        row = read_result(record.value, suites)
        projection.results.append(row)
        scored.setdefault(row.account, []).append(row.source.offset)
    elif kind == LEDGER_TYPE.encode():
        account, intervals = read_ledger(record.value)
        projection.outcomes.setdefault(account, []).extend(intervals)
        projection.ledger_records += 1
    else:
        raise Unreadable("unknown_type" if kind else "no_type")


def place_of_file(event_id: str) -> Position:
    """The place of an event that came from a file: on no topic, and the event's own, so that the same event is never at two places."""
    return Position("", "", 0, int.from_bytes(hashlib.blake2b(event_id.encode("utf-8", "surrogatepass"), digest_size=7).digest()))


def read_result(value: bytes, suites: Mapping[str, Suite] = NO_SUITES, *, of_file: bool = False) -> ResultRow:
    """One result event as a row. Fields of a newer version are passed over; raises `Unreadable`. `of_file`: a result of a file is one, too."""
    try:
        result = ScoreResult.model_validate_json(value, extra="ignore")
    except ValidationError:
        raise Unreadable("invalid_result") from None
    if isinstance(result.source, SourceRef):
        place, checksum = Position(result.source.topic, result.source.topic_id, result.source.partition, result.source.offset), result.source.checksum
    elif of_file:
        place, checksum = place_of_file(result.event_id), 0
    else:
        raise Unreadable("invalid_result")  # it has no place on a topic
    if not all(math.isfinite(number) for number in (*result.values.values(), *result.duration_ms.values())):
        raise Unreadable("not_finite")
    if any(abs(number) > VALUE_MAX for number in result.values.values()):
        raise Unreadable("out_of_bounds")
    texts = (result.result_id, result.event_id, result.case_id or "", result.kind, result.suite, result.suite_version, result.config_digest)
    _bounded(*texts, place.topic, place.topic_id)
    _bounded_position(place.partition, place.offset)
    suite = suites.get(result.suite)
    batch, size = _batch_and_size(result, suite)
    return ResultRow(
        *(result.result_id, result.event_id, result.suite, result.suite_version, result.config_digest),
        label=result.label,
        batch=batch,
        batch_size=size,
        source=place,
        scored_at=_in_utc(result.scored_at),
        scores=orjson.dumps(result.values, option=orjson.OPT_SORT_KEYS).decode(),
        document=value.decode(),
        content=content_of(result),
        checksum=checksum,
        listed=listed_of(result, suite),
    )


def _in_utc(moment: datetime) -> datetime:
    """The moment in UTC; one without a zone is UTC. Raises `Unreadable` if UTC's calendar has no such year."""
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise Unreadable("out_of_bounds") from None


def content_of(result: ScoreResult) -> str:
    """Digest of a result that is the same for every scoring of its event. Raises `Unreadable` for integers of more than 64 bits."""
    fields = {name: value for name, value in result.__dict__.items() if name not in OF_ONE_SCORING}
    try:
        written = orjson.dumps(fields, default=fields_of, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        raise Unreadable("invalid_result") from None
    return hashlib.blake2b(written, digest_size=16).hexdigest()


def restore(row: ResultRow) -> ScoreResult:
    """The result that a row holds, at the position that counts for it (see `Position`), scored at a moment in UTC. Raises `ValueError`."""
    result = ScoreResult.model_validate_json(row.document, extra="ignore")
    if not isinstance(result.source, SourceRef):
        return result  # of a file, whose name says more than its place among the rows
    counted = {"source": SourceRef(**row.source._asdict(), checksum=row.checksum), "scored_at": row.scored_at.astimezone(UTC)}
    is_as_counted = result.source == counted["source"] and result.scored_at.isoformat() == row.scored_at.astimezone(UTC).isoformat()
    return result if is_as_counted else result.model_copy(update=counted)


def _batch_and_size(result: ScoreResult, suite: Suite | None) -> tuple[BatchKey | None, int | None]:
    """The batch a result belongs to, as its suite groups it, and its declared size.

    A suite that fails to group a result, or names a batch that no column can hold, puts it into no batch: the result counts all the same.
    """
    try:
        group = default_group(result) if suite is None else suite.group(result)
        if group is None:
            return None, None
        concern, batch, size = group.concern_id, group.batch_id, group.size
        if not all(isinstance(name, str) and fits(name) for name in (concern, batch)):
            raise ValueError("a batch is named by two short texts")  # one kind of failure for all of them
    except Exception as error:  # noqa: BLE001 -- one result's grouping must not hold up the others
        log.warning("result_not_grouped", suite=result.suite, code=type(error).__name__)
        return None, None
    key = BatchKey(result.suite, result.suite_version, result.config_digest, concern, batch)
    return key, size if type(size) is int and 0 < size < OFFSET_MAX else None


def fits(text: str) -> bool:
    """True if a text column and its index take a text."""
    return len(text) <= TEXT_CHARS_MAX and "\0" not in text


def read_ledger(value: bytes) -> tuple[AccountKey, list[Interval]]:
    """One ledger record as intervals of its account; raises `Unreadable`."""
    try:
        record = LedgerRecord.model_validate_json(value, extra="ignore")
    except ValidationError:
        raise Unreadable("invalid_ledger") from None
    _bounded(record.suite, record.suite_version, record.topic, record.topic_id)
    intervals: list[Interval] = []
    for entry in record.entries:
        _bounded(entry.reason)
        for first, last in entry.ranges:
            _bounded_position(record.partition, last)
            if first > last:
                raise Unreadable("invalid_ledger")
            intervals.append(Interval(first, last, entry.outcome, entry.reason))
    return AccountKey(record.suite, record.suite_version, record.topic, record.topic_id, record.partition), intervals


def _bounded(*texts: str) -> None:
    """Refuse text that a column or its index would refuse in the middle of a transaction."""
    if not all(map(fits, texts)):
        raise Unreadable("out_of_bounds")


def _bounded_position(partition: int, offset: int) -> None:
    """Refuse positions that no broker assigns."""
    if partition > PARTITION_MAX or offset > OFFSET_MAX:
        raise Unreadable("out_of_bounds")
