"""The conformance scorer: verdicts of external validators on the documents of one trace, or of one request by the clinical worker."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Final

from touchstone.schemas.conformance import ConformanceFormat, ConformanceRequest
from touchstone.schemas.result import Failure, NotChecked, Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import Unavailable
from touchstone.scorers.clinical.conformance.scorecards import VALIDATORS, VALUE, DocumentVerdict, Missing, compose
from touchstone.scorers.clinical.conformance.service import NotServingError, Service, Undecided, open_services
from touchstone.scorers.clinical.conformance.settings import ENV_PREFIX, ConformanceSettings
from touchstone.scorers.clinical.format_detection import as_bytes
from touchstone.scorers.clinical.requests.conformance_requests import documents_of
from touchstone.scorers.clinical.trace_scoring import day_of
from touchstone.scorers.operation_outcome import Outcome

#: Documents of one trace that are validated. The others are named, so that one trace never holds a worker for its whole time limit.
ASKED_MAX: Final = 100
#: The end of one JSON document and the beginning of another; inside one document there would be a comma.
_SEVERAL: Final = re.compile(rb"\}[ \t\r]*\n\s*\{")
#: Place, format and content of a document; content None if it did not fit its event.
_Question = tuple[str, ConformanceFormat, bytes | None]


class ConformanceScorer:
    """Asks the services that have an address. Without any, every result says that nothing was checked."""

    def __init__(self, settings: ConformanceSettings, name: str, version: str, services: Mapping[str, Service] | None = None) -> None:
        self._settings = settings
        self._name = name
        self._version = version
        self._services = open_services(settings) if services is None else services

    @property
    def name(self) -> str:
        """The suite's name."""
        return self._name

    @property
    def version(self) -> str:
        """The suite's version."""
        return self._version

    async def score(self, case: ProductionTrace | ConformanceRequest) -> Scorecard:
        """Score one case.

        A request waits for the services: `Unavailable` is raised while one does not answer. A trace from a file waits a bounded time; then the
        verdict is missing.
        """
        is_request = isinstance(case, ConformanceRequest)
        if isinstance(case, ConformanceRequest):
            questions: list[_Question] = [
                (one.place, one.format, None if one.content is None else one.content.encode("utf-8", "replace")) for one in case.documents
            ]
            day, not_checked = case.day, []
        else:
            questions = [(place, form, as_bytes(content)) for place, form, content in documents_of(case, self._settings.formats)]
            day, not_checked = day_of(case), _not_checked(case)
        asked = await asyncio.gather(*(self._document(number, question, patiently=not is_request) for number, question in enumerate(questions)))
        attributes = {"trace_id": case.trace_id, "source": case.source, "test_case_id": case.test_case_id, "day": day}
        card = compose([verdict for verdict, _ in asked], attributes, not_checked, quote=self._settings.quote)
        if is_request and (unavailable := next((error for _, error in asked if error is not None), None)) is not None:
            raise Unavailable(unavailable.code, card)
        return card

    async def _document(self, number: int, question: _Question, *, patiently: bool) -> tuple[DocumentVerdict, NotServingError | Unavailable | None]:
        """The verdict on one document, and the error of a service that does not answer."""
        place, form, document = question
        try:
            return DocumentVerdict(place, form, await self._verdict(number, form, document, patiently=patiently)), None
        except Unavailable as error:
            failure = Failure(component=VALUE.format(form), kind="unavailable", code=error.code)
            return DocumentVerdict(place, form, Missing("unavailable", f"the {VALIDATORS[form]} does not answer", failure)), error

    async def _verdict(self, number: int, form: ConformanceFormat, document: bytes | None, *, patiently: bool) -> Outcome | Undecided | Missing:
        """The service's verdict, or why it is not asked. Raises `Unavailable`."""
        service = self._services.get(form)
        if service is None:
            return Missing("off", f"no {VALIDATORS[form]} is configured ({ENV_PREFIX}{form.upper()}_URL)")
        if document is None:
            return Missing("not_handed_on", "the document is too large for an event; CLINICAL_CONFORMANCE_REQUEST_BYTES_MAX bounds it")
        if form == "fhir" and _SEVERAL.search(document):
            return Missing("several", "it holds several resources, one a line, which the validator does not read")
        if number >= ASKED_MAX:
            return Missing("not_asked", f"only the first {ASKED_MAX} documents of a trace are asked about")
        return await (service.ask_patiently(document) if patiently else service.ask(document))


def _not_checked(trace: ProductionTrace) -> list[NotChecked]:
    """The formats of a trace without an external validator."""
    output: Any = trace.outputs.of("hl7v2")
    return [] if output is None else [NotChecked(check="hl7v2", reason="no external validator of HL7 v2 is known")]
