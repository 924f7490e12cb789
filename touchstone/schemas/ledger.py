"""The ledger: outcomes without a result, as offset ranges."""

from typing import Annotated, Literal

from pydantic import Field

from touchstone.schemas.base import Outbound

Offset = Annotated[int, Field(ge=0)]


class LedgerEntry(Outbound):
    """Offsets of one partition that ended in the same outcome for the same reason.

    `ranges`: inclusive `(first, last)` pairs, ascending and disjoint.
    """

    outcome: Literal["skipped", "shed", "dead"]
    reason: str
    ranges: tuple[tuple[Offset, Offset], ...]


class LedgerRecord(Outbound):
    """The outcomes without a result of one partition's offsets between two commits."""

    suite: str
    suite_version: str
    config_digest: str
    topic: str
    partition: Offset
    entries: tuple[LedgerEntry, ...]
