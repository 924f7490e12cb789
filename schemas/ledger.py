"""The ledger: outcomes without a result, as offset ranges."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from touchstone.schemas.base import Outbound

Offset = Annotated[int, Field(ge=0)]


class LedgerEntry(Outbound):
    """Offsets of one partition that ended in the same outcome for the same reason.

    `ranges`: inclusive `(first, last)` pairs, ascending and disjoint.
    """

    outcome: Literal["skipped", "shed", "dead"]
    reason: str
    ranges: tuple[tuple[Offset, Offset], ...]


LEDGER_EXAMPLE: dict[str, Any] = {
    "suite": "safe_v0",
    "suite_version": "0.1",
    "config_digest": "db679b75c764251c",
    "topic": "touchstone.generations",
    "partition": 3,
    "entries": [
        {"outcome": "dead", "reason": "not_utf8", "ranges": [[476, 476]]},
        {"outcome": "skipped", "reason": "other_kind", "ranges": [[477, 490]]},
    ],
}


class LedgerRecord(Outbound):
    """The outcomes without a result of one partition's offsets between two commits."""

    model_config = ConfigDict(json_schema_extra={"examples": [LEDGER_EXAMPLE]})

    suite: str
    suite_version: str
    config_digest: str
    topic: str
    partition: Offset
    entries: tuple[LedgerEntry, ...]
