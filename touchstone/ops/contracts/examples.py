"""Made-up examples of what workers send. They name a suite that the document covers, so that no reader meets a suite that is not installed."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from touchstone.schemas.prevalence import LivePrevalence, Seen, Window
from touchstone.schemas.result import Finding, ScoreResult, SourceRef
from touchstone.schemas.settings.house import TopicSettings
from touchstone.scorers.identity import ResultIds
from touchstone.scorers.suite import Suite, unknown_suite
from touchstone.streams.wire.codec import encode_result

CONCERN: Final = "I25"
BATCH: Final = "I25_batch_1"
TOPIC_ID = "mgpdI_45THaAR-YN238gDQ"
DIGEST: Final = "db679b75c764251c"
#: Every value of an example, as a share of its scale.
SHARE: Final = 0.75


def example_suite(suites: Sequence[Suite]) -> Suite:
    """The suite in the examples: the first that scores, otherwise a made-up one."""
    return next((suite for suite in suites if suite.cases and suite.topics), None) or unknown_suite("your_suite", "1.0")


def values_of(suite: Suite) -> dict[str, float]:
    """A value for each of the suite's metrics."""
    return dict.fromkeys(suite.metrics, suite.value_max * SHARE)


def result_example(suite: Suite) -> dict[str, Any]:
    """A result event."""
    result = ScoreResult(
        result_id=ResultIds(suite.name, suite.version, DIGEST).of("e-1"),
        event_id="e-1",
        case_id="case-1",
        kind=next(iter(suite.cases), "yours"),
        suite=suite.name,
        suite_version=suite.version,
        config_digest=DIGEST,
        label="Fail",
        values=values_of(suite),
        findings=(
            Finding(
                severity="major",
                code="too_long",
                path="output.questions[1]",
                message="longer than was asked for",
                suggestion="ask for one thing at a time",
            ),
        ),
        attributes={"concern_id": CONCERN, "batch_id": BATCH, "batch_size": 12},
        correlation={"run": "42"},
        source=SourceRef(topic=_topic(suite), partition=2, offset=499, topic_id=TOPIC_ID, checksum=3_735_928_559),
        scored_at=datetime(2026, 1, 15, 10, 30, 1, 250_000, tzinfo=UTC),
        duration_ms={"score": 0.015},
    )
    document: dict[str, Any] = json.loads(encode_result(result)[1])
    return document


def ledger_example(suite: Suite) -> dict[str, Any]:
    """A ledger record."""
    return {
        "suite": suite.name,
        "suite_version": suite.version,
        "config_digest": DIGEST,
        "topic": _topic(suite),
        "topic_id": TOPIC_ID,
        "partition": 3,
        "entries": [
            {"outcome": "dead", "reason": "not_utf8", "ranges": [[476, 476]]},
            {"outcome": "skipped", "reason": "other_kind", "ranges": [[477, 490]]},
        ],
    }


def prevalence_example(suite: Suite) -> LivePrevalence:
    """A live failure rate, corrected."""
    return LivePrevalence(
        subject=suite.name.replace("-", "_"),
        window=Window(since=datetime(2026, 1, 14, 10, 45, tzinfo=UTC), until=datetime(2026, 1, 15, 10, 45, tzinfo=UTC)),
        seen=Seen(count=240, total=2_000),
        others=35,
        corrected=0.057,
        low=0.0,
        high=0.118,
        calibration_at=datetime(2026, 1, 12, 16, 0, tzinfo=UTC),
        stale=("the labels changed since the calibration",),
    )


def dead_letter_example(suite: Suite) -> dict[str, str]:
    """The headers of a dead letter."""
    return {
        "__streams.errors.exception": "not_utf8",
        "__streams.errors.message": "not_utf8 at byte 12",
        "__streams.errors.topic": _topic(suite),
        "touchstone.source_topic_id": TOPIC_ID,
        "__streams.errors.partition": "3",
        "__streams.errors.offset": "476",
        "touchstone.suite": suite.name,
        "touchstone.suite_version": suite.version,
        "touchstone.failed_at": "2026-01-15T10:30:02+00:00",
        "touchstone.source_timestamp_ms": "1768473000000",
    }


def _topic(suite: Suite) -> str:
    """The default name of the first topic that the suite reads."""
    return str(getattr(TopicSettings(), next(iter(suite.topics), "generations")))
