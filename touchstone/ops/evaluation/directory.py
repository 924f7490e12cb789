"""Outputs that a system made earlier: a folder per test, or trace files."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import ValidationError

from touchstone.ops.evaluation.items import Item
from touchstone.ops.evaluation.systems import Answer, Content, StepFailed
from touchstone.schemas.case import validate_case
from touchstone.schemas.trace import ClinicalFormat, ProductionTrace
from touchstone.scorers.base import ConfigError
from touchstone.scorers.json_keys import has_key_twice

PERSONA: Final = "persona.json"
#: When the outputs below were made: `{"timestamp": …}`.
ABOUT: Final = "about.json"
#: File names of each format.
NAMES: Final[Mapping[ClinicalFormat, tuple[str, ...]]] = {
    "fhir": ("fhir.json",),
    "ccda": ("ccda.xml",),
    "hl7v2": ("hl7v2.txt", "hl7v2.hl7"),
}
#: Most trace files that are read.
TRACES_MAX: Final = 10_000


class OutputDirectory:
    """`DIR/<case id>/{persona.json,fhir.json,ccda.xml,hl7v2.txt}`, else trace files `DIR/*.json` by their `testCaseId`, `traceId` or prompt.

    Raises `ConfigError` if there is no such directory, or its `about.json` cannot be used.
    """

    def __init__(self, directory: Path, bytes_max: int) -> None:
        """Reads the trace files."""
        if not directory.is_dir():
            raise ConfigError(f"{directory}: is not a directory; give --system the URL of a system, or a directory of its outputs")
        self._directory, self._bytes_max = directory, bytes_max
        self._made_at = self._about()
        self._traces = self._read_traces()

    @property
    def where(self) -> str:
        """The directory."""
        return str(self._directory)

    async def persona(self, item: Item) -> Answer:
        """The persona of a case; None if its outputs were kept without one."""
        if (trace := self._trace(item)) is not None:
            return Answer(trace.persona)
        folder = self._directory / item.id
        if not folder.is_dir():
            raise StepFailed("no_output")
        if not (folder / PERSONA).is_file():
            return Answer(None)
        try:
            persona = orjson.loads(await asyncio.to_thread(self._read, folder / PERSONA))
        except orjson.JSONDecodeError:
            raise StepFailed("not_json") from None
        if not isinstance(persona, dict):
            raise StepFailed("not_an_object")
        return Answer(persona)

    async def document(self, item: Item, persona: Mapping[str, Any] | None, form: ClinicalFormat) -> Answer:
        """The document of one format."""
        if (trace := self._trace(item)) is not None:
            output = trace.outputs.of(form)
            documents = output.documents if output is not None else ()
            if not documents:
                raise StepFailed("no_output")
            return Answer(documents[0] if len(documents) == 1 else list(documents))
        for name in NAMES[form]:
            path = self._directory / item.id / name
            if path.is_file():
                return Answer(_text(await asyncio.to_thread(self._read, path)))
        raise StepFailed("no_output")

    def made_at(self, item: Item) -> datetime | None:
        """The trace's own time, otherwise the directory's."""
        trace = self._trace(item)
        return self._made_at if trace is None else trace.timestamp

    async def close(self) -> None:
        """Nothing to release."""

    def _trace(self, item: Item) -> ProductionTrace | None:
        return self._traces.get(item.id) or self._traces.get(f"\0{item.prompt}")

    def _read(self, path: Path) -> bytes:
        try:
            with path.open("rb") as stream:
                data = stream.read(self._bytes_max + 1)
        except OSError:
            raise StepFailed("unreadable") from None
        if len(data) > self._bytes_max:
            raise StepFailed("too_large")
        return data

    def _about(self) -> datetime | None:
        path = self._directory / ABOUT
        if not path.is_file():
            return None
        try:
            moment = datetime.fromisoformat(orjson.loads(self._read(path))["timestamp"])
        except (StepFailed, ValueError, KeyError, TypeError):
            raise ConfigError(f'{path}: holds no timestamp; write {{"timestamp": "2026-01-31T12:00:00Z"}}, or remove it') from None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def _read_traces(self) -> dict[str, ProductionTrace]:
        """The trace files of the directory by test id, trace id and prompt; the first one of a name counts."""
        found: dict[str, ProductionTrace] = {}
        for path in sorted(self._directory.glob("*.json"))[:TRACES_MAX]:
            try:
                document = orjson.loads(data := self._read(path))
                if not isinstance(document, dict) or "traceId" not in document or has_key_twice(data, document):
                    continue
                trace = validate_case(ProductionTrace, {"kind": "trace", **document})
            except (StepFailed, orjson.JSONDecodeError, ValidationError):
                continue
            for name in (trace.test_case_id, trace.trace_id, None if trace.prompt is None else f"\0{trace.prompt}"):
                if name is not None:
                    found.setdefault(name, trace)
        return found


def _text(data: bytes) -> Content:
    """A document's text; if it is not UTF-8, its bytes, so that the validator reports that."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
