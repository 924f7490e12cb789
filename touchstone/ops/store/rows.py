"""Converts rows of the tables to objects and back."""

from datetime import UTC, datetime, timedelta
from typing import Any

from touchstone.streams.account.batch_reports import BatchState
from touchstone.streams.account.listed import Listed
from touchstone.streams.account.projection import BatchKey, Position, ResultRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The moment in UTC."""
    return _EPOCH + micros * _MICROSECOND


_PLAIN = ("result_id", "event_id", "suite", "suite_version", "config_digest", "label", "batch_size", "scores", "document", "content", "checksum")
#: Columns that lists of cases read. Codes have a table of their own.
_LISTED = tuple(name for name in Listed._fields if name != "codes")


def columns_of(row: ResultRow) -> dict[str, Any]:
    """A result as the columns of its table."""
    return {
        **{name: getattr(row, name) for name in _PLAIN},
        **{name: getattr(row.listed, name) for name in _LISTED},
        "report_id": row.batch.report_id if row.batch else None,
        "concern_id": row.batch.concern_id if row.batch else None,
        "batch_id": row.batch.batch_id if row.batch else None,
        **{f"source_{name}": part for name, part in row.source._asdict().items()},
        "scored_at": to_micros(row.scored_at),
    }


def row_of(row: Any) -> ResultRow:
    """A row of the table as a result."""
    return ResultRow(
        **{name: getattr(row, name) for name in _PLAIN},
        batch=batch_of(row),
        source=source_of(row),
        scored_at=from_micros(row.scored_at),
        listed=Listed(**{name: getattr(row, name) for name in _LISTED}),
    )


def batch_of(row: Any) -> BatchKey | None:
    """The batch that a row of the results table belongs to."""
    return BatchKey(row.suite, row.suite_version, row.config_digest, row.concern_id, row.batch_id) if row.report_id else None


def source_of(row: Any) -> Position:
    """The position that counts for a row of the results table."""
    return Position(row.source_topic, row.source_topic_id, row.source_partition, row.source_offset)


def state_of(row: Any) -> BatchState:
    """A row of the batches table as reporting state."""
    return BatchState(
        row.report_id,
        BatchKey(row.suite, row.suite_version, row.config_digest, row.concern_id, row.batch_id),
        revision=row.revision,
        emitted_revision=row.emitted_revision,
        emitted_final=row.emitted_final,
        changed_at=row.changed_at,
        interval_s=row.interval_s,
    )
