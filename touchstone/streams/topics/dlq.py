"""Work on dead letters: list them, see what became of them, and send events back to their source topic.

Nothing is ever deleted: a letter that was redriven or discarded gets a resolution record on the same topic, and is no
longer listed.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Self

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from touchstone.schemas.settings.house import Settings
from touchstone.scorers.base import ConfigError
from touchstone.streams.topics.log_reader import LogReader, header_texts, moment
from touchstone.streams.wire.clients import client_options, existing_topics, open_admin, unreachable
from touchstone.streams.wire.codec import Header, Record
from touchstone.streams.wire.dead_letter import (
    BATCH,
    EXCEPTION,
    MESSAGE,
    OFFSET,
    OMITTED,
    PARTITION,
    SOURCE_TIMESTAMP,
    SUITE,
    SUITE_VERSION,
    TIMESTAMP,
    TOPIC,
    TOPIC_ID,
    own_headers,
)

#: On a redriven event: how often it was sent back. Survives in the dead letter if it dies again.
REDRIVEN = "touchstone.redriven"
#: On a resolution record: what became of the letter, and which one (`partition:offset` on the dead topic).
RESOLUTION = "touchstone.resolution"
LETTER = "touchstone.letter"
RESOLUTION_KEY_PREFIX = "resolution/"
#: An event that died this often is not sent back again unless asked for: it would go round in a loop.
REDRIVES_MAX = 3
#: Letters held in memory (about a kilobyte each, payloads are not kept). A topic with more needs its cause fixed, not a list.
LETTERS_MAX = 500_000

Resolution = Literal["redriven", "discarded"]
Source = tuple[str, int, int, int]


@dataclass(slots=True)
class DeadLetter:
    """One dead letter without its payload. Positions `partition`, `offset` are on the dead topic, `source_…` where it came from.

    `copies`: other letters of the same event by the same suite (replays), by id. `size`: payload bytes. `source_last`: above
    `source_offset` where the payload is a whole record batch.
    """

    partition: int
    offset: int
    code: str
    message: str
    source_topic: str
    source_partition: int
    source_offset: int
    source_timestamp_ms: int
    suite: str
    suite_version: str
    failed_at: datetime
    size: int
    omitted: str | None
    redriven: int
    source_last: int = -1
    source_topic_id: str = ""
    copies: list[str] = field(default_factory=list)
    resolution: str | None = None

    @property
    def id(self) -> str:
        """`partition:offset` on the dead topic."""
        return f"{self.partition}:{self.offset}"

    @property
    def source(self) -> Source:
        """The event it is about, without its topic's id. The timestamp distinguishes a recreated topic from the one before where there is no id."""
        return self.source_topic, self.source_partition, self.source_offset, self.source_timestamp_ms

    def is_of_event_of(self, other: "DeadLetter") -> bool:
        """True if both are about the same event: a topic's id that is not known may be any."""
        ids = {self.source_topic_id, other.source_topic_id} - {""}
        return self.source == other.source and len(ids) < 2


@dataclass(slots=True)
class Letterbox:
    """The records of the dead topic. `others`: how many are neither letters nor resolutions."""

    letters: list[DeadLetter]
    others: int

    def open(self) -> list[DeadLetter]:
        """Letters without a resolution."""
        return [letter for letter in self.letters if letter.resolution is None]

    def find(self, wanted: str) -> DeadLetter:
        """The letter of an id, a copy's id included. Raises `ConfigError`."""
        for letter in self.letters:
            if wanted == letter.id or wanted in letter.copies:
                return letter
        raise ConfigError(f"no dead letter {wanted}; `touchstone dlq list --all` shows the ids")

    def same_event(self, letter: DeadLetter) -> list[DeadLetter]:
        """Open letters of the same event, by every suite."""
        return [other for other in self.open() if other.is_of_event_of(letter)]


def parse_letter(record: Record) -> DeadLetter | None:
    """A dead letter's metadata; None for a record that is not a dead letter."""
    texts = header_texts(record.headers)
    if TOPIC not in texts:
        return None
    return DeadLetter(
        partition=record.partition,
        offset=record.offset,
        code=texts.get(EXCEPTION, "unknown"),
        message=texts.get(MESSAGE, ""),
        source_topic=texts[TOPIC],
        source_partition=_number(texts.get(PARTITION)),
        source_offset=_number(texts.get(OFFSET)),
        source_timestamp_ms=_number(texts.get(SOURCE_TIMESTAMP)),
        suite=texts.get(SUITE, "unknown"),
        suite_version=texts.get(SUITE_VERSION, ""),
        failed_at=_moment(texts.get(TIMESTAMP), record.timestamp),
        size=len(record.value or b""),
        omitted=texts.get(OMITTED),
        redriven=max(_number(texts.get(REDRIVEN)), 0),
        source_last=max(_number(texts.get(BATCH, "").partition("-")[2]), _number(texts.get(OFFSET))),
        source_topic_id=texts.get(TOPIC_ID, ""),
    )


def _number(text: str | None) -> int:
    """A header's number; -1 where another program wrote something else."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else -1


def _moment(text: str | None, fallback_ms: int) -> datetime:
    try:
        written = datetime.fromisoformat(text or "")
        return written if written.tzinfo else written.replace(tzinfo=UTC)
    except ValueError:
        return moment(fallback_ms)


async def read_letters(reader: LogReader) -> Letterbox:
    """Every letter and what became of it; payloads are not kept. Raises `ConfigError` if there are too many to hold."""
    by_event: dict[tuple[Source, str], list[DeadLetter]] = {}
    resolutions: dict[str, str] = {}
    others = read = 0
    async for record in reader.read("beginning"):
        read += 1
        if read > LETTERS_MAX:
            raise ConfigError(f"more than {LETTERS_MAX:,} records on the dead-letter topic; fix the cause and let retention shorten the topic")
        letter = parse_letter(record)
        if letter is None:
            texts = header_texts(record.headers)
            if RESOLUTION in texts and LETTER in texts:
                resolutions[texts[LETTER]] = texts[RESOLUTION]
            else:
                others += 1
            continue
        known = by_event.setdefault((letter.source, letter.suite), [])
        first = next((other for other in known if other.is_of_event_of(letter)), None)
        if first is None:
            known.append(letter)
        else:
            first.copies.append(letter.id)
    letters = [letter for known in by_event.values() for letter in known]
    for letter in letters:
        letter.resolution = next((resolutions[one] for one in (letter.id, *letter.copies) if one in resolutions), None)
    return Letterbox(sorted(letters, key=lambda letter: (letter.failed_at, letter.partition, letter.offset)), others)


@dataclass(frozen=True, slots=True)
class Step:
    """What was done (or would be) with one event: its letter, and the letters of the same event that this settles too."""

    letter: DeadLetter
    also: tuple[DeadLetter, ...]
    refused: str | None = None


def plan(box: Letterbox, chosen: Sequence[DeadLetter], resolution: Resolution, redrives_max: int = REDRIVES_MAX) -> list[Step]:
    """One step per event, however many letters of it were chosen; a step that must not be taken holds the reason."""
    steps: list[Step] = []
    settled: set[str] = set()
    sent = {letter.source: letter for letter in box.letters if letter.resolution == "redriven"} if resolution == "redriven" else {}
    for letter in chosen:
        if letter.id in settled:
            continue
        same = box.same_event(letter) if resolution == "redriven" else [letter]
        settled.update(other.id for other in same)
        refused = _refusal(letter, resolution, redrives_max)
        earlier = sent.get(letter.source)
        if refused is None and earlier is not None and earlier.is_of_event_of(letter):
            # A slower suite's letter came after the event had gone back, which that suite reads too.
            refused = f"is about an event that went back already, with letter {earlier.id}; discard it (touchstone dlq discard {letter.id})"
        steps.append(Step(letter, tuple(other for other in same if other is not letter), refused))
    return steps


def _refusal(letter: DeadLetter, resolution: Resolution, redrives_max: int) -> str | None:
    """Why a letter cannot be settled this way; None if it can."""
    if letter.resolution is not None:
        return f"is already {letter.resolution}"
    if resolution == "discarded":
        return None
    if letter.omitted is not None:
        return (
            f"has no payload: the broker refused it for its size; send the event again from where it came "
            f"({letter.source_topic}[{letter.source_partition}] offset {letter.source_offset})"
        )
    if letter.code == "batch_too_large":
        return (
            f"is a whole record batch (offsets {letter.source_offset} to {letter.source_last}) that unpacks to too much; "
            "send its events again with less in a batch, or discard it"
        )
    if letter.redriven >= redrives_max:
        return f"was redriven {letter.redriven} times and died again; fix the event or the suite, or raise --redrives-max"
    if letter.source_partition < 0 or letter.source_offset < 0:
        return "does not say where it came from"
    return None


class Desk:
    """Sends events back and writes resolutions; every send is acknowledged before the next step begins."""

    def __init__(self, settings: Settings, reader: LogReader) -> None:
        self._settings = settings
        self._reader = reader
        self._producer: AIOKafkaProducer = None
        self._topics: dict[str, set[int]] = {}

    async def __aenter__(self) -> Self:
        """Connect."""
        self._producer = AIOKafkaProducer(**client_options(self._settings.kafka), acks="all", enable_idempotence=True, max_request_size=2**31 - 1)
        try:
            await self._producer.start()
        except (KafkaError, OSError, TimeoutError) as error:
            await self._producer.stop()
            raise ConfigError(unreachable(self._settings.kafka, error)) from None
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""
        await self._producer.stop()

    async def take(self, step: Step, resolution: Resolution) -> None:
        """Take one step. Raises `ConfigError` if the broker refuses; an event may then be redriven, but not yet resolved."""
        if resolution == "redriven":
            await self._redrive(step.letter)
        for letter in (step.letter, *step.also):
            await self._resolve(letter, resolution)

    async def _redrive(self, letter: DeadLetter) -> None:
        """The original bytes, key and headers, to the partition they came from: order by key stays what its producer made it."""
        record = await self._reader.fetch(self._settings.topics.dead, letter.partition, letter.offset)
        if record is None:
            raise ConfigError(f"dead letter {letter.id} is gone: retention has deleted it")
        headers = [*original_headers(record.headers), (REDRIVEN, str(letter.redriven + 1).encode())]
        partitions = await self._partitions(letter.source_topic)
        partition = letter.source_partition if letter.source_partition in partitions else None
        await self._send(letter.source_topic, record.value, record.key, headers, partition)

    async def _resolve(self, letter: DeadLetter, resolution: Resolution) -> None:
        """A record that says what became of the letter, beside it on its partition."""
        headers: list[Header] = [(RESOLUTION, resolution.encode()), (LETTER, letter.id.encode())]
        value = json.dumps({"letter": letter.id, "resolution": resolution, "at": datetime.now(UTC).isoformat()}).encode()
        await self._send(self._settings.topics.dead, value, f"{RESOLUTION_KEY_PREFIX}{letter.id}".encode(), headers, letter.partition)

    async def _partitions(self, topic: str) -> set[int]:
        """Partitions of a topic. Raises `ConfigError` if it is gone or the broker does not answer.

        The list of all topics is read, once: where brokers create topics on demand, the question for one that is gone would make it anew.
        """
        if topic not in self._topics:
            try:
                admin = await open_admin(self._settings.kafka)
                try:
                    found = await asyncio.wait_for(existing_topics(admin), self._settings.kafka.request_timeout_s)
                finally:
                    await admin.close()
            except (KafkaError, OSError, TimeoutError) as error:
                raise ConfigError(unreachable(self._settings.kafka, error)) from None
            self._topics = {name: {entry["partition"] for entry in entries} for name, entries in found.items()}
        if topic not in self._topics:
            raise ConfigError(f"topic {topic} is gone; create it again, or discard its letters: the letters listed so far are done, the rest are not")
        return self._topics[topic]

    async def _send(self, topic: str, value: bytes | None, key: bytes | None, headers: Sequence[Header], partition: int | None) -> None:
        """Send one record and wait for the broker's acknowledgement."""
        if value is None and key is None:
            value = b""  # the producer refuses a record without key and value; for every reader an empty one is the same
        try:
            await self._producer.send_and_wait(topic, value=value, key=key, headers=list(headers), partition=partition)
        except (KafkaError, OSError, TimeoutError) as error:
            raise ConfigError(f"{topic} did not take the record ({type(error).__name__}); the letters listed so far are done, the rest are not") from None


def original_headers(headers: Iterable[tuple[str, bytes]] | None) -> list[Header]:
    """The event's own headers: without those of the dead letter and of earlier redrives."""
    return own_headers((name, raw) for name, raw in headers or () if name != REDRIVEN)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which letters are meant. `since`: failed at or after."""

    code: str | None = None
    suite: str | None = None
    since: datetime | None = None

    def admits(self, letter: DeadLetter) -> bool:
        """True if a letter fits every part that is set."""
        fits = (self.code is None or letter.code == self.code) and (self.suite is None or letter.suite == self.suite)
        return fits and (self.since is None or letter.failed_at >= self.since)


def counts_by_code(letters: Iterable[DeadLetter]) -> Mapping[str, int]:
    """Code → letters, most first."""
    counts: dict[str, int] = {}
    for letter in letters:
        counts[letter.code] = counts.get(letter.code, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
