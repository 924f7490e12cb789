"""Bytes and headers → case, and result → bytes and headers. The hot path: no I/O, no logging."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import EllipsisType
from typing import Any, Protocol

import orjson
from pydantic import BaseModel, TypeAdapter, ValidationError

from touchstone.schemas.case import SPECIFIED_KINDS, Case, validate_case
from touchstone.schemas.faults import field_names, safe_path
from touchstone.schemas.ledger import LedgerRecord
from touchstone.schemas.result import Scorecard
from touchstone.scorers.identity import ResultIds, deterministic_id
from touchstone.streams.wire.headers import reject_code

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


@dataclass(frozen=True, slots=True)
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
    """A record that no suite can read. `code` is stable; `where` is a path of field names and indices, or a byte position."""

    code: str
    where: str
    format: str


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

    def read(self, record: Record) -> Read | Skip | Reject:
        """Read one record. Never raises for what the record holds."""
        if record.headers and (wrong := reject_code(record.headers)) is not None:
            return Reject(*wrong, "unread")
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
        return self._route(document, headers, record)

    def _route(self, document: Any, headers: Mapping[str, bytes], record: Record) -> Read | Skip | Reject:
        """Unwrap a CloudEvent, find the kind, validate."""
        form = "json"
        envelope: Mapping[str, Any] = {}
        if headers:
            content_type = headers.get("content-type", b"").lower()
            if content_type.startswith(b"application/cloudevents-batch"):
                return Reject("cloudevents_batch", "content-type", "cloudevents_batch")
            if content_type.startswith(b"application/cloudevents"):
                form = "cloudevents_structured"
            elif "ce_specversion" in headers:
                form = "cloudevents_binary"
                envelope = _attributes(headers)
        if not isinstance(document, dict):
            return Reject("not_an_object", "", form)
        if form == "json" and "specversion" in document and "data" in document:
            form = "cloudevents_structured"
        if form == "cloudevents_structured":
            envelope = document
            document = document.get("data")
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
        return self._validate(model, kind, document, envelope, record, form)

    def _infer_kind(self, document: Mapping[str, Any], envelope: Mapping[str, Any]) -> str | None:
        """The kind of a record without `kind`: by its CloudEvents type, else by keys that only one kind has."""
        event_type = envelope.get("type")
        if isinstance(event_type, str) and event_type.startswith(EVENT_TYPE_PREFIX):
            return event_type.removeprefix(EVENT_TYPE_PREFIX)
        for kind, signature in self._signatures:
            if signature <= document.keys():
                return kind
        return None

    def _validate(self, model: type[Case], kind: str, document: dict[str, Any], envelope: Mapping[str, Any], record: Record, form: str) -> Read | Reject:
        """Validate the payload; on failure name the first field at fault and never its content."""
        try:
            case = validate_case(model, document)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False, include_context=False)[0]
            return Reject(f"schema_{first['type']}", safe_path(first["loc"], self._fields[kind]), form)
        event_id = case.id
        if event_id is None:
            ce_id = envelope.get("id")
            event_id = ce_id if isinstance(ce_id, str) and 0 < len(ce_id) <= 256 and ce_id.isprintable() else position_id(record)
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


def position_id(record: Record) -> str:
    """The id of an event whose producer gave none: UUIDv5 of its topic, partition and offset."""
    return deterministic_id(f"{record.topic}/{record.partition}/{record.offset}")


_ledger_adapter = TypeAdapter(LedgerRecord)
_JSON_HEADER: Header = ("content-type", b"application/json")
_VERSION_HEADER: Header = ("ce_specversion", b"1.0")
_LEDGER_TYPE_HEADER: Header = ("ce_type", LEDGER_TYPE.encode())


class ResultEncoder:
    """Writes the result events of one running suite (`touchstone.schemas.result.ScoreResult` as JSON; CloudEvents 1.0, binary mode).

    The scorecard was validated when it was made, and all else comes from Touchstone, so the event is written straight from its parts:
    building the model first would cost more than scoring does. A test reads every shape back through the model.
    """

    def __init__(self, suite: str, version: str, digest: str) -> None:
        self._suite = suite
        self._version = version
        self._digest = digest
        self._ids = ResultIds(suite, version, digest)
        self._headers = [_JSON_HEADER, _VERSION_HEADER, ("ce_type", RESULT_TYPE.encode()), ("ce_source", f"/touchstone/{suite}".encode())]

    def result_id(self, event_id: str) -> str:
        """UUIDv5 of (event, suite, version, configuration)."""
        return self._ids.of(event_id)

    def encode(
        self, record: Record, read: Read, card: Scorecard, duration_ms: Mapping[str, float], case_id: str | EllipsisType | None = ...
    ) -> tuple[bytes, bytes, list[Header]]:
        """Key, value and headers of the result of one case. `case_id`: where given, the case's own is not asked for."""
        case = read.case
        result_id = self.result_id(read.event_id)
        scored_at = datetime.now(UTC).isoformat()
        value = orjson.dumps(
            {
                "result_id": result_id,
                "event_id": read.event_id,
                "case_id": case.case_id if case_id is ... else case_id,
                "kind": case.kind,
                "suite": self._suite,
                "suite_version": self._version,
                "config_digest": self._digest,
                "outcome": "scored",
                "label": card.label,
                "values": card.values,
                "findings": card.findings,
                "failures": card.failures,
                "components_missing": card.components_missing,
                "not_checked": card.not_checked,
                "details": card.details,
                "attributes": card.attributes,
                "models": card.models,
                "correlation": case.correlation,
                "source": {"topic": record.topic, "partition": record.partition, "offset": record.offset},
                "scored_at": scored_at,
                "duration_ms": duration_ms,
            },
            default=_members,
        )
        key = result_id.encode()
        headers = [*self._headers, ("ce_id", key), ("ce_subject", header_text(read.event_id)), ("ce_time", scored_at.encode())]
        return key, value, headers

    def encode_follow_up(self, event_id: str, record: Mapping[str, Any]) -> tuple[bytes, bytes, list[Header]]:
        """Key, value and headers of the event that hands a case on. Its CloudEvents id is that of the result which it follows, so a repeat has the same."""
        key = self.result_id(event_id).encode()
        headers: list[Header] = [_JSON_HEADER, _VERSION_HEADER, ("ce_type", f"{EVENT_TYPE_PREFIX}{record['kind']}".encode()), self._headers[3]]
        return key, orjson.dumps(record), [*headers, ("ce_id", key), ("ce_subject", header_text(event_id))]


def trimmed(value: bytes) -> bytes:
    """A result event without the parts that make it too large for the broker; a failure records that."""
    result = orjson.loads(value)
    failure = {"component": "details", "kind": "too_large", "code": "result_too_large"}
    return orjson.dumps(result | {"findings": [], "details": {}, "not_checked": [], "failures": [*result["failures"], failure]})


def unhanded(value: bytes) -> bytes:
    """A result event whose follow-up event the broker refuses for its size; a failure records that."""
    result = orjson.loads(value)
    failure = {"component": "follow_up", "kind": "too_large", "code": "follow_up_too_large"}
    return orjson.dumps(result | {"failures": [*result["failures"], failure]})


def _members(value: Any) -> Any:
    """The parts of a scorecard that are models themselves."""
    if isinstance(value, BaseModel):
        return value.__dict__
    raise TypeError(type(value).__name__)


def encode_ledger(record: LedgerRecord, now: datetime | None = None) -> tuple[bytes, bytes, list[Header]]:
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
            ("ce_source", f"/touchstone/{record.suite}".encode()),
            ("ce_time", (now or datetime.now(UTC)).isoformat().encode()),
        ],
    )


def header_text(text: str) -> bytes:
    """UTF-8 for a header; an identifier is at most 256 characters, so no header grows past about a kilobyte."""
    return text.encode("utf-8", "replace")
