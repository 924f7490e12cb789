"""The two services: HL7's FHIR validator, and ONC's Reference C-CDA Validator."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from touchstone.scorers.clinical.conformance.onc_reports import form, read_report
from touchstone.scorers.clinical.conformance.service import Request, Service, said_code
from touchstone.scorers.clinical.conformance.settings import CcdaServiceSettings, ConformanceSettings, FhirServiceSettings
from touchstone.scorers.operation_outcome import Outcome, read_operation_outcome

#: Parameters that make the validator as strict as Touchstone is by default: example addresses and unknown extensions are no errors.
_STRICTNESS: Final = (("allowExampleUrls", "true"), ("extension", "any"))
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class FhirDialect:
    """`POST /validateResource` with the resource; an OperationOutcome comes back."""

    name = "fhir"

    def __init__(self, settings: FhirServiceSettings, url: str) -> None:
        self.url = url.rstrip("/").removesuffix("/validateResource")
        self._path = f"/validateResource?{urlencode([*_STRICTNESS, *(('profile', profile) for profile in settings.profiles)])}"
        self.probe_path = "/readyz"

    def request(self, document: bytes) -> Request:
        """The resource itself, as JSON or XML."""
        is_xml = document.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"<")
        return Request(document, {"Content-Type": f"application/fhir+{'xml' if is_xml else 'json'}"}, self._path)

    def read(self, body: bytes) -> Outcome:
        """An OperationOutcome."""
        return read_operation_outcome(body)

    def is_well(self, status: int) -> bool:
        """It says that it can answer; HL7's validator without the service around it knows no such page."""
        return status in {200, 404}

    def blames_settings(self, status: int, body: bytes) -> bool:
        """A profile whose guide it has not, or a parameter that it does not take."""
        return status == 400 and said_code(body) in {"profile", "parameters"}

    def broke_down(self, status: int, body: bytes) -> bool:
        """502 and 504 of the service itself, which says so in JSON; those of a gateway before it do not."""
        if status == 500:
            return b'"exception"' in body  # of the validator: it threw on this resource, and goes on answering
        return status in {502, 504} and said_code(body) is not None


class CcdaDialect:
    """A form with `ccdaFile` to the service's root; a report comes back."""

    name = "ccda"

    def __init__(self, settings: CcdaServiceSettings, url: str) -> None:
        # Without the last slash its container redirects, and a redirect loses the document.
        self.url, self.probe_path = url, "/"
        self._fields = {
            "validationObjective": settings.objective,
            "referenceFileName": settings.reference_file,
            **({} if settings.vocabulary_config is None else {"vocabularyConfig": settings.vocabulary_config}),
            "severityLevel": settings.severity,
        }

    def request(self, document: bytes) -> Request:
        """A form."""
        body, content_type = form(document, self._fields)
        return Request(body, {"Content-Type": content_type}, self.probe_path)

    def read(self, body: bytes) -> Outcome:
        """A report."""
        return read_report(body)

    def is_well(self, status: int) -> bool:
        """It knows no GET there, and says so; whatever it says, it is there."""
        return status < 500

    def blames_settings(self, status: int, body: bytes) -> bool:
        """It has no words of its own for that either."""
        return False

    def broke_down(self, status: int, body: bytes) -> bool:
        """It has no words of its own for that."""
        return False


def open_services(settings: ConformanceSettings) -> dict[str, Service]:
    """Format → the service that is asked about its documents, of those that have an address."""
    found: dict[str, Service] = {}
    if settings.fhir.url is not None and "fhir" in settings.formats:
        found["fhir"] = Service(FhirDialect(settings.fhir, settings.fhir.url), settings.fhir, wait_s=settings.wait_s)
    if settings.ccda.url is not None and "ccda" in settings.formats:
        found["ccda"] = Service(CcdaDialect(settings.ccda, settings.ccda.url), settings.ccda, wait_s=settings.wait_s)
    return found
