"""Conformance by validators outside Touchstone: services, or HL7's own validator started on this machine. Without one, the reason is reported."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from touchstone.schemas.reports.evaluation import Conformance
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.base import ConfigError
from touchstone.scorers.operation_outcome import Outcome

FHIR_VALIDATOR: Final = "HL7 FHIR validator"
_NAMES: Final = {"hl7v2": "HL7 v2", "ccda": "C-CDA"}
Ask = Callable[[bytes], Outcome]


@dataclass(frozen=True, slots=True)
class Outside:
    """Who is asked. `services`: format → what tells of a document of it. `tell`: a verdict of the validator on this machine, as a run reports it."""

    services: Mapping[str, Callable[[bytes], Awaitable[Conformance]]]
    tell: Callable[[Any, Outcome], Conformance]


class ConformanceChecks:
    """Asks the services. Without a service for FHIR it starts HL7's validator on entry (5 to 10 s), and asks it about one document at a time.

    `unavailable`: why it cannot be asked; None if it can. `start` gives what asks it, and what stops it; raises `ConfigError`.
    """

    def __init__(self, outside: Outside, start: Callable[[], tuple[Ask, Callable[[], None]]] | None = None) -> None:
        self._outside = outside
        self._start = _started if start is None else start
        self._ask: Ask | None = None
        self._stop: Callable[[], None] = lambda: None
        self._turn = asyncio.Lock()
        self.unavailable: str | None = None

    def __enter__(self) -> Self:
        """Start the validator if needed."""
        if "fhir" in self._outside.services:
            return self
        try:
            self._ask, self._stop = self._start()
        except ConfigError as error:
            self.unavailable = str(error)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop it."""
        self._stop()

    async def check(self, form: ClinicalFormat, content: Any) -> Conformance:
        """An external validator's report on one document: severities, codes and places, without its texts, which may quote the document."""
        service = self._outside.services.get(form)
        if service is None and form != "fhir":
            return Conformance(format=form, validator="none", reason=f"no external validator of {_NAMES.get(form, form)} is known")
        if service is None and self._ask is None:
            return Conformance(format=form, validator=FHIR_VALIDATOR, reason=self.unavailable)
        if isinstance(content, list | tuple):
            return Conformance(format=form, validator=FHIR_VALIDATOR if form == "fhir" else form, reason="only single documents are asked about")
        data = content if isinstance(content, bytes) else (json.dumps(content) if isinstance(content, dict) else content).encode("utf-8", "replace")
        if service is not None:
            return await service(data)
        assert self._ask is not None
        try:
            async with self._turn:
                outcome = await asyncio.to_thread(self._ask, data)
        except ConfigError as error:
            return Conformance(format=form, validator=FHIR_VALIDATOR, reason=str(error))
        return self._outside.tell(form, outcome)


def _started() -> tuple[Ask, Callable[[], None]]:
    """The official validator as a child process. Raises `ConfigError`."""
    from touchstone.ops.local.fhir_validator.artifacts import missing
    from touchstone.ops.local.fhir_validator.server import FhirValidator

    if (reason := missing()) is not None:
        raise ConfigError(reason)
    validator = FhirValidator()
    client = validator.start()
    return client.validate, validator.stop
