"""Files of traces: one JSON object, an array of them, or JSON lines; each file one entry.

A file of several traces has the means of their scores and the worst of their labels; the paths of its findings begin with the trace
(`trace[2]/outputs.fhir/Patient.gender`, from 0).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
from pydantic import ValidationError

from touchstone.schemas.case import validate_case
from touchstone.schemas.reports.clinical import ClinicalEntry, JudgedFile
from touchstone.schemas.result import Finding, Label, NotChecked, Scorecard
from touchstone.schemas.trace import CLINICAL_FORMATS, ProductionTrace
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.settings import ClinicalSettings
from touchstone.scorers.clinical.traces import judge_trace
from touchstone.streams.wire.codec import field_names, safe_path

#: Findings of one file that are told; the rest is counted.
FINDINGS_MAX: Final = 1_000
#: Faults of one trace's fields that are told.
FAULTS_MAX: Final = 5
_FIELDS: Final = frozenset(field_names(ProductionTrace))
_GRAVEST_FIRST: Final = {"critical": 0, "major": 1, "minor": 2, "info": 3}
_WORST_FIRST: Final[tuple[Label, ...]] = ("Fail", "unscored", "Warn", "Review", "Pass")
_UNREAD: Final = ("format", "terminology", "clinical")
_SHAPE: Final = 'should be {"content": …}, with the document, or a list of documents, under that key'
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def looks_like_traces(data: bytes) -> bool:
    """Whether a file holds traces, cut off or whole: JSON with their two keys, which no other format has together.

    Inside a string the quotes around a key would be escaped, so that text cannot look like a key.
    """
    head = data[:64].removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not head.startswith((b"{", b"[")) or b'"traceId"' not in data or b'"outputs"' not in data:
        return False
    try:
        document = orjson.loads(data.removeprefix(_BYTE_ORDER_MARK))
    except orjson.JSONDecodeError:
        return True
    return all(_is_trace(value) for value in document) if isinstance(document, list) else _is_trace(document)


def traces_entry(name: str, data: bytes, validator: DocumentValidator, settings: ClinicalSettings) -> JudgedFile:
    """Judge every trace of a file. `name`: the file, as the entry calls it."""
    merged = _Merged(settings)
    for place, value in _traces(data.removeprefix(_BYTE_ORDER_MARK)):
        if isinstance(value, Finding):
            merged.add_unread(place, [value])
            continue
        try:
            trace = validate_case(ProductionTrace, value)
        except ValidationError as error:
            merged.add_unread(place, _faults(error))
            continue
        merged.add(place, trace, judge_trace(trace, validator, settings))
    return merged.judged(name)


def gravest(findings: Iterable[Finding]) -> list[Finding]:
    """Findings, the gravest first, else in the order in which they were made."""
    return sorted(findings, key=lambda finding: _GRAVEST_FIRST[finding.severity])


def in_order(skipped: Iterable[NotChecked]) -> tuple[NotChecked, ...]:
    """What was not checked, by name: in which order a validator meets it depends on what it has in its caches."""
    return tuple(sorted(skipped, key=lambda one: (one.check, one.reason)))


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and "traceId" in value and "outputs" in value and "resourceType" not in value


def _traces(data: bytes) -> Iterator[tuple[str, Any]]:
    """Each trace with its place; a critical finding in its stead where it is no JSON object."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        lines = [line for line in data.split(b"\n") if line.strip()]
        # JSON lines, if the first line is a whole object; else one document that was cut off.
        if len(lines) == 1 or isinstance(_line(lines[0]), Finding):
            yield "", _not_json(error)
            return
        yield from ((f"trace[{number}]/", _line(line)) for number, line in enumerate(lines))
        return
    if isinstance(document, list):
        yield from ((f"trace[{number}]/", value) for number, value in enumerate(document))
    else:
        yield "", document


def _line(line: bytes) -> Any:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _not_json(error)
    return value if isinstance(value, dict) else Finding(severity="critical", code="trace.json", path="trace", message="a trace is a JSON object")


def _not_json(error: orjson.JSONDecodeError) -> Finding:
    where = f"line {error.lineno} column {error.colno}"
    return Finding(severity="critical", code="trace.json", path="trace", message=f"not JSON, at {where}: cut off or malformed")


def _faults(error: ValidationError) -> list[Finding]:
    """What is wrong with a trace's own fields; nothing of it is quoted."""
    told = []
    for item in error.errors(include_input=False, include_url=False, include_context=False)[:FAULTS_MAX]:
        path = safe_path(item["loc"], _FIELDS) or "trace"
        message = "is required" if item["type"] == "missing" else _SHAPE if _is_output(item["loc"]) else item["msg"]
        told.append(Finding(severity="critical", code="trace.field", path=path, message=message))
    return told


def _is_output(loc: Sequence[int | str]) -> bool:
    """Whether a fault is that of an output that has not the shape of one."""
    return len(loc) == 2 and loc[0] == "outputs"


class _Merged:
    """What the traces of one file come to."""

    def __init__(self, settings: ClinicalSettings) -> None:
        self._settings = settings
        self._traces = 0
        self._labels: set[Label] = set()
        self._values: dict[str, list[float]] = {}
        self._checks: dict[str, list[float]] = {}
        self._rules: Counter[str] = Counter()
        self._missing: dict[str, None] = {}
        self._findings: list[Finding] = []
        self._dropped = 0
        self._not_checked: dict[NotChecked, None] = {}
        self._valid: set[bool | None] = set()
        self._only_others = True

    def add(self, place: str, trace: ProductionTrace, card: Scorecard) -> None:
        """Count one judged trace."""
        self._traces += 1
        self._labels.add(card.label)
        self._missing |= dict.fromkeys(card.components_missing)
        _append(self._values, card.values)
        self._tell(place, card.findings)
        self._leave_out(card.not_checked)
        documents = card.details.get("documents", ())
        if card.failures:
            self._leave_out([NotChecked(check="outputs", reason=self._why_nothing(trace))])
        others = any(trace.outputs.of(form) is not None for form in CLINICAL_FORMATS if form not in self._settings.formats)
        self._only_others = self._only_others and bool(card.failures) and others
        self._valid.add(card.details.get("valid"))
        self._dropped += card.details.get("findings_dropped", 0)
        for one in documents:
            _append(self._checks, {f"{one['path']}/{name}": score for name, score in one["checks"].items()})
            self._rules.update({f"{one['path']}/{name}": times for name, times in one["rules_fired"].items()})

    def add_unread(self, place: str, findings: Iterable[Finding]) -> None:
        """Count one trace that could not be read."""
        self._traces += 1
        self._labels.add("Fail")
        self._valid.add(None)
        self._missing |= dict.fromkeys(_UNREAD)
        self._only_others = False
        self._tell(place, findings)

    def judged(self, name: str) -> JudgedFile:
        """The entry of the file."""
        label = next((label for label in _WORST_FIRST if label in self._labels), "unscored")
        entry = ClinicalEntry(
            file=name,
            format="trace",
            label=label,
            valid=False if False in self._valid else None if None in self._valid or not self._valid else True,
            scores=_means(self._values),
            components_missing=tuple(self._missing),
            findings=tuple(gravest(self._findings)),
            rules_fired=dict(self._rules),
            not_checked=in_order(self._not_checked),
            checks=_means(self._checks),
            findings_dropped=self._dropped,
        )
        return JudgedFile(entry=entry, outcome="passed_over" if self._only_others else "unvalidated" if label == "unscored" else "validated")

    def _why_nothing(self, trace: ProductionTrace) -> str:
        """Why no document of a trace was validated."""
        if all(trace.outputs.of(form) is None for form in CLINICAL_FORMATS):
            return f"the trace has no document: outputs has none of {', '.join(CLINICAL_FORMATS)}"
        if set(self._settings.formats) >= set(CLINICAL_FORMATS):
            return "the trace has no document"
        return "the trace has no document in a format that was asked for"

    def _tell(self, place: str, findings: Iterable[Finding]) -> None:
        for finding in findings:
            if len(self._findings) < FINDINGS_MAX:
                self._findings.append(finding.model_copy(update={"path": f"{place}{finding.path}"}) if place else finding)
            else:
                self._dropped += 1

    def _leave_out(self, skipped: Iterable[NotChecked]) -> None:
        for one in skipped:
            if len(self._not_checked) < self._settings.limits.not_checked_max:
                self._not_checked[one] = None


def _append(into: dict[str, list[float]], values: Mapping[str, float]) -> None:
    for name, value in values.items():
        into.setdefault(name, []).append(value)


def _means(values: Mapping[str, list[float]]) -> dict[str, float]:
    return {name: sum(known) / len(known) for name, known in values.items()}
