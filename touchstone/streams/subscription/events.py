"""Events for watchers: a result or report event as on its topic, with the fields that they filter by."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

import orjson

from touchstone.schemas.prevalence import PREVALENCE_TYPE
from touchstone.schemas.result import Label, ScoreResult
from touchstone.schemas.settings.house import TopicSettings
from touchstone.scorers.calibration.live import suite_and_value
from touchstone.scorers.suite import Suite, default_group
from touchstone.streams.subscription.positions import Place
from touchstone.streams.wire.codec import LEDGER_TYPE, RESULT_TYPE, Record

LABELS = frozenset(get_args(Label))
RESULTS, REPORTS = "r", "p"
#: A name or an id that is longer was not written by Touchstone.
NAME_CHARS_MAX = 512
CODES_MAX = 50
#: Ranges of offsets that are kept of one ledger record.
PLACES_MAX = 20


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One event: a result, a report or a prevalence. `value`: its bytes on the topic. `type`: its CloudEvents type. `key`: the id of the result or
    report, or the subject.

    Of a result: `values`, `codes` (of findings and failures, without those for information), `fails` (findings that are critical or major), and
    `scored_with` (version and configuration digest of the suite), and `model` (what wrote the text, where the event says so).
    """

    place: Place
    offset: int
    at_ms: int
    type: str
    key: str
    value: bytes
    suite: str | None
    label: str | None = None
    concern: str | None = None
    batch: str | None = None
    values: Mapping[str, float] = field(default_factory=dict)
    codes: tuple[str, ...] = ()
    fails: int = 0
    scored_with: tuple[str, str] = ("", "")
    model: str | None = None

    @property
    def is_result(self) -> bool:
        """Whether it is a result."""
        return self.type == RESULT_TYPE

    @property
    def is_report(self) -> bool:
        """Whether it is the report of a batch."""
        return self.type not in {RESULT_TYPE, PREVALENCE_TYPE}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """A ledger record: (outcome, reason) → events of a suite without a result. It is counted, and not sent to watchers.

    `places`: outcome, reason, first and last offset on `topic[partition]`, of the latest that were not merely skipped, at most `PLACES_MAX`.
    """

    suite: str
    at_ms: int
    counts: Mapping[tuple[str, str], int]
    topic: str = ""
    partition: int = 0
    places: tuple[tuple[str, str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """Which events a watcher wants, and which it may see. An empty set admits all. `scope`: the suites that its token is for; None: all of them."""

    types: frozenset[str] = frozenset()
    suites: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    concerns: frozenset[str] = frozenset()
    batches: frozenset[str] = frozenset()
    scope: frozenset[str] | None = None

    def admits(self, event: Event) -> bool:
        """True if an event is for this watcher. An event without a suite is only for those who may see all of them."""
        return (
            (self.scope is None or event.suite in self.scope)
            and (not self.suites or event.suite in self.suites)
            and (not self.labels or event.label in self.labels)
            and (not self.types or event.type in self.types)
            and (not self.concerns or event.concern in self.concerns)
            and (not self.batches or event.batch in self.batches)
        )


@dataclass(frozen=True, slots=True)
class _Grouped:
    """The fields of a result that the default grouping reads."""

    suite: str
    attributes: Mapping[str, Any]
    correlation: Mapping[str, Any]


class EventReader:
    """Reads records of the results and reports topics. `suites`: those installed here, which say in which batch a result is reported."""

    def __init__(self, topics: TopicSettings, suites: Mapping[str, Suite]) -> None:
        self.roles: dict[str, str] = {topics.results: RESULTS, topics.reports: REPORTS}
        self._suites = suites
        self._reports = {suite.report_type: name for name, suite in suites.items()}
        self._latest = ("", "")

    def read(self, record: Record) -> Event | Outcomes | None:
        """An event, or outcomes; None for a record that is neither. Never raises for what it holds."""
        headers = dict(record.headers or ())
        kind = (headers.get("ce_type") or b"").decode("utf-8", "replace")
        role = self.roles.get(record.topic)
        value = record.value
        if role is None or not value or not kind or len(kind) > NAME_CHARS_MAX or not kind.isprintable():
            return None
        try:
            document = orjson.loads(value)
            if role == REPORTS and kind == PREVALENCE_TYPE:
                subject = _name(document["subject"])
                place = (REPORTS, record.partition)
                return Event(place, record.offset, record.timestamp, PREVALENCE_TYPE, subject, bytes(value), suite_and_value(subject)[0])
            if role == REPORTS:
                return self._report(record, kind, value, document, headers)
            if kind == RESULT_TYPE:
                return self._result(record, value, document)
            if kind == LEDGER_TYPE:
                return _ledger(record, document)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            return None
        return None

    def _result(self, record: Record, value: bytes, document: Mapping[str, Any]) -> Event:
        if document["label"] not in LABELS:  # another program wrote it: the store does not take it either, and no share would add up with it
            raise ValueError("label")
        suite = _name(document["suite"])
        concern, batch = self._batch(suite, document)
        findings, failures = _entries(document, "findings"), _entries(document, "failures")
        codes = [str(failure["code"]) for failure in failures]
        codes += [str(finding["code"]) for finding in findings if finding["severity"] != "info"]
        return Event(
            *((RESULTS, record.partition), record.offset, record.timestamp, RESULT_TYPE, _name(document["result_id"]), bytes(value), suite),
            label=_name(document["label"]),
            concern=concern,
            batch=batch,
            values={sys.intern(str(name)): _number(number) for name, number in document["values"].items()},
            codes=tuple(sys.intern(code[:NAME_CHARS_MAX]) for code in dict.fromkeys(codes[: CODES_MAX * 4]))[:CODES_MAX],
            fails=sum(finding["severity"] in {"critical", "major"} for finding in findings),
            scored_with=self._shared(_name(document.get("suite_version") or ""), _name(document.get("config_digest") or "")),
            model=_model(document),
        )

    def _shared(self, version: str, digest: str) -> tuple[str, str]:
        """Version and digest as one object for results in a row, because there are hundreds of thousands in the window."""
        if self._latest != (version, digest):
            self._latest = (version, digest)
        return self._latest

    def _report(self, record: Record, kind: str, value: bytes, document: Mapping[str, Any], headers: Mapping[str, bytes]) -> Event:
        suite = self._reports.get(kind)
        if suite is None:  # of a suite that is not installed here: the projector names it as the source
            source = (headers.get("ce_source") or b"").decode("utf-8", "replace")
            suite = source.rpartition("/")[2] if source.startswith("/touchstone/projector/") else None
        key, concern, batch = _name(document["report_id"]), _name(document["concern_id"]), _name(document["batch_id"])
        return Event((REPORTS, record.partition), record.offset, record.timestamp, sys.intern(kind), key, bytes(value), suite, None, concern, batch)

    def _batch(self, suite: str, document: Mapping[str, Any]) -> tuple[str | None, str | None]:
        """The concern and batch that a result is reported in, as its suite groups it."""
        installed = self._suites.get(suite)
        try:
            if installed is None or installed.group is default_group:
                # The default reads three fields; making a whole result of each record for them would cost more than all the rest.
                light = _Grouped(suite, document.get("attributes") or {}, document.get("correlation") or {})
                group = default_group(cast("ScoreResult", light))
            else:
                group = installed.group(ScoreResult.model_validate(document, extra="ignore"))
            return (None, None) if group is None else (_name(group.concern_id), _name(group.batch_id))
        except Exception:  # noqa: BLE001 -- a result that its suite cannot group is a result all the same
            return None, None


def _model(document: Mapping[str, Any]) -> str | None:
    """The model that wrote what was scored: an attribute of the event; None if it names none."""
    for part in ("attributes", "correlation"):
        found = (document.get(part) or {}).get("model")
        if isinstance(found, str) and 0 < len(found) <= NAME_CHARS_MAX:
            return sys.intern(found)
    return None


def _ledger(record: Record, document: Mapping[str, Any]) -> Outcomes:
    counts: dict[tuple[str, str], int] = {}
    places: list[tuple[str, str, int, int]] = []
    for entry in document["entries"]:
        key = (_name(entry["outcome"]), _name(entry["reason"]))
        counts[key] = counts.get(key, 0) + sum(last - first + 1 for first, last in entry["ranges"])
        if key[0] != "skipped":
            places += [(*key, int(first), int(last)) for first, last in entry["ranges"][-PLACES_MAX:]]
    kept = tuple(sorted(places, key=lambda one: one[2])[-PLACES_MAX:])
    return Outcomes(_name(document["suite"]), record.timestamp, counts, _name(document["topic"]), int(document["partition"]), kept)


def _name(text: Any) -> str:
    """A short text, one object for all that are equal. Raises `ValueError` for anything else."""
    if not isinstance(text, str) or len(text) > NAME_CHARS_MAX:
        raise ValueError("not a name")
    return sys.intern(text)


def _entries(document: Mapping[str, Any], name: str) -> list[Any]:
    """A list of the document; one that is missing is empty. Raises `TypeError` for anything else, which every reader of the event would trip over."""
    found = document.get(name)
    if not isinstance(found, list | None):
        raise TypeError(name)
    return found or []


def _number(number: Any) -> float:
    """A finite number. Raises `ValueError` for anything else."""
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise ValueError("not a number")
    return float(number)
