"""The offsets that a suite has put aside and not scored since, from the records of the results topic."""

from __future__ import annotations

from collections.abc import Iterable

import orjson
import structlog

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.account.intervals import Interval, Span, clip, fold
from touchstone.streams.account.projection import Unreadable, read_ledger
from touchstone.streams.topics.identity import ids_of
from touchstone.streams.topics.log_reader import LogReader, Place
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Record

log = structlog.get_logger(__name__)

#: Outcomes of one partition that are held before they are joined.
CLAIMS_MAX = 50_000


class PutAside:
    """Claims on the offsets of a suite's input topics. It continues where it stopped reading, so asking again costs only the new records.

    `version`: the suite's. An event that this version has put aside waits until this version scores it; one that an earlier version put aside
    waits until any version scores it.
    """

    def __init__(self, suite: str, version: str, topics: Iterable[str], results: str) -> None:
        self._version = version
        self._source = f"/touchstone/{suite}".encode()
        self._topics = frozenset(topics)
        self._results = results
        #: (whether this version claims it, topic, its id, partition) → claims of this version, and those of all.
        self._claims: dict[tuple[bool, str, str, int], list[Interval]] = {}
        self._read_to: dict[Place, int] = {}
        self._results_id = ""
        self.topic_ids: dict[str, str] = {}

    async def read_on(self, kafka: KafkaSettings) -> None:
        """Read the results topic from where the last reading stopped to its end. Raises `ConfigError`."""
        found = await ids_of(kafka, [*self._topics, self._results])
        self.topic_ids = {topic: found[topic] for topic in self._topics}
        async with LogReader(kafka, [self._results]) as reader:
            bounds = await reader.bounds()
            ends = {place: end for place, (_, end) in bounds.items()}
            is_anew = self._results_id not in {"", found[self._results]} or any(end < self._read_to.get(place, 0) for place, end in ends.items())
            if is_anew:
                self._read_to.clear()
                self._claims.clear()
            self._results_id = found[self._results]
            for place, (start, _) in bounds.items():
                if place in self._read_to and self._read_to[place] < start:
                    at = self._read_to[place]
                    log.warning("results_deleted_unread", topic=place[0], partition=place[1], offset=at, count=start - at)
            async for record in reader.read({place: self._read_to.get(place, 0) for place in ends}):
                self._take(record)
            self._read_to = ends

    def _take(self, record: Record) -> None:
        """Add the claims of one record."""
        headers = dict(record.headers)
        if headers.get("ce_source") != self._source or not record.value:
            return
        for version, (topic, topic_id, partition), claim in _claims(headers.get("ce_type", b""), record.value):
            if topic not in self._topics:
                continue
            for is_own in {False, version == self._version}:
                key = (is_own, topic, topic_id, partition)
                held_here = self._claims.setdefault(key, [])
                held_here.append(claim)
                if len(held_here) > CLAIMS_MAX:
                    self._claims[key] = fold(held_here)

    def shed(self, reason: str | None = None) -> dict[Place, list[Interval]]:
        """(topic, partition) → what is put aside there. `reason`: only what was put aside for it.

        What was put aside on a topic that is gone cannot be scored any more, and what its name holds now is something else.
        """
        self._claims = {key: fold(claims) for key, claims in self._claims.items()}
        here: dict[tuple[bool, str, int], list[Interval]] = {}
        for (is_own, topic, topic_id, partition), claims in self._claims.items():
            current = self.topic_ids.get(topic, "")
            if not topic_id or not current or topic_id == current:
                here.setdefault((is_own, topic, partition), []).extend(claims)
        found: dict[Place, list[Interval]] = {}
        for (_, topic, partition), claims in here.items():
            found.setdefault((topic, partition), []).extend(one for one in fold(claims) if one.outcome == "shed" and reason in {None, one.reason})
        return {place: fold(spans) for place, spans in found.items() if spans}


def held(found: dict[Place, list[Interval]], bounds: dict[Place, Span]) -> dict[Place, list[Interval]]:
    """The part that the topics still hold. `bounds`: place → first offset there, and the one that the next record will get."""
    kept = {place: clip(spans, *bounds.get(place, (0, 0))) for place, spans in found.items()}
    return {place: spans for place, spans in kept.items() if spans}


def _claims(kind: bytes, value: bytes) -> Iterable[tuple[str, tuple[str, str, int], Interval]]:
    """What one record says of offsets of (topic, its id, partition), and the suite's version; nothing where another program wrote it."""
    try:
        if kind == LEDGER_TYPE.encode():
            account, intervals = read_ledger(value)
            return [(account.suite_version, (account.topic, account.topic_id, account.partition), interval) for interval in intervals]
        if kind == RESULT_TYPE.encode():
            result = orjson.loads(value)
            at = result["source"]
            place = (str(at["topic"]), str(at.get("topic_id", "")), int(at["partition"]))
            return [(str(result["suite_version"]), place, Interval(int(at["offset"]), int(at["offset"]), "scored"))]
    except (Unreadable, ValueError, KeyError, TypeError, AttributeError):
        pass
    return []
