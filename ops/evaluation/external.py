"""External conformance: HL7's own FHIR validator, where it runs on this machine; what cannot be asked is said, with the reason."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from touchstone.ops.verify.fhir_validator.client import Outcome
from touchstone.schemas.reports.evaluation import Conformance
from touchstone.schemas.result import Finding, Severity
from touchstone.schemas.trace import ClinicalFormat
from touchstone.scorers.base import ConfigError

FHIR_VALIDATOR: Final = "HL7 FHIR validator"
SITE: Final = "ONC SITE"
_ABSENT: Final = {
    "ccda": (SITE, "this version has no client for the ONC SITE validator of C-CDA"),
    "hl7v2": ("none", "no external validator of HL7 v2 is known"),
}
#: Issues of one document that are told.
FINDINGS_MAX: Final = 100
_MESSAGE: Final = "an issue of the HL7 FHIR validator; its text is not shown, because it may quote the document"
#: What its places hold besides the path: the type and the id of a resource.
_ID: Final = re.compile(r"/\*.*?\*/")
_SEVERITIES: Final[Mapping[str, Severity]] = {"fatal": "critical", "error": "major", "warning": "minor"}

Ask = Callable[[bytes], Outcome]


class ConformanceChecks:
    """Starts the FHIR validator when it is entered (5 to 10 s) and asks it about one document at a time.

    `unavailable`: why it cannot be asked; None where it can. `start` gives what asks it, and what stops it; raises `ConfigError`.
    """

    def __init__(self, start: Callable[[], tuple[Ask, Callable[[], None]]] | None = None) -> None:
        self._start = _started if start is None else start
        self._ask: Ask | None = None
        self._stop: Callable[[], None] = lambda: None
        self._turn = asyncio.Lock()
        self.unavailable: str | None = None

    def __enter__(self) -> Self:
        """Start it."""
        try:
            self._ask, self._stop = self._start()
        except ConfigError as error:
            self.unavailable = str(error)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop it."""
        self._stop()

    async def check(self, form: ClinicalFormat, content: Any) -> Conformance:
        """What an external validator says of one document: severities, codes and places, not its text, which may quote the document."""
        if form in _ABSENT:
            validator, reason = _ABSENT[form]
            return Conformance(format=form, validator=validator, reason=reason)
        if self._ask is None:
            return Conformance(format=form, validator=FHIR_VALIDATOR, reason=self.unavailable)
        if isinstance(content, list):
            return Conformance(format=form, validator=FHIR_VALIDATOR, reason="only single documents are asked about")
        data = content if isinstance(content, bytes) else (json.dumps(content) if isinstance(content, dict) else content).encode("utf-8", "replace")
        try:
            async with self._turn:
                outcome = await asyncio.to_thread(self._ask, data)
        except ConfigError as error:
            return Conformance(format=form, validator=FHIR_VALIDATOR, reason=str(error))
        return _told(form, outcome)


def _told(form: str, outcome: Outcome) -> Conformance:
    """Its issues, the gravest first."""
    grave = sorted((issue for issue in outcome.issues if issue.severity in _SEVERITIES), key=lambda issue: list(_SEVERITIES).index(issue.severity))
    findings = tuple(
        Finding(severity=_SEVERITIES[issue.severity], code=f"conformance.{issue.code}", path=_ID.sub("", issue.location), message=_MESSAGE)
        for issue in grave[:FINDINGS_MAX]
    )
    warnings = sum(issue.severity == "warning" for issue in grave)
    return Conformance(format=form, validator=FHIR_VALIDATOR, valid=outcome.valid, errors=len(outcome.errors), warnings=warnings, findings=findings)


def _started() -> tuple[Ask, Callable[[], None]]:
    """The official validator as a child process. Raises `ConfigError`."""
    from touchstone.ops.local.fhir_validator.artifacts import missing
    from touchstone.ops.verify.fhir_validator.server import FhirValidator

    if (reason := missing()) is not None:
        raise ConfigError(reason)
    validator = FhirValidator()
    client = validator.start()
    return client.validate, validator.stop
