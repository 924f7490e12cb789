"""Bytes and headers → case, and result → bytes and headers. The hot path: no I/O, no logging."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Protocol
from zlib import crc32

import orjson
from pydantic import TypeAdapter, ValidationError

from touchstone.schemas.base import Outbound
from touchstone.schemas.case import SPECIFIED_KINDS, Case, validate_case
from touchstone.schemas.faults import field_names, safe_path
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.result import ScoreResult, SourceRef
from touchstone.scorers.identity import deterministic_id
from touchstone.scorers.json_keys import has_key_twice
from touchstone.streams.wire.headers import fault_of

RESULT_TYPE = "touchstone.result"
LEDGER_TYPE = "touchstone.ledger"
EVENT_TYPE_PREFIX = "touchstone."

Header = tuple[str, bytes]


class Record(Protocol):
    """A consumed Kafka record, with the fields that are used here. `timestamp`: milliseconds since the epoch."""

    @property
    def topic(self) -> str: ...  # noqa: D102 -- the names are the documentation
    @property
    def partition(self) -> int: ...  # noqa: D102
    @property
    def offset(self) -> int: ...  # noqa: D102
    @property
    def timestamp(self) -> int: ...  # noqa: D102
    @property
    def key(self) -> bytes | None: ...  # noqa: D102
    @property
    def value(self) -> bytes | None: ...  # noqa: D102
    @property
    def headers(self) -> Sequence[Header]: ...  # noqa: D102


@dataclass(slots=True)  # not frozen: that would triple what making one costs
class Read:
    """A record that is a case for this suite."""

    case: Case
    event_id: str
    format: str


@dataclass(frozen=True, slots=True)
class Skip:
    """A record that is not for this suite. `reason` is a stable code."""

    reason: str
    format: str


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that no suite can read. `code` is stable; `where` is a path of field names and indices, or a byte position.

    `since`: the record stands for the offsets from here to its own, and the dead letter of an earlier one holds the bytes of all.
    """

    code: str
    where: str
    format: str
    since: int | None = None


class Codec:
    """Reads records for one suite.

    `cases`: kind → model of the suite. `known_kinds`: kinds of every installed suite; a record of one of them is
    skipped, a record of none is rejected. `bytes_max`: larger values are rejected unread. `signatures`: kind → keys that
    only this kind has, of other suites' kinds, so that a record that does not say its kind is skipped like one that does.
    """

    def __init__(
        self,
        cases: Mapping[str, type[Case]],
        known_kinds: Iterable[str] = (),
        bytes_max: int = 1_048_576,
        signatures: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        self._cases = dict(cases)
        self._known = SPECIFIED_KINDS | frozenset(known_kinds) | frozenset(cases)
        self._bytes_max = bytes_max
        self._fields = {kind: frozenset(field_names(model)) for kind, model in cases.items()}
        own = {kind: model.signature for kind, model in cases.items()}
        self._signatures = [(kind, keys) for kind, keys in (own | {k: v for k, v in (signatures or {}).items() if k not in own}).items() if keys]

    def read(self, record: Record, topic_id: str = "") -> Read | Skip | Reject:
        """Read one record. Never raises for what the record holds. `topic_id`: of the topic that it is on; empty if the broker has none."""
        if record.headers and (fault := fault_of(record.headers)) is not None:
            return Reject(fault.code, fault.where, "unread", fault.since)
        value = record.value
        if not value:
            return Reject("empty", "", "none")
        if len(value) > self._bytes_max:
            return Reject("too_large", f"{len(value)} bytes, limit {self._bytes_max}", "unread")
        # A header without a value is legal on the wire; it is ignored.
        headers = {name: content for name, content in record.headers if content is not None} if record.headers else {}
        if value[0] == 0 and len(value) > 5:
            value = value[5:]  # the five-byte frame that schema-registry serializers put before the JSON
        try:
            document = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            return _unreadable(value, error)
        if has_key_twice(value, document):
            return Reject("duplicate_key", "", "unread")
        return self._route(document, headers, record, topic_id)

    def _route(self, document: Any, headers: Mapping[str, bytes], record: Record, topic_id: str) -> Read | Skip | Reject:
        """Unwrap a CloudEvent, find the kind, validate."""
        form = "json"
        envelope: Mapping[str, Any] = {}
        version_at = "specversion"
        if headers:
            content_type = headers.get("content-type", b"").lower()
            if content_type.startswith(b"application/cloudevents-batch"):
                return Reject("cloudevents_batch", "content-type", "cloudevents_batch")
            if content_type.startswith(b"application/cloudevents"):
                form = "cloudevents_structured"
            elif "ce_specversion" in headers:
                form = "cloudevents_binary"
                envelope = _attributes(headers)
                version_at = "ce_specversion"
        if not isinstance(document, dict):
            return Reject("not_an_object", "", form)
        if form == "json" and "specversion" in document and "data" in document:
            form = "cloudevents_structured"
        if form == "cloudevents_structured":
            envelope = document
            document = document.get("data")
        if envelope and str(envelope.get("specversion", "1")).partition(".")[0] != "1":
            return Reject("specversion_unknown", version_at, form)
        if not isinstance(document, dict):
            return Reject("cloudevents_data_missing", "data", form)
        kind = document.get("kind")
        if kind is None:
            kind = self._infer_kind(document, envelope)
        if not isinstance(kind, str):
            return Reject("kind_missing", "kind", form)
        model = self._cases.get(kind)
        if model is None:
            return Skip("other_kind", form) if kind in self._known else Reject("kind_unknown", "kind", form)
        return self._validate(model, kind, document, envelope, (record, topic_id), form)

    def _infer_kind(self, document: Mapping[str, Any], envelope: Mapping[str, Any]) -> str | None:
        """The kind of a record without `kind`: by its CloudEvents type, else by keys that only one kind has."""
        event_type = envelope.get("type")
        if isinstance(event_type, str) and event_type.startswith(EVENT_TYPE_PREFIX):
            return event_type.removeprefix(EVENT_TYPE_PREFIX)
        for kind, signature in self._signatures:
            if signature <= document.keys():
                return kind
        return None

    def _validate(
        self, model: type[Case], kind: str, document: dict[str, Any], envelope: Mapping[str, Any], place: tuple[Record, str], form: str
    ) -> Read | Reject:
        """Validate the payload; on failure name the first field at fault and never its content."""
        try:
            case = validate_case(model, document)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            return Reject(f"schema_{first['type']}", safe_path(first["loc"], self._fields[kind]), form)
        event_id = case.id
        if event_id is None:
            ce_id = envelope.get("id")
            event_id = ce_id if isinstance(ce_id, str) and 0 < len(ce_id) <= 256 and ce_id.isprintable() else position_id(source_of(*place))
        return Read(case, event_id, form)


def _attributes(headers: Mapping[str, bytes]) -> dict[str, str]:
    """CloudEvents attributes of a binary event. One that is not UTF-8 is left out: two of them must not become the same."""
    attributes: dict[str, str] = {}
    for name, raw in headers.items():
        if name.startswith("ce_"):
            with contextlib.suppress(UnicodeDecodeError):
                attributes[name[3:]] = raw.decode("utf-8")
    return attributes


def _unreadable(value: bytes, error: orjson.JSONDecodeError) -> Reject:
    """Say why bytes are not JSON, without quoting them."""
    try:
        value.decode("utf-8")
    except UnicodeDecodeError as bad:
        return Reject("not_utf8", f"byte {bad.start}", "unread")
    if value.startswith(b"\xef\xbb\xbf"):
        return Reject("byte_order_mark", "byte 0", "unread")
    if str(error).startswith("depth limit"):
        return Reject("too_deep", "", "unread")
    return Reject("not_json", f"character {error.pos + 1}", "unread")  # people count characters from 1


def position_id(source: SourceRef) -> str:
    """The id of an event whose producer gave none: UUIDv5 of its topic's id, partition and offset.

    A topic that is made anew under its old name has the same offsets again, so where the broker gives no id, the name and the event's checksum
    take its place.
    """
    if source.topic_id:
        return deterministic_id(f"{source.topic_id}/{source.partition}/{source.offset}")
    return deterministic_id(f"{source.topic}/{source.partition}/{source.offset}/{source.checksum}")


_ledger_adapter = TypeAdapter(LedgerRecord)
_JSON_HEADER: Header = ("content-type", b"application/json")
_VERSION_HEADER: Header = ("ce_specversion", b"1.0")
_LEDGER_TYPE_HEADER: Header = ("ce_type", LEDGER_TYPE.encode())


Encoded = tuple[bytes, bytes, list[Header]]


def source_of(record: Record, topic_id: str = "") -> SourceRef:
    """The place of a record on its topic."""
    # The timestamp is the sum's start: an event that was sent again with the same bytes is another event.
    checksum = crc32(record.value or b"", record.timestamp & 0xFFFFFFFF)
    return SourceRef.of_valid({"topic": record.topic, "partition": record.partition, "offset": record.offset, "topic_id": topic_id, "checksum": checksum})


def encode_result(result: ScoreResult) -> Encoded:
    """Key, value and headers of a result event (JSON; CloudEvents 1.0, binary mode). Raises `TypeError` for details that JSON cannot hold."""
    fields = result.__dict__
    key = fields["result_id"].encode()
    # Straight from the fields: pydantic's own serialiser takes three times as long.
    value = orjson.dumps(fields, default=fields_of)
    subject, time = header_text(fields["event_id"]), fields["scored_at"].isoformat().encode()
    return key, value, [*_result_headers(fields["suite"]), ("ce_id", key), ("ce_subject", subject), ("ce_time", time)]


@cache
def _result_headers(suite: str) -> list[Header]:
    return [_JSON_HEADER, _VERSION_HEADER, ("ce_type", RESULT_TYPE.encode()), _source_header(suite)]


def encode_follow_up(suite: str, result_id: str, event_id: str, record: Mapping[str, Any]) -> Encoded:
    """Key, value and headers of the event that hands a case on. Its CloudEvents id is that of the result which it follows, so a repeat has the same."""
    key = result_id.encode()
    headers = [_JSON_HEADER, _VERSION_HEADER, ("ce_type", f"{EVENT_TYPE_PREFIX}{record['kind']}".encode()), _source_header(suite)]
    return key, orjson.dumps(record), [*headers, ("ce_id", key), ("ce_subject", header_text(event_id))]


def changed_value(value: bytes, change: Callable[[ScoreResult], ScoreResult]) -> bytes:
    """The value of a result event after a change to its result. The result holds JSON types here: they were valid when it was encoded."""
    return orjson.dumps(change(ScoreResult.of_valid(orjson.loads(value))).__dict__, default=fields_of)


def fields_of(part: Any) -> Any:
    """The parts of a result that are models themselves."""
    if Outbound in type(part).__mro__:  # pydantic's `isinstance` costs ten times as much
        return part.__dict__
    raise TypeError(type(part).__name__)


def _source_header(suite: str) -> Header:
    header: Header = ("ce_source", f"/touchstone/{suite}".encode())
    return header


def encode_ledger(record: LedgerRecord, now: datetime | None = None) -> Encoded:
    """Key, value and headers of a ledger record. The id names its content, so a repeat is recognisable."""
    value = _ledger_adapter.dump_json(record)
    key = f"ledger/{record.suite}/{record.topic}/{record.partition}".encode()
    ce_id = deterministic_id(value.decode()).encode()
    return (
        key,
        value,
        [
            _JSON_HEADER,
            _VERSION_HEADER,
            _LEDGER_TYPE_HEADER,
            ("ce_id", ce_id),
            _source_header(record.suite),
            ("ce_time", (now or datetime.now(UTC)).isoformat().encode()),
        ],
    )


def header_text(text: str) -> bytes:
    """UTF-8 for a header; an identifier is at most 256 characters, so no header grows past about a kilobyte."""
    return text.encode("utf-8", "replace")
