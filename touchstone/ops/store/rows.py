"""Converts rows of the tables to objects and back."""

from datetime import UTC, datetime, timedelta
from typing import Any

from touchstone.streams.account.batch_reports import BatchState
from touchstone.streams.account.projection import BatchKey, Position, ResultRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime) -> int:
    """Microseconds since the epoch, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The moment in UTC."""
    return _EPOCH + micros * _MICROSECOND


def columns_of(row: ResultRow) -> dict[str, Any]:
    """A result as the columns of its table."""
    return {
        "result_id": row.result_id,
        "event_id": row.event_id,
        "case_id": row.case_id,
        "kind": row.kind,
        "suite": row.suite,
        "suite_version": row.suite_version,
        "config_digest": row.config_digest,
        "label": row.label,
        "report_id": row.batch.report_id if row.batch else None,
        "concern_id": row.batch.concern_id if row.batch else None,
        "batch_id": row.batch.batch_id if row.batch else None,
        "batch_size": row.batch_size,
        "source_topic": row.source.topic,
        "source_partition": row.source.partition,
        "source_offset": row.source.offset,
        "scored_at": to_micros(row.scored_at),
        "duration_ms": row.duration_ms,
        "scores": row.scores,
        "document": row.document,
        "content": row.content,
    }


def row_of(row: Any) -> ResultRow:
    """A row of the table as a result."""
    batch = BatchKey(row.suite, row.suite_version, row.config_digest, row.concern_id, row.batch_id) if row.report_id else None
    return ResultRow(
        *(row.result_id, row.event_id, row.case_id, row.kind, row.suite, row.suite_version, row.config_digest),
        label=row.label,
        batch=batch,
        batch_size=row.batch_size,
        source=Position(row.source_topic, row.source_partition, row.source_offset),
        scored_at=from_micros(row.scored_at),
        duration_ms=row.duration_ms,
        scores=row.scores,
        document=row.document,
        content=row.content,
    )


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
