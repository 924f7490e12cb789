"""The batch report event of any suite (`safe:v0:result`, …): what is counted, when it is final, and how it is encoded. Pure."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from touchstone.scorers.identity import deterministic_id
from touchstone.scorers.reporting import LabelCounts, Tally
from touchstone.scorers.suite import Suite
from touchstone.streams.account.projection import BatchKey
from touchstone.streams.wire.codec import Header

#: Computing a report may take this share of the interval at which it is repeated; a larger batch is reported less often.
COMPUTE_SHARE_MAX = 0.05


@dataclass(frozen=True, slots=True)
class BatchState:
    """The reporting state of one batch. Times are seconds since the epoch, on the projector's clock.

    `revision` rises with every change of content; `emitted_revision` is the last one that the broker acknowledged.
    `interval_s`: least time between two reports.
    """

    report_id: str
    key: BatchKey
    revision: int
    emitted_revision: int
    emitted_final: bool
    changed_at: float
    interval_s: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals of the results of one batch. `mean_scores`: over the cases that have the value; empty without cases."""

    total: int
    labels: Mapping[str, int]
    mean_scores: Mapping[str, float]
    scored_at: datetime | None
    batch_size: int | None


@dataclass(frozen=True, slots=True)
class Emitted:
    """A report that the broker acknowledged, and when to look at the batch again."""

    report_id: str
    revision: int
    final: bool
    emitted_at: float
    due_at: float | None
    interval_s: float


def summarise(cases: Iterable[tuple[str, str, datetime, int | None]]) -> Summary:
    """Count cases given as (label, scores as JSON, scored at, declared size). The order of the cases does not matter."""
    labels: dict[str, int] = {}
    scores: dict[str, list[float]] = {}
    latest: datetime | None = None
    size: int | None = None
    total = 0
    for label, values, scored_at, batch_size in cases:
        total += 1
        labels[label] = labels.get(label, 0) + 1
        for name, value in orjson.loads(values).items():
            scores.setdefault(name, []).append(value)
        latest = scored_at if latest is None else max(latest, scored_at)
        if batch_size is not None:
            size = batch_size if size is None else max(size, batch_size)
    # fsum is exact before its one rounding, so the mean does not depend on the order of arrival.
    means = {name: math.fsum(values) / len(values) for name, values in sorted(scores.items())}
    return Summary(total, labels, means, latest, size)


def is_final(state: BatchState, summary: Summary, now: float, quiet_s: float) -> bool:
    """True if nothing more is expected: the declared size is reached exactly, or the batch has been quiet.

    More cases than declared mean that the declaration was wrong; the batch is then final once it is quiet.
    """
    return summary.total == summary.batch_size or now - state.changed_at >= quiet_s


def payload(state: BatchState, summary: Summary, final: bool, suite: Suite) -> dict[str, Any]:
    """SAFE v0 §8.2, for any suite: `concern_id, batch_id, summary, timestamp`, plus `report_id`, `final` and whatever else the suite reports.

    Cases that could not be scored are in no count of labels and no mean, as in the report over files, though they fill the declared size.
    The timestamp is the latest `scored_at` of the batch, not the time of sending, so the same content is the same report.
    """
    reported = suite.event(Tally(LabelCounts(Counter(summary.labels)), summary.mean_scores))
    stamp = summary.scored_at or datetime.fromtimestamp(0, UTC)
    return {
        "concern_id": state.key.concern_id,
        "batch_id": state.key.batch_id,
        "summary": reported["summary"],
        "timestamp": stamp.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "report_id": state.report_id,
        "final": final,
        **{name: part for name, part in reported.items() if name != "summary"},
    }


def encode_report(state: BatchState, document: Mapping[str, Any], suite: Suite) -> tuple[bytes, bytes, list[Header]]:
    """Key, value and headers of a report event (CloudEvents 1.0, binary mode). A re-emitted report has the same id."""
    value = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    identity = deterministic_id(json.dumps([state.report_id, document], sort_keys=True, separators=(",", ":")))
    return (
        state.report_id.encode(),
        value,
        [
            ("content-type", b"application/json"),
            ("ce_specversion", b"1.0"),
            ("ce_type", suite.report_type.encode()),
            ("ce_id", identity.encode()),
            ("ce_source", f"/touchstone/projector/{state.key.suite}".encode()),
            ("ce_subject", state.report_id.encode()),
            ("ce_time", document["timestamp"].encode()),
        ],
    )


def next_look(state: BatchState, final: bool, now: float, quiet_s: float) -> float | None:
    """When an emitted batch is due again without a new case: once it has been quiet long enough to be final."""
    return None if final else max(state.changed_at + quiet_s, now)
