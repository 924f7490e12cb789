"""Asks the official validator once about documents of both sets, and keeps what it said as ids and places, so that no Java is needed afterwards."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from touchstone.ops.local.fhir_validator.artifacts import distribution
from touchstone.ops.local.fhir_validator.client import Settings, read_outcome
from touchstone.ops.local.fhir_validator.packages import found_packages, guide
from touchstone.ops.local.fhir_validator.process import ValidatorProcess, launch_of
from touchstone.scorers.base import ConfigError
from touchstone.scorers.clinical.comparison.explanations import WITHOUT_SYSTEM, set_aside
from touchstone.scorers.operation_outcome import Issue

#: Loading a guide takes minutes on a busy machine.
START_TIMEOUT_S = 580.0
ASK_TIMEOUT_S = 300.0
OWN = "example.written#1.0.0"
TYPES = {"json": "application/fhir+json", "xml": "application/fhir+xml", "ndjson": "application/fhir+json"}
_HTTP_OK = 200


@contextmanager
def started(archives: Sequence[Path], packages: Path, definitions: Mapping[str, dict[str, Any]]) -> Iterator[ValidatorProcess]:
    """One validator that knows R4, these packages and these definitions (written as a package of their own). Raises `ConfigError`."""
    with tempfile.TemporaryDirectory(prefix="touchstone-written-") as scratch:
        guides = dict(guide(str(archive), [packages]) for archive in archives)
        if definitions:
            guides[OWN] = _package(Path(scratch), definitions)
        process = ValidatorProcess(launch_of(distribution(), found_packages([packages]), guides), start_timeout_s=START_TIMEOUT_S)
        try:
            process.begin()
            yield process
        finally:
            process.stop()


def _package(folder: Path, definitions: Mapping[str, dict[str, Any]]) -> Path:
    """A FHIR package of the definitions."""
    inside = folder / "package"
    inside.mkdir()
    name, version = OWN.split("#")
    about = {"name": name, "version": version, "type": "fhir.ig", "canonical": "http://example.org/fhir", "fhirVersions": ["4.0.1"]}
    (inside / "package.json").write_text(json.dumps(about), encoding="utf-8")
    for one in definitions.values():
        (inside / f"{one['resourceType']}-{one['id']}.json").write_text(json.dumps(one), encoding="utf-8")
    return folder


def verdict(process: ValidatorProcess, text: str, form: str = "json", *, rest_references: bool = False) -> dict[str, Any] | None:
    """What it says: valid or not, and its errors and warnings as `id at place`. NDJSON is asked line by line. None if it failed on the document.

    `rest_references`: the type that the URL of a reference names is its type, though nothing is there (its `assumeValidRestReferences`).
    """
    query = f"{Settings().query()}&assumeValidRestReferences={str(rest_references).lower()}"
    errors: list[str] = []
    warnings: list[str] = []
    for number, body in enumerate(text.splitlines() if form == "ndjson" else [text]):
        answer = process.ask(f"/validateResource?{query}", body.encode(), TYPES[form], ASK_TIMEOUT_S)
        if answer.status != _HTTP_OK:
            if b'"code":"exception"' in answer.body:
                return None
            raise ConfigError(f"the official validator answered with status {answer.status}")
        place = f"line {number + 1}: " if form == "ndjson" else ""
        for issue in read_outcome(answer.body).issues:
            if issue.breaks:
                # A code system that no package holds is set aside; an extension that none of R4, HL7's extensions and the guide defines counts.
                errors += [] if set_aside(issue) == WITHOUT_SYSTEM else [place + _told(issue)]
            elif issue.severity == "warning":
                warnings.append(place + _told(issue))
    return {"valid": not errors, "errors": errors, "warnings": warnings}


def _told(issue: Issue) -> str:
    """Id and place of an issue; its text may quote the document."""
    return f"{issue.code} at {issue.location or '-'}"
