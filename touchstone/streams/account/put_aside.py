"""The offsets that a suite has put aside and not scored since, from the records of the results topic."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from touchstone.schemas.settings.house import KafkaSettings
from touchstone.streams.account.intervals import Interval, Span, clip, fold
from touchstone.streams.account.projection import Unreadable, read_ledger
from touchstone.streams.topics.log_reader import LogReader, Place
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Record

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
        #: (whether this version claims it, topic, partition) → claims of this version, and those of all.
        self._claims: dict[tuple[bool, str, int], list[Interval]] = {}
        self._read_to: dict[Place, int] = {}

    async def read_on(self, kafka: KafkaSettings) -> None:
        """Read the results topic from where the last reading stopped to its end. Raises `ConfigError`."""
        async with LogReader(kafka, [self._results]) as reader:
            ends = await reader.ends()
            if any(end < self._read_to.get(place, 0) for place, end in ends.items()):  # the topic was deleted and made anew
                self._read_to.clear()
                self._claims.clear()
            async for record in reader.read({place: self._read_to.get(place, 0) for place in ends}):
                self._take(record)
            self._read_to = ends

    def _take(self, record: Record) -> None:
        """Add the claims of one record."""
        headers = dict(record.headers)
        if headers.get("ce_source") != self._source or not record.value:
            return
        for version, place, claim in _claims(headers.get("ce_type", b""), record.value):
            if place[0] not in self._topics:
                continue
            for is_own in {False, version == self._version}:
                key = (is_own, *place)
                held_here = self._claims.setdefault(key, [])
                held_here.append(claim)
                if len(held_here) > CLAIMS_MAX:
                    self._claims[key] = fold(held_here)

    def shed(self, reason: str | None = None) -> dict[Place, list[Interval]]:
        """(topic, partition) → what is put aside there. `reason`: only what was put aside for it."""
        self._claims = {key: fold(claims) for key, claims in self._claims.items()}
        found: dict[Place, list[Interval]] = {}
        for (_, topic, partition), claims in self._claims.items():
            found.setdefault((topic, partition), []).extend(one for one in claims if one.outcome == "shed" and reason in {None, one.reason})
        return {place: fold(spans) for place, spans in found.items() if spans}


def held(found: dict[Place, list[Interval]], bounds: dict[Place, Span]) -> dict[Place, list[Interval]]:
    """The part that the topics still hold. `bounds`: place → first offset there, and the one that the next record will get."""
    kept = {place: clip(spans, *bounds.get(place, (0, 0))) for place, spans in found.items()}
    return {place: spans for place, spans in kept.items() if spans}


def _claims(kind: bytes, value: bytes) -> Iterable[tuple[str, Place, Interval]]:
    """What one record says of offsets, and the suite's version; nothing where another program wrote it."""
    try:
        if kind == LEDGER_TYPE.encode():
            account, intervals = read_ledger(value)
            return [(account.suite_version, (account.topic, account.partition), interval) for interval in intervals]
        if kind == RESULT_TYPE.encode():
            result = orjson.loads(value)
            at = result["source"]
            return [(str(result["suite_version"]), (str(at["topic"]), int(at["partition"])), Interval(int(at["offset"]), int(at["offset"]), "scored"))]
    except (Unreadable, ValueError, KeyError, TypeError):
        pass
    return []
