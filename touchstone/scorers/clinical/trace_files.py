"""Reads files for the clinical suite: a loose document, which becomes a trace, or traces as an object, an array, or JSON lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from touchstone.schemas.case import IDENTIFIER_CHARS_MAX, validate_case
from touchstone.schemas.faults import field_names, safe_path
from touchstone.schemas.result import FileRef, Finding, Problem
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Document, Found
from touchstone.scorers.json_keys import has_key_twice

if TYPE_CHECKING:
    import orjson

#: The place of the only trace of a file, and of one of several.
ONLY: Final = "trace"
NUMBERED: Final = "trace[{}]"
EMPTY: Final = "empty"
UNKNOWN: Final = "recognised neither as FHIR, nor as HL7 v2, nor as C-CDA, nor as a trace"
#: First bytes of compressed files and archives, which are not unpacked.
_PACKED: Final = {b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"7z\xbc\xaf\x27\x1c": "7z"}
_COMPRESSED: Final = "compressed ({}): unpack it, and validate what it holds"
#: How the only finding for content in which nothing is recognised begins.
UNRECOGNISED: Final = (UNKNOWN, *(_COMPRESSED.format(name) for name in _PACKED.values()))
#: Faults of one trace's fields that are listed.
FAULTS_MAX: Final = 5
_FIELDS: Final = frozenset(field_names(ProductionTrace))
_SHAPE: Final = 'should be {"content": …}, with the document, or a list of documents, under that key'
_TWICE: Final = Finding(severity="critical", code="trace.json", path="trace", message="an object has a key twice; keep one")
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_HEAD_BYTES: Final = 65_536
_NAME_KEPT: Final = 200


def read(document: Document, settings: Any) -> Iterable[Found | Problem]:
    """The traces of a file, with a problem in place of each invalid one. Never None, because the suite judges every file."""
    from touchstone.scorers.clinical.format_detection import sniff

    data = document.data
    if not data or (not data[:_HEAD_BYTES].strip() and data.isspace()):
        return [_problem(document, EMPTY, "unknown")]
    if looks_like_traces(data):
        # Traces need the whole file in memory, so this file was not read.
        return [_beyond(document, "trace")] if document.is_cut else _traces(document)
    form = sniff(data)
    if form is None and document.is_cut and _is_json(data):
        # JSON whose beginning does not show what it is, such as a trace with a long first document.
        return [_beyond(document, None)]
    if form is None:
        packed = next((name for start, name in _PACKED.items() if data.startswith(start)), None)
        what = f"{UNKNOWN}{_fault_of_json(data)}" if packed is None else _COMPRESSED.format(packed)
        return [_problem(document, what, "unknown" if document.named else "passed_over")]
    if document.is_cut:
        return [_beyond(document, form)]
    if form not in settings.formats:
        what = f"not among the formats asked for ({', '.join(settings.formats)})"
        return [Problem(source=FileRef(file=document.file), what=what, kind="passed_over", format=form)]
    return [Found({"kind": "trace", "traceId": trace_id_of(document.file), "outputs": {form: {"content": _text(data)}}})]


def read_for_stage(document: Document, settings: Any, request_kind: str) -> Iterable[Found | Problem] | None:
    """The traces of a file for a slower stage; None for a file of the stage's own requests, which are case JSON."""
    if f'"{request_kind}"'.encode() in document.data and not looks_like_traces(document.data):
        return None
    return read(document, settings)


def trace_id_of(file: str) -> str:
    """The trace id of a loose document: the file's name, as far as an id can hold it."""
    if len(file) <= IDENTIFIER_CHARS_MAX and file.isprintable():
        return file
    kept = "".join(character if character.isprintable() else "?" for character in file[-_NAME_KEPT:])
    return f"{kept}~{sha256(file.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def looks_like_traces(data: bytes) -> bool:
    """True if a file holds traces, complete or cut off: JSON with their two keys, which no other format has together.

    Text cannot look like a key, because quotes inside a string are escaped.
    """
    import orjson

    if not _is_json(data) or b'"traceId"' not in data or b'"outputs"' not in data:
        return False
    try:
        document = orjson.loads(data.removeprefix(_BYTE_ORDER_MARK))
    except orjson.JSONDecodeError:
        return True
    values = _batch(document)
    return _is_trace(document) if values is None else all(_is_trace(value) for value in values)


def _is_json(data: bytes) -> bool:
    """True if this begins like a JSON object or array."""
    return data[:64].removeprefix(_BYTE_ORDER_MARK).lstrip().startswith((b"{", b"["))


def _fault_of_json(data: bytes) -> str:
    """Where a file that begins like JSON stops being JSON; empty for JSON, JSON lines, and anything else."""
    import orjson

    if not _is_json(data):
        return ""
    try:
        orjson.loads(data.removeprefix(_BYTE_ORDER_MARK).rstrip())
    except orjson.JSONDecodeError as error:
        first = data.removeprefix(_BYTE_ORDER_MARK).lstrip().split(b"\n", 1)[0]
        return "" if isinstance(_line(first), dict) else f"; as JSON it is cut off or malformed at line {error.lineno} column {error.colno}"
    return ""


def _beyond(document: Document, form: Any) -> Problem:
    """A file that is too large, which its reader reports; only its format is added here."""
    return Problem(source=FileRef(file=document.file), what="", kind="unknown", format=form)


def _problem(document: Document, what: str, kind: Any) -> Problem:
    return Problem(source=FileRef(file=document.file), what=what, kind=kind)


def _text(data: bytes) -> str | bytes:
    """A document's text; its bytes if they are not UTF-8, which the validator then reports."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _is_trace(value: Any) -> bool:
    return isinstance(value, dict) and "traceId" in value and "outputs" in value and "resourceType" not in value


def _batch(document: Any) -> list[Any] | None:
    """The values of an array, or of `{"cases": […]}` with the ids of the batch added to each; None for anything else."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict) or not isinstance(document.get("cases"), list):
        return None
    ids = {key: document[key] for key in ("concern_id", "batch_id") if document.get(key) is not None}
    return [ids | value if isinstance(value, dict) else value for value in document["cases"]]


def _traces(document: Document) -> Iterator[Found | Problem]:
    """Every trace of a file with its place, or a problem for an invalid one."""
    for place, value in _values(document.data.removeprefix(_BYTE_ORDER_MARK)):
        findings: tuple[Finding, ...] = (value,) if isinstance(value, Finding) else _faults(value)
        if findings:
            where = FileRef(file=document.file, place=place)
            yield Problem(source=where, what=f"{findings[0].path}: {findings[0].message}", format="trace", findings=findings)
        else:
            yield Found({"kind": "trace"} | value, place)


def _values(data: bytes) -> Iterator[tuple[str, Any]]:
    """Each value with its place; a critical finding in place of one that is not a JSON object."""
    import orjson

    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        lines = [line for line in data.split(b"\n") if line.strip()]
        # JSON lines if the first line is a whole object, else one document that was cut off.
        if len(lines) == 1 or isinstance(_line(lines[0]), Finding):
            yield ONLY, _not_json(error)
            return
        for number, line in enumerate(lines):
            value = _line(line)
            yield NUMBERED.format(number), _TWICE if isinstance(value, dict) and has_key_twice(line, value) else value
        return
    if has_key_twice(data, document):
        yield ONLY, _TWICE
    elif (values := _batch(document)) is not None:
        yield from ((NUMBERED.format(number), value) for number, value in enumerate(values))
    else:
        yield ONLY, document


def _line(line: bytes) -> Any:
    import orjson

    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _not_json(error)
    return value if isinstance(value, dict) else Finding(severity="critical", code="trace.json", path="trace", message="a trace is a JSON object")


def _not_json(error: orjson.JSONDecodeError) -> Finding:
    where = f"line {error.lineno} column {error.colno}"
    return Finding(severity="critical", code="trace.json", path="trace", message=f"not JSON, at {where}: cut off or malformed")


def _faults(value: dict[str, Any]) -> tuple[Finding, ...]:
    """Findings about a trace's own fields; nothing is quoted."""
    try:
        validate_case(ProductionTrace, value)
    except ValidationError as error:
        # JSON has no bytes, so advice about them would not help.
        items = [item for item in error.errors(include_input=False, include_url=False, include_context=False) if item["type"] != "bytes_type"]
        return tuple(_fault(item) for item in items[:FAULTS_MAX])
    return ()


def _fault(item: Any) -> Finding:
    path = safe_path(item["loc"], _FIELDS) or "trace"
    message = "is required" if item["type"] == "missing" else _SHAPE if _is_output(item["loc"]) else item["msg"]
    return Finding(severity="critical", code="trace.field", path=path, message=message)


def _is_output(loc: Sequence[int | str]) -> bool:
    """True if a fault is an output of the wrong shape."""
    return len(loc) == 2 and loc[0] == "outputs"
