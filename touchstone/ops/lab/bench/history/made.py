"""A made history: small cases of three kinds, their results, and a second run of every third; the same numbers give the same history."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from touchstone.ops.store.archive.archive import Archive
from touchstone.ops.store.results import ResultStore
from touchstone.schemas.result import Finding, ScoreResult, Severity, SourceRef
from touchstone.scorers.identity import deterministic_id
from touchstone.scorers.registry import usable_suites
from touchstone.streams.account.projection import project
from touchstone.streams.wire.codec import Header, encode_result

BEGAN: Final = datetime(2026, 1, 5, tzinfo=UTC)
#: A word that one case in so many has, for searches that find little.
RARE, RARE_IN = "zirconium", 10_000
#: Every so many events are scored again, by a second configuration.
AGAIN_IN: Final = 3
_AT_A_TIME: Final = 2_000
_WORDS: Final = (
    *("patient", "reports", "pain", "after", "walking", "uphill", "since", "March", "relieved", "by", "rest", "no", "fever", "takes", "daily"),
    *("metoprolol", "allergic", "to", "penicillin", "asks", "whether", "exercise", "before", "the", "visit", "with", "cardiology", "stable"),
)
_LABELS: Final = ("Pass",) * 14 + ("Review",) * 3 + ("Fail",) * 2 + ("unscored",)
_SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "major", "minor", "info")


@dataclass(frozen=True, slots=True)
class Way:
    """How events of a kind are scored: suite, version, and what its values are called."""

    kind: str
    suite: str
    version: str
    values: tuple[str, ...]
    scale: float


_WAYS: Final = (
    *(Way("safe", "safe_v0", "0.4", ("AC", "AH", "CR", "composite"), 1.0),) * 5,
    *(Way("trace", "clinical", "1.2", ("format", "overall", "terminology"), 100.0),) * 3,
    *(Way("summary", "summary_loss", "3.1", ("facts_loss", "length_loss", "loss"), 1.0),) * 2,
)
RUNS: Final = ("first-configuration", "second-configuration")


def event_id(number: int) -> str:
    """The id of an event."""
    return f"evt-{number:07}-{deterministic_id(str(number))[:8]}"


def case(number: int) -> tuple[str, str, bytes]:
    """Kind, case id and JSON of an event, of about a kilobyte."""
    drawn = random.Random(number)
    way = drawn.choice(_WAYS)
    words = drawn.choices(_WORDS, k=120)
    if number % RARE_IN == RARE_IN // 2:
        words[60] = RARE
    identifier, name = event_id(number), f"CASE-{number:07}"
    text = " ".join(words)
    at = (BEGAN + timedelta(seconds=number * 7)).isoformat()
    document: dict[str, Any] = {"kind": way.kind, "id": identifier, "timestamp": at}
    if way.kind == "trace":
        document |= {"traceId": name, "source": drawn.choice(("production", "eval")), "prompt": text, "outputs": {"hl7v2": "MSH|^~\\&|A|B"}}
    else:
        document |= {"test_id": name, "output": text, "question": " ".join(words[:12])}
    return way.kind, name, orjson.dumps(document)


def result(number: int, run: int = 0) -> ScoreResult:
    """What a run found of an event."""
    drawn = random.Random(number)
    way = drawn.choice(_WAYS)
    drawn = random.Random(f"{number}/{run}")
    label = drawn.choice(_LABELS)
    found = 0 if label == "Pass" else drawn.randint(1, 6)
    findings = tuple(
        Finding(severity=drawn.choice(_SEVERITIES), code=f"{way.suite.partition('_')[0]}.code_{drawn.randrange(40)}", path=f"outputs.part[{place}].field",
                message="what a check found at this place, in a sentence of the usual length", suggestion="what would mend it")
        for place in range(found)
    )  # fmt: skip
    values = {} if label == "unscored" else {name: round(drawn.random() * way.scale, 3) for name in way.values}
    identifier = event_id(number)
    digest = deterministic_id(RUNS[run])[:16]
    return ScoreResult(
        result_id=deterministic_id(f"{identifier}/{way.suite}/{way.version}/{digest}"), event_id=identifier, case_id=f"CASE-{number:07}", kind=way.kind,
        suite=way.suite, suite_version=way.version, config_digest=digest, label=label, values=values, findings=findings,
        details={"steps": [{"name": name, "value": value} for name, value in values.items()]},
        attributes={"concern_id": f"I{20 + number % 9}", "batch_id": f"night-{number // 5_000}", "model": f"writer-{number % 4}"},
        source=SourceRef(topic="touchstone.generations", partition=number % 4, offset=number // 4, topic_id="made", checksum=number % 2**32),
        scored_at=BEGAN + timedelta(seconds=number * 7 + run * 86_400 * 30), duration_ms={"score": 1.5},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Sent:
    """A record of the results topic."""

    offset: int
    key: bytes | None
    value: bytes
    headers: list[Header]
    topic: str = "touchstone.results"
    partition: int = 0
    timestamp: int = 0


def scorings(cases: int) -> Iterator[tuple[int, int]]:
    """(number, run) of every result: all events by the first run, then some of them by the second."""
    yield from ((number, 0) for number in range(cases))
    yield from ((number, 1) for number in range(0, cases, AGAIN_IN))


def fill_store(store: ResultStore, cases: int) -> int:
    """Write the results as the projector would; returns how many."""
    suites = usable_suites()
    batch: list[_Sent] = []
    reached = 0

    def flush() -> None:
        nonlocal reached
        store.apply(project("touchstone.results", {0: reached or None}, {0: batch}, suites), 0.0)
        reached += len(batch)
        batch.clear()

    for number, run in scorings(cases):
        batch.append(_Sent(reached + len(batch), *encode_result(result(number, run))))
        if len(batch) == _AT_A_TIME:
            flush()
    flush()
    return reached


def fill_archive(archive: Archive, cases: int) -> int:
    """Keep every case with the results that the store has; returns their bytes."""

    def put(number: int) -> Any:
        kind, name, data = case(number)
        kept = archive.put(event_id(number), kind, name, data, at=BEGAN + timedelta(seconds=number * 7))
        for run in range(2 if number % AGAIN_IN == 0 else 1):
            scored = result(number, run)
            archive.keep_result(scored.event_id, scored.result_id, encode_result(scored)[1])
        return kept.row

    size = 0
    with ThreadPoolExecutor(archive.settings.writers) as pool:
        for first in range(0, cases, _AT_A_TIME):
            rows = list(pool.map(put, range(first, min(cases, first + _AT_A_TIME))))
            archive.index.keep(rows)
            size += sum(row.bytes for row in rows)
    return size
