"""The ledger: outcomes without a result, as offset ranges."""

from typing import Annotated, Literal

from pydantic import Field

from touchstone.schemas.base import Outbound

Offset = Annotated[int, Field(ge=0)]


class LedgerEntry(Outbound):
    """Offsets of one partition that ended in the same outcome for the same reason.

    `expired`: Kafka deleted the offsets before a worker had read them; some may never have held a record (transaction markers, compaction).
    `ranges`: inclusive `(first, last)` pairs, ascending and disjoint.
    """

    outcome: Literal["skipped", "shed", "dead", "expired"]
    reason: str
    ranges: tuple[tuple[Offset, Offset], ...]


class LedgerRecord(Outbound):
    """The outcomes without a result of one partition's offsets between two commits. `topic_id`: empty if it is not known."""

    suite: str
    suite_version: str
    config_digest: str
    topic: str
    topic_id: str = ""
    partition: Offset
    entries: tuple[LedgerEntry, ...]
