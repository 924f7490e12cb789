"""Advice for a record that no suite scores: the faults of its fields, another way to score its content, a mistyped kind."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from touchstone.schemas.case import Case
    from touchstone.scorers.suite import Suite

_UNREADABLE = {
    "not_utf8": "write it in UTF-8",
    "byte_order_mark": "write it without a byte order mark",
    "too_deep": "it is nested too deeply for a case; check the program that wrote it",
    "empty": "it is empty; a Kafka tombstone is not an event",
    "too_large": "send less in one event, or raise worker.event_bytes_max (docs/configuration.md)",
    "batch_too_large": "its record batch unpacks to too much: send smaller batches, or raise kafka.batch_bytes_max or kafka.batch_ratio_max",
    "not_an_object": "an event is one JSON object; an array of cases is a file for `touchstone produce`",
    "cloudevents_batch": "send each event of the batch as a record of its own",
    "duplicate_key": "an object in it has a key twice; keep one",
    "specversion_unknown": "write CloudEvents 1.0 (docs/events.md)",
    "cloudevents_data_missing": "put the case under `data`, as a JSON object",
}


def next_step(where: str, value: bytes, code: str, suites: Sequence["Suite"]) -> str | None:
    """The next step, in one line without payload text; None where there is no advice. `code`: from the first suite that rejects the record."""
    if (reader := _reader(where, value, suites)) is not None:
        return f"not an event, but {reader[1]} that {reader[0]} scores as a file: touchstone score {reader[0]} FILE"
    if code in _UNREADABLE:
        return _UNREADABLE[code]
    if code == "not_json":
        return "correct the JSON there; characters are counted from 1"
    kinds = {kind: model for suite in suites for kind, model in suite.cases.items()}
    document = _document(value)
    if code == "kind_missing":
        return f"set `kind` to one of {', '.join(sorted(kinds))} (docs/events.md)"
    if code == "kind_unknown":
        return f"no installed suite scores this kind; known kinds: {', '.join(sorted(kinds))}; correct `kind`, or install the suite's package"
    if code.startswith("schema_") and document is not None:
        return _faults(document, kinds)
    return None


def _reader(where: str, value: bytes, suites: Sequence["Suite"]) -> tuple[str, str] | None:
    """A suite that reads the value as a document of another form than a case, and the name of that form."""
    from touchstone.schemas.result import Problem
    from touchstone.scorers.base import ConfigError, Document
    from touchstone.scorers.suite_settings import suite_settings

    for suite in suites:
        if suite.read is None:
            continue
        try:
            found = next(iter(suite.read(Document(where, value), suite_settings(suite)) or ()), None)
        except ConfigError:
            continue
        if found is not None and not isinstance(found, Problem):
            return suite.name, "a document"
        if isinstance(found, Problem) and found.format is not None and found.format not in suite.cases:
            return suite.name, "a document with faults"
    return None


def _document(value: bytes) -> dict[str, Any] | None:
    """The case inside a record, or inside the CloudEvent that it is."""
    import orjson

    try:
        document = orjson.loads(value[5:] if value[:1] == b"\0" else value)
    except orjson.JSONDecodeError:
        return None
    inner = document.get("data") if isinstance(document, dict) and "specversion" in document else document
    return inner if isinstance(inner, dict) else None


def _faults(document: Mapping[str, Any], kinds: Mapping[str, type["Case"]]) -> str | None:
    """What is wrong with the fields of a case, in the texts of its model."""
    from pydantic import ValidationError

    from touchstone.schemas.case import validate_case
    from touchstone.schemas.faults import explain

    kind = document.get("kind")
    model = kinds.get(kind) if isinstance(kind, str) else next((one for one in kinds.values() if one.signature and one.signature <= document.keys()), None)
    if model is None:
        return None
    try:
        validate_case(model, dict(document))
    except ValidationError as error:
        return explain(error, model, model.words)
    return None
