"""The FHIR documents in files: FHIR JSON, NDJSON, and the FHIR outputs of traces."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from touchstone.scorers.base import ConfigError

SUFFIXES = frozenset({".json", ".ndjson", ".jsonl"})
DOCUMENT_BYTES_MAX = 100 * 1024 * 1024


class FhirDocument(NamedTuple):
    """One FHIR document. `name`: its file, and its place in the file if that holds several."""

    name: str
    content: bytes


def fhir_documents(paths: Sequence[Path]) -> list[FhirDocument]:
    """Every FHIR document of the files and folders. Raises `ConfigError` if there is none."""
    found = [document for path in paths for file, name in _files(path) for document in _documents(file, name)]
    if not found:
        raise ConfigError("no FHIR document in what was given; give files, or folders, of FHIR JSON, NDJSON or traces")
    return found


def _files(path: Path) -> list[tuple[Path, str]]:
    if path.is_file():
        return [(path, path.name)]
    if not path.is_dir():
        raise ConfigError(f"{path}: no such file or folder")
    return [(file, str(file.relative_to(path))) for file in sorted(path.rglob("*")) if file.is_file() and file.suffix in SUFFIXES]


def _documents(path: Path, name: str) -> Iterator[FhirDocument]:
    try:
        if path.stat().st_size > DOCUMENT_BYTES_MAX:
            raise ConfigError(f"{path}: larger than {DOCUMENT_BYTES_MAX >> 20} MiB")
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from None
    if path.suffix in {".ndjson", ".jsonl"}:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield from _in_json(line, f"{name}:{number}")
    else:
        yield from _in_json(text, name)


def _in_json(text: bytes, name: str) -> Iterator[FhirDocument]:
    """A resource, or the FHIR outputs of a trace or of a list of traces. Text that is not JSON counts as a (broken) resource if it names a resource type."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if b'"resourceType"' in text:
            yield FhirDocument(name, text)
        return
    if isinstance(value, dict) and "resourceType" in value:
        yield FhirDocument(name, text)
        return
    several = isinstance(value, list)
    for number, one in enumerate(value if several else [value], start=1):
        content = _fhir_output(one)
        if content is not None:
            yield FhirDocument(f"{name}[{number}]" if several else name, content)


def _fhir_output(trace: Any) -> bytes | None:
    outputs = trace.get("outputs") if isinstance(trace, dict) else None
    fhir = outputs.get("fhir") if isinstance(outputs, dict) else None
    content = fhir.get("content") if isinstance(fhir, dict) else None
    if isinstance(content, str):
        return content.encode("utf-8", "surrogatepass")
    return json.dumps(content).encode() if isinstance(content, dict) else None
