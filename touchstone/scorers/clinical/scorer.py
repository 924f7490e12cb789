"""The scorer of the clinical suite: one trace to one scorecard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from touchstone.schemas.judging import JudgeRequest
from touchstone.schemas.result import Scorecard
from touchstone.schemas.trace import ProductionTrace
from touchstone.scorers.base import FollowUp
from touchstone.scorers.clinical.documents import DocumentValidator
from touchstone.scorers.clinical.requests.conformance_requests import documents_request
from touchstone.scorers.clinical.requests.judge_requests import record_of, request_of
from touchstone.scorers.clinical.settings import NAME, VERSION, ClinicalSettings, fingerprint
from touchstone.scorers.clinical.trace_scoring import score_trace
from touchstone.scorers.identity import config_digest

#: Characters that are validated within about 5 ms; larger traces, and those that may wait for a terminology server, go to a thread.
INLINE_CHARS: Final = 4_096
#: Small documents that make the tables load before the first case.
_FIRST_FHIR: Final = '{"resourceType":"Observation","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"8867-4"}]},"valueQuantity":{"value":72,"unit":"/min","system":"http://unitsofmeasure.org","code":"/min"}}'
_FIRST_HL7V2: Final = "MSH|^~\\&|A|B|C|D|20240101120000+0000||ADT^A01^ADT_A01|1|P|2.5.1\rEVN||20240101120000+0000\rPID|1||1^^^A&1.2.3&ISO||Doe^Jo\rPV1|1|I\r"
_FIRST_CCDA: Final = (
    '<ClinicalDocument xmlns="urn:hl7-org:v3"><effectiveTime value="20240101"/><code code="34133-9" codeSystem="2.16.840.1.113883.6.1"/></ClinicalDocument>'
)


class ClinicalScorer:
    """Validates the documents of traces with one set of settings."""

    def __init__(self, settings: ClinicalSettings) -> None:
        self._settings = settings
        self._validator = DocumentValidator(settings)
        self._digest = ""

    def warm(self) -> None:
        """Load the tables of all formats and the reader of units; it takes about a second, which a command on one file does not need."""
        for content in (_FIRST_FHIR, _FIRST_HL7V2, _FIRST_CCDA):
            self._validator.validate(content)

    @property
    def name(self) -> str:
        """The suite's name."""
        return NAME

    @property
    def version(self) -> str:
        """The suite's version."""
        return VERSION

    async def score(self, case: ProductionTrace) -> Scorecard:
        """Score one trace."""
        if not self._validator.asks_others and _chars(case) <= INLINE_CHARS:
            return self.evaluate(case)
        return await asyncio.to_thread(self.evaluate, case)

    async def follow_up(self, case: ProductionTrace, event_id: str, card: Scorecard) -> Sequence[FollowUp]:
        """The requests to the slower stages by the settings: to the judge for a selected trace, to conformance for its documents."""
        if _chars(case) <= INLINE_CHARS:
            return self._requests(case, event_id, card)
        return await asyncio.to_thread(self._requests, case, event_id, card)

    def _requests(self, case: ProductionTrace, event_id: str, card: Scorecard) -> list[FollowUp]:
        made: list[FollowUp] = []
        if self._settings.judge.requests and (judged := self._judge_request(case, event_id, card)) is not None:
            made.append(FollowUp("judge", record_of(judged)))
        if self._settings.conformance.requests:
            asked = documents_request(case, event_id, self._settings.formats, self._settings.conformance)
            made += [] if asked is None else [FollowUp("conformance", record_of(asked))]
        return made

    def _judge_request(self, case: ProductionTrace, event_id: str, card: Scorecard) -> JudgeRequest | None:
        if not self._digest:  # it reads the tables that the settings name, and only requests need it
            self._digest = config_digest(fingerprint(self._settings))
        request, reason = request_of(case, event_id, card, self._settings, VERSION, self._digest)
        return request if reason is None else None

    def evaluate(self, case: ProductionTrace) -> Scorecard:
        """The scorecard of one trace, in this thread."""
        return score_trace(case, self._validator, self._settings)


def _chars(case: ProductionTrace) -> int:
    """Characters to validate; a document that is an object counts as large."""
    total = 0
    for form in ("fhir", "hl7v2", "ccda"):
        output = case.outputs.of(form)
        for content in output.documents if output is not None else ():
            total += len(content) if isinstance(content, str) else INLINE_CHARS + 1
    return total
